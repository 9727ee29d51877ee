"""The order of the looks, and which node the SDKs are tried on.

Owns what is looked at. It must not know how a single look is done.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from policies.decision import Leg
from proxy import __version__
from proxy.app import running
from proxy.config import Config, Listen, UpstreamSettings
from proxy.config.sources import state_folder
from proxy.control import NoNode, ask
from proxy.demo.log import captured
from proxy.demo.upstream import ScriptedUpstream
from proxy.demo.vendors import vendor
from proxy.doctor import Check, clock, database, files, home
from proxy.doctor.home import Home
from proxy.doctor.sdks import FAMILIES, try_one
from proxy.ping import ping

Environ = Mapping[str, str]


def visit(config: Config, file: Path | None, environ: Environ = os.environ) -> Iterator[Check]:
    """Every check but that for rivals, as it is done. `file`: the configuration's, None where the
    defaults hold."""
    yield from files.examine(config, file, environ)
    yield asyncio.run(clock.examine(config))
    for upstream in config.upstreams:
        problem = ping(upstream, config)
        yield Check(
            f"upstream {upstream.name}", "wrong" if problem else "fine", problem or "reachable"
        )
    homes = asyncio.run(home.examine(config))
    yield from (found.check for found in homes)
    node = _node(environ)
    yield _running(node)
    yield asyncio.run(database.examine(config, environ, runs=node is not None))
    for name in FAMILIES:
        yield asyncio.run(_sdk(name, node, homes, environ))


def _node(environ: Environ) -> Mapping[str, object] | None:
    try:
        return ask(state_folder(environ), "health")
    except NoNode:
        return None


def _running(node: Mapping[str, object] | None) -> Check:
    if node is None:
        return Check("node", "skipped", "none runs")
    if node.get("ok") is not True:
        return Check("node", "wrong", str(node.get("error", "is not well")))
    if node.get("version") != __version__:
        return Check("node", "wrong", f"is another version than {__version__}; restart it")
    return Check("node", "fine", f"runs at {node.get('url')}")


async def _sdk(
    name: str, node: Mapping[str, object] | None, homes: list[Home], environ: Environ
) -> Check:
    model = _local_model(FAMILIES[name], node, homes, environ)
    if node is not None and model:
        url = str(node.get("url"))
        return await try_one(name, url, model, f"through the running node, from {model} at home")
    async with _own_node() as url:
        return await try_one(name, url, "m", "through a node of its own, from a scripted upstream")


def _local_model(
    family: str, node: Mapping[str, object] | None, homes: list[Home], environ: Environ
) -> str:
    """A model at home to which the running node itself says it would send `family`; else empty."""
    if node is None or node.get("ok") is not True or node.get("token") is True:
        return ""
    for found in homes:
        if not found.model:
            continue
        try:
            way = ask(state_folder(environ), "route", family=family, model=found.model)
        except NoNode:
            return ""
        # SECURITY: whoever asks a cloud pays; only a node that says "local" is asked.
        if way.get("ok") is True and way.get("leg") == Leg.LOCAL.value:
            return found.model
    return ""


@asynccontextmanager
async def _own_node() -> AsyncIterator[str]:
    """The address of a node in this process in front of a scripted upstream, on 127.0.0.1."""
    with captured():
        async with ScriptedUpstream(vendor) as upstream:
            families = tuple(dict.fromkeys(FAMILIES.values()))
            only = UpstreamSettings("scripted", Leg.CLOUD, upstream.url, families, "none")
            config = Config(listen=Listen(port=0), upstreams=(only,))
            async with running(config) as node:
                yield node.url
