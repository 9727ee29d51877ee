"""`transom serve`: a node in the foreground, from the first word in the log to its exit code.

Owns the life of the process: log, control socket, signals, reload, drain. It must not build parts
(`proxy.app` does) or know a request.
"""

import asyncio
import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from policies.conversation import Strand
from policies.screening import Screen
from proxy import __version__, logs
from proxy.app import Node, running
from proxy.config import Config
from proxy.config.sources import state_folder
from proxy.control import Control, Facts, NoControl, Verb
from proxy.desk import Desk as BookDesk
from proxy.errors import Refused
from proxy.leaving import leaving
from proxy.log_fields import LONGEST_LIST
from proxy.notify import notify
from proxy.problems import Invalid
from proxy.routes import choose
from proxy.saying import tell
from proxy.secrets_dir import Build
from proxy.server import CannotListen, run, settle, share_memory, share_time
from proxy.state import StateRefused

FINE, WRONG = 0, 2
_NAMES = 1024


def serve(config: Config, *, reload: Callable[[], Config], screen: Build) -> int:
    """Serve until SIGTERM. `reload` reads the configuration again; what it raises keeps the old
    one. `screen` builds what guards the first requests. Returns the exit code: 0 after draining, 2
    when it cannot start."""
    logs.set_up(sys.stderr)
    os.umask(0o077)
    share_memory()
    share_time()
    try:
        asyncio.run(_serve(config, reload, screen, os.environ))
    except (CannotListen, StateRefused) as trouble:
        tell(f"error: {trouble}")
        return WRONG
    return FINE


async def _serve(
    config: Config, reload: Callable[[], Config], screen: Build, environ: Mapping[str, str]
) -> None:
    key_file = environ.get("TRANSOM_STATE_KEY_FILE")
    key = Path(key_file) if key_file else None
    async with running(config, key_file=key, screen=screen) as node:
        logs.set_up(sys.stderr, clean=clean_names(lambda: node.parts.secrets.current()))
        desk = _Desk(node, reload)
        control = await _control(state_folder(environ), desk)
        logs.get().info("listening", addr=node.url, settings=list(config.inert))
        settle()
        try:
            tell = partial(notify, environ=environ)
            await run([node.parts.listener], reload=desk.hang_up, tell=tell)
        finally:
            if control is not None:
                await control.close()


def clean_names(current: Callable[[], Screen]) -> Callable[[str], bool]:
    """Whether the `current` screen finds nothing in a name that is about to be logged. The same few
    names are logged all day, so verdicts are remembered, for the rules that they were made with."""
    verdicts: OrderedDict[tuple[bytes, str], bool] = OrderedDict()

    def clean(name: str) -> bool:
        try:
            screen = current()
        except Refused:
            return False
        key = (screen.version, name)
        if key not in verdicts:
            verdicts[key] = not screen.findings([Strand(("model",), name)])
            while len(verdicts) > _NAMES:
                verdicts.popitem(last=False)
        return verdicts[key]

    return clean


class _Desk:
    """What the owner may ask of a node that runs."""

    def __init__(self, node: Node, reload: Callable[[], Config]) -> None:
        self._node = node
        self._read = reload
        parts = node.parts
        self.verbs: Mapping[str, Verb] = {
            "health": self._health,
            "reload": self._reload,
            "route": self._route,
            "status": self._status,
            **BookDesk(parts.store, parts.owner.recorder).verbs,
        }

    async def hang_up(self) -> None:
        """SIGHUP."""
        await self._reload({})

    async def _health(self, asked: Facts) -> Facts:
        config = self._node.config
        return {
            "ok": True,
            "version": __version__,
            "url": self._node.url,
            "names": list(config.listen.names),
            "token": bool(config.clients),
            "leaving": leaving(config).facts(),
        }

    async def _status(self, asked: Facts) -> Facts:
        """How the node is, with everything that it counts."""
        config = self._node.config
        upstreams = {up.name: up.leg.value for up in config.upstreams}
        counted = await self.verbs["counters"]({})
        known = {**await self._health({}), "upstreams": upstreams, **counted}
        if config.home is None:
            return {**known, "home": None}
        return {**known, "home": await self._node.parts.hearth.home.state(config.home)}

    async def _route(self, asked: Facts) -> Facts:
        """Where a request of this family for this model would go, for whoever wants to be sure
        that it stays at home."""
        family, model = str(asked.get("family")), str(asked.get("model"))
        try:
            chosen = choose(self._node.config, family=family, model=model, client="")
        except Refused as no:
            return {"ok": False, "notice": no.code}
        upstream = chosen.upstream
        return {"ok": True, "upstream": upstream.name, "leg": upstream.leg.value}

    async def _reload(self, asked: Facts) -> Facts:
        """Read the configuration again. A bad one keeps the old and says what is wrong with it."""
        try:
            config = await asyncio.to_thread(self._read)
        except Invalid as invalid:
            wrong = list(invalid.problems)
            told = {"count": len(wrong), "problems": wrong[:LONGEST_LIST]}
            logs.get().error("reload", notice="config-invalid", **told)
            return {"ok": False, "problems": invalid.report()}
        waiting = await self._node.reload(config)
        logs.get().info("reload", settings=list(waiting))
        return {"ok": True, "restart": list(waiting)}


async def _control(folder: Path, desk: _Desk) -> Control | None:
    """The control socket; a node works without one, and says so."""
    try:
        await asyncio.to_thread(folder.mkdir, mode=0o700, parents=True, exist_ok=True)
        return await Control.open(folder, desk.verbs)
    except OSError:
        logs.get().warning("notice", problem="no-control-socket")
    except NoControl as trouble:
        tell(f"warning: no control socket: {trouble}")
    return None
