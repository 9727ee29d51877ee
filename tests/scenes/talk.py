"""A raw client that stays: many requests on one connection, every byte of the answers in view."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Self

from tests.scenes.staging import Heard


def request(
    port: int,
    path: str,
    body: bytes | Mapping[str, Any] = b"",
    headers: Mapping[str, str] | None = None,
    method: str = "POST",
) -> bytes:
    """A request as it goes over the wire. A header of the caller's beats ours; an empty one
    is left out."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = {"host": f"127.0.0.1:{port}"}
    if raw:
        head |= {"content-type": "application/json", "content-length": str(len(raw))}
    lines = "".join(f"{k}: {v}\r\n" for k, v in (head | dict(headers or {})).items() if v)
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + raw


class Broken(Exception):
    """The connection ended before the answer did. `so_far` is what came of it."""

    def __init__(self, so_far: bytes) -> None:
        super().__init__(so_far)
        self.so_far = so_far


class Talk:
    """`async with Talk(port) as talk`. Opens a new connection where the last one has ended."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.opened = 0
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        self.leave()
        await asyncio.sleep(0)

    def leave(self) -> None:
        """Drop the connection at once."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None

    async def ask(
        self,
        path: str,
        body: bytes | Mapping[str, Any] = b"",
        headers: Mapping[str, str] | None = None,
        method: str = "POST",
        seconds: float = 20.0,
    ) -> Heard:
        """One request and the whole answer. Raises `Broken`, `TimeoutError`."""
        await self.send(request(self.port, path, body, headers, method))
        async with asyncio.timeout(seconds):
            return await self.hear(head_only=method == "HEAD")

    async def send(self, raw: bytes) -> None:
        """Write bytes as they are. Whoever stops reading them does not make this fail."""
        if self._streams is None or self._streams[0].at_eof() or self._streams[1].is_closing():
            self.leave()
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
            self.opened += 1
        self._streams[1].write(raw)
        with suppress(ConnectionError):
            await self._streams[1].drain()

    async def hear(self, *, head_only: bool = False) -> Heard:
        """The next answer."""
        assert self._streams is not None
        reader, came = self._streams[0], b""
        try:
            came = await reader.readuntil(b"\r\n\r\n")
            first, *rest = came[:-4].decode("latin-1").split("\r\n")
            pairs = (line.partition(":") for line in rest)
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            status = int(first.split(" ")[1])
            if head_only or status in (204, 304):
                body = b""
            elif headers.get("transfer-encoding") == "chunked":
                body = await self._chunks(reader)
            elif "content-length" in headers:
                body = await reader.readexactly(int(headers["content-length"]))
            else:
                body = await reader.read()
        except asyncio.IncompleteReadError as ended:
            self.leave()
            raise Broken(came + ended.partial) from None
        except ConnectionError:
            self.leave()
            raise Broken(came) from None
        if headers.get("connection", "").lower() == "close":
            self.leave()
        return Heard(status, headers, body)

    async def _chunks(self, reader: asyncio.StreamReader) -> bytes:
        whole = b""
        try:
            while size := int(await reader.readuntil(b"\r\n"), 16):
                whole += (await reader.readexactly(size + 2))[:-2]
            await reader.readexactly(2)
        except asyncio.IncompleteReadError as ended:
            raise asyncio.IncompleteReadError(whole + ended.partial, None) from None
        return whole
