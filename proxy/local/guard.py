"""Is it really local: Ollama runs models of its cloud under names of this machine.

Owns the questions that are asked about a server and a model name before their first use, and for
how long the answers count. It must not know how they are sent. Source: Ollama's
`internal/modelref`, `server/routes.go`: a name with the tag `cloud` or a tag ending in `-cloud` is
forwarded, and so is a model whose configuration names a remote host; `/api/show` tells it as
`remote_host`.
"""

import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from proxy.errors import Refused
from proxy.local.ollama import Model, told
from proxy.local.questions import Questions

FRESH: Final = 60.0
"""Seconds for which the answer about a name counts, from the moment it was asked for."""

_NAMES: Final = 1024
_REMOTE: Final = ("remote_host", "remote_model")
_PARENT: Final = "parent_model"

Ask = Callable[[str], Awaitable[tuple[int, bytes]]]
"""Asks `/api/show` about a model, or `/api/version`: status and body. Raises `Refused`."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The local server does not run this model; `status` and `body` are its own words."""

    status: int
    body: bytes = field(repr=False)


class Guard:
    """What is known about names, per server. `clock`: seconds, monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._asked: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._shown: dict[tuple[str, str], Model] = {}
        self._kinds: dict[str, tuple[bool, float]] = {}
        self._models = Questions[Unknown | None]()
        self._servers = Questions[bool]()

    async def vouch(self, server: str, model: str, ask: Ask) -> Unknown | None:
        """None when `model` runs on `server` itself. Askers at the same time share one question.

        Raises `Refused("home-not-local")` for a model that runs elsewhere, or where that cannot be
        told. What is not local is asked again each time, so that a change counts at once.
        """
        check_name(model)
        key = (server, model)
        asked = self._asked.get(key)
        if asked is not None and self._clock() - asked < FRESH:
            return None
        return await self._models.ask(key, lambda: self._ask(key, ask))

    def shown(self, server: str, model: str) -> Model:
        """What was told of a model that has been vouched for."""
        return self._shown[server, model]

    def forget(self, server: str, model: str) -> None:
        """What was told of a name has turned out wrong; the next who uses it asks again."""
        if self._asked.pop((server, model), None) is not None:
            del self._shown[server, model]

    async def is_ollama(self, server: str, ask: Ask) -> bool:
        """Whether a server that was not declared as one is an Ollama all the same: then its models
        have to be vouched for. `ask` sends `/api/version`. The answer counts as long as that about
        a name; what `ask` raises is raised."""
        known = self._kinds.get(server)
        if known is not None and self._clock() - known[1] < FRESH:
            return known[0]
        return await self._servers.ask(server, lambda: self._recognise(server, ask))

    def close(self) -> None:
        """No more answers are waited for."""
        self._models.close()
        self._servers.close()

    async def _recognise(self, server: str, ask: Ask) -> bool:
        began = self._clock()
        status, body = await ask("")
        kind = _read(body)
        found = status == 200 and kind is not None and isinstance(kind.get("version"), str)
        self._kinds[server] = (found, began)
        return found

    async def _ask(self, key: tuple[str, str], ask: Ask) -> Unknown | None:
        began = self._clock()
        status, body = await ask(key[1])
        if status >= 400:
            return Unknown(status, body)
        _check(status, body)
        self._shown[key] = told(body)
        self._asked[key] = began
        self._asked.move_to_end(key)
        while len(self._asked) > _NAMES:
            old, _ = self._asked.popitem(last=False)
            del self._shown[old]
        return None


def check_name(model: str) -> None:
    """Raises `Refused("home-not-local")` if the very name asks for a model of the cloud."""
    # SECURITY: upstream cuts blanks round name and tag and compares without case; no less here.
    plain = "".join(model.split()).casefold()
    if plain.endswith((":cloud", "-cloud")):
        raise Refused("home-not-local", reason="this is the name of a cloud model")


def _check(status: int, body: bytes) -> None:
    """Raises `Refused("home-not-local")` unless `body` describes a model that runs there."""
    shown = _read(body)
    if status != 200 or shown is None:
        raise Refused("home-not-local", reason="it cannot be told where this model runs")
    details = shown.get("details")
    known = [shown, details] if isinstance(details, dict) else [shown]
    # SECURITY: any value counts; a field that is there and empty is how Ollama says "none".
    if any(part.get(name) for part in known for name in _REMOTE):
        raise Refused("home-not-local", reason="this model runs on a remote host")
    for part in known:
        parent = part.get(_PARENT)
        if isinstance(parent, str):
            check_name(parent)


def _read(body: bytes) -> dict[str, Any] | None:
    """The JSON object that `body` is, if it is one."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
