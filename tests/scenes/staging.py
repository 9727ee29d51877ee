"""A stage for scenes: a real node between a raw client and scripted upstreams, on 127.0.0.1."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from policies.decision import Leg
from policies.settings import Minimality
from proxy import logs
from proxy.app import Node, running
from proxy.config import Config, Listen, UpstreamSettings
from proxy.demo.upstream import Recorded, Reply, Script, ScriptedUpstream

FAMILIES = ("anthropic", "openai", "ollama")


@dataclass(frozen=True)
class Heard:
    """An answer as it stood on the wire."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Stage:
    """A node, its upstream, and everything that it logged."""

    node: Node
    upstream: ScriptedUpstream
    log: io.StringIO

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.getvalue().splitlines()]

    def events(self, name: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == name]

    async def post(
        self,
        path: str,
        body: bytes | dict[str, Any],
        headers: Mapping[str, str] | None = None,
        method: str = "POST",
    ) -> Heard:
        """One request on a connection of its own, and the whole answer."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        head = {"host": f"127.0.0.1:{self.node.parts.listener.port}", **(headers or {})}
        if raw:
            head |= {"content-type": "application/json", "content-length": str(len(raw))}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        request = f"{method} {path} HTTP/1.1\r\n{lines}connection: close\r\n\r\n".encode()
        return heard(await self.talk(request + raw))

    async def talk(self, raw: bytes) -> bytes:
        """Write `raw`, read until the end."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.node.parts.listener.port)
        try:
            writer.write(raw)
            await writer.drain()
            return await asyncio.wait_for(reader.read(), 10)
        finally:
            writer.close()


def heard(raw: bytes) -> Heard:
    """Split an answer; chunked bodies are joined."""
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (r.partition(":") for r in rest)}
    if headers.get("transfer-encoding") == "chunked":
        body = _joined(body)
    return Heard(int(first.split(" ")[1]), headers, body)


def _joined(body: bytes) -> bytes:
    whole = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size, 16)
        whole, body = whole + body[:length], body[length + 2 :]
    return whole


def echo(recorded: Recorded) -> Reply:
    """An upstream that answers anything with a small object; Ollama's models are all local."""
    return Reply.of({"ok": True})


def settings(url: str, leg: Leg = Leg.CLOUD, **changes: Any) -> Config:
    """A configuration with one upstream for every dialect."""
    auth = "caller" if leg is Leg.CLOUD else "none"
    return replace(
        Config(
            listen=Listen(port=0), upstreams=(UpstreamSettings("only", leg, url, FAMILIES, auth),)
        ),
        **changes,
    )


def whole(config: Config) -> Config:
    """The same for a node that shows a cloud the whole history, as `profile = "relay"` does."""
    return replace(config, policies=replace(config.policies, minimality=Minimality("off")))


@asynccontextmanager
async def staged(
    script: Script = echo,
    leg: Leg = Leg.CLOUD,
    change: Callable[[Config], Config] = lambda config: config,
) -> AsyncIterator[Stage]:
    """A node in front of a scripted upstream."""
    log = io.StringIO()
    logs.set_up(log, json=True)
    async with (
        ScriptedUpstream(script) as upstream,
        running(change(settings(upstream.url, leg))) as node,
    ):
        yield Stage(node, upstream, log)
