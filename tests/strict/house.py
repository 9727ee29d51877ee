"""A house for scenes of many requests: one upstream, and a node before it that may be restarted.

Owns the sockets: posts through the node or past it, and what of each arrived. It must not know a
rule of an upstream.
"""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from proxy import logs
from proxy.app import Node, running
from proxy.config import Config
from proxy.demo.upstream import Recorded, Script, ScriptedUpstream
from tests.scenes.staging import Heard, heard, settings, whole
from tests.strict.chain import plain
from tests.strict.witness import Witness

TICKET = "x-scene-request"
"""A header that names a request, so that what arrived can be found."""

Change = Callable[[Config], Config]


def same(config: Config) -> Config:
    return config


async def post(
    port: int, path: str, body: bytes | dict[str, Any], headers: Mapping[str, str]
) -> Heard:
    """One request on a connection of its own."""
    raw = body if isinstance(body, bytes) else plain(body)
    head = {
        "host": f"127.0.0.1:{port}",
        "content-type": "application/json",
        "content-length": str(len(raw)),
        "connection": "close",
        **headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"POST {path} HTTP/1.1\r\n{lines}\r\n".encode() + raw)
        await writer.drain()
        return heard(await asyncio.wait_for(reader.read(), 20))
    finally:
        writer.close()


@dataclass
class House:
    """`notices` are the notice codes of the answers, in order; `witness` sees all that goes through
    the node."""

    upstream: ScriptedUpstream
    folder: Path
    witness: Witness = field(default_factory=Witness)
    notices: list[str] = field(default_factory=list)
    log: io.StringIO = field(default_factory=io.StringIO)
    node: Node | None = None
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _tickets: int = 0

    def config(self, change: Change = same) -> Config:
        """One cloud upstream for every dialect, SQLite state in the folder. What is shown is the
        whole history, unless `change` says otherwise: what is asked of most is how it reads."""
        url = f"sqlite://{self.folder}/transom.db"
        return change(whole(replace(settings(self.upstream.url), state_url=url)))

    async def open(self, change: Change = same) -> None:
        """Start the node, or another one after it; what it remembers is on disk alone."""
        await self._stack.aclose()
        self.node = await self._stack.enter_async_context(running(self.config(change)))

    async def close(self) -> None:
        """Stop the node."""
        await self._stack.aclose()
        self.node = None

    async def through(self, path: str, body: dict[str, Any], headers: Mapping[str, str]) -> Heard:
        """Post through the node."""
        assert self.node is not None
        self._tickets += 1
        ticket = str(self._tickets)
        port = self.node.parts.listener.port
        answer = await post(port, path, body, {**headers, TICKET: ticket})
        self.notices.append(answer.headers.get("x-transom-notice", ""))
        if (arrived := self.arrived(ticket)) is not None:
            self.witness.saw(body, json.loads(arrived.body))
        return answer

    async def past(self, path: str, body: dict[str, Any], headers: Mapping[str, str]) -> Heard:
        """Post to the upstream itself."""
        return await post(self.upstream.port, path, body, headers)

    def arrived(self, ticket: str) -> Recorded | None:
        """What came of one request."""
        found = [one for one in self.upstream.requests if one.header(TICKET) == ticket]
        return found[-1] if found else None

    @property
    def newest(self) -> dict[str, Any]:
        """The newest request at the upstream."""
        return json.loads(self.upstream.requests[-1].body)


@asynccontextmanager
async def housed(script: Script, folder: Path, change: Change = same) -> AsyncIterator[House]:
    """A house with its node open."""
    async with ScriptedUpstream(script) as upstream:
        house = House(upstream, folder)
        logs.set_up(house.log, json=True)
        try:
            await house.open(change)
            yield house
        finally:
            await house.close()
