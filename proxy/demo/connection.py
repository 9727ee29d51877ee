"""One connection to a scripted upstream: every byte recorded, requests read out of the record.

Owns the small request reader. It must not know what is answered.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request as it was read. `target` is the raw request target, `headers` keep order and
    case, `body` has its transfer coding undone and its content coding left as sent.
    `connection` is the index into `ScriptedUpstream.connections`."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    body: bytes = field(repr=False)
    connection: int = 0

    def header(self, name: str) -> str:
        """All values of the header joined by commas; empty where there is none."""
        return ", ".join(value for key, value in self.headers if key.lower() == name.lower())

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    def json(self) -> dict[str, object]:
        """The body as a JSON object. `ValueError` where it is none."""
        value = json.loads(self.body)
        if not isinstance(value, dict):
            raise ValueError("the body is not a JSON object")  # noqa: TRY004 (a fault of the data)
        return value


class Unreadable(Exception):
    """The request cannot be read; the text says why."""


class Connection:
    """One accepted connection. `received` grows with every byte, also while an answer is being
    written or stalls; `closed` is set once the client has closed its side or reset."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.received = bytearray()
        self.closed = asyncio.Event()
        self.writer = writer
        self._reader = reader
        self._read = 0
        self._news = asyncio.Event()

    def forget(self) -> None:
        """Let go of what was recorded and read: for runs that would fill the memory."""
        del self.received[: self._read]
        self._read = 0

    async def pump(self) -> None:
        """Record until the client closes."""
        try:
            while data := await self._reader.read(65536):
                self.received += data
                self._news.set()
        except ConnectionError:
            pass
        finally:
            self.closed.set()
            self._news.set()

    async def _more(self) -> None:
        if self.closed.is_set():
            raise EOFError
        self._news.clear()
        await self._news.wait()

    async def _until(self, mark: bytes) -> bytes:
        while (end := self.received.find(mark, self._read)) < 0:
            await self._more()
        start, self._read = self._read, end + len(mark)
        return bytes(self.received[start:end])

    async def _exactly(self, count: int) -> bytes:
        while len(self.received) - self._read < count:
            await self._more()
        start, self._read = self._read, self._read + count
        return bytes(self.received[start : self._read])

    async def request(self, index: int) -> Recorded:
        """The next request on this connection. `EOFError` when there is none, or half of one."""
        lines = (await self._until(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        try:
            method, target, _version = lines[0].split(" ")
            pairs = [line.split(":", 1) for line in lines[1:]]
            headers = tuple((name, value.strip()) for name, value in pairs)
        except ValueError:
            raise Unreadable("unreadable head") from None
        recorded = Recorded(method, target, headers, b"", index)
        if recorded.header("expect").lower() == "100-continue":
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return replace(recorded, body=await self._body(recorded))

    async def _body(self, head: Recorded) -> bytes:
        coding, length = head.header("transfer-encoding"), head.header("content-length")
        if coding.lower() == "chunked":
            return b"".join([chunk async for chunk in self._chunks()])
        if coding or not (length or "0").isdecimal():
            raise Unreadable("unreadable length")
        return await self._exactly(int(length or "0"))

    async def _chunks(self) -> AsyncIterator[bytes]:
        while size := await self._size():
            yield await self._exactly(size)
            if await self._until(b"\r\n"):
                raise Unreadable("unreadable chunk")
        while await self._until(b"\r\n"):
            pass  # trailers

    async def _size(self) -> int:
        line = await self._until(b"\r\n")
        try:
            return int(line.partition(b";")[0], 16)
        except ValueError:
            raise Unreadable("unreadable chunk size") from None
