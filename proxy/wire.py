"""One answer on the connection of a client: its head, its framing, its end.

Owns the bytes between a chunk and the socket. It must not know where chunks come from, what is in
them or why they break off. Facts about aiohttp are those of 3.14: its server prepares and ends
whatever a handler returns, and closes the connection where that raises `ConnectionError`.
"""

from collections.abc import Sequence
from typing import Final

from aiohttp import HttpVersion11, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.helpers import rfc822_formatted_time
from aiohttp.http import StreamWriter

from proxy.heads import head

Headers = Sequence[tuple[str, str]]

_NO_CONTENT: Final = frozenset({204, 304, *range(100, 200)})


class Wire(web.StreamResponse):
    """A response that writes itself, and nothing that the server library would add.

    The head waits for the first chunk, so that what arrived together leaves together; `begin`
    sends it alone. All other writing raises `ConnectionError` where the client has left.
    """

    def __init__(
        self,
        request: web.BaseRequest,
        status: int,
        reason: str | None,
        headers: Headers,
    ) -> None:
        super().__init__(status=status, reason=reason)
        writer = request.writer
        assert isinstance(writer, StreamWriter)
        self._wire, self._ended = writer, False
        self._protocol = writer.protocol
        self._keep_alive = request.keep_alive
        names = [name.lower() for name, _ in headers]
        self._left = _length(request.method, status, headers, names)
        old = request.version < HttpVersion11
        self._chunked = self._left is None and not old
        if self._left is None and old:
            self._keep_alive = False  # the end of the connection is the end of the body
        lines = [*(_bare(headers) if status in _NO_CONTENT else headers)]
        if self._chunked:
            lines.append(("Transfer-Encoding", "chunked"))
        if "date" not in names:
            lines.append(("Date", rfc822_formatted_time()))
        if self._keep_alive is old:  # what the client would not expect
            lines.append(("Connection", "keep-alive" if old else "close"))
        first = f"HTTP/{'1.0' if old else '1.1'} {status} {self._reason}"
        self._unsent = head(first, lines)

    def begin(self) -> None:
        """Send the head, if it was not sent yet; it does not matter to who has left."""
        if self._unsent and not self._gone:
            self._send(b"")

    def chunk(self, data: bytes) -> None:
        """Write a part of the body. What is longer than the length that was told is cut off."""
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        if data:
            self._send(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)

    def end(self) -> None:
        """The answer is whole."""
        if self._chunked or self._unsent:
            self._send(b"0\r\n\r\n" if self._chunked else b"")
        self._ended = True

    async def drain(self) -> None:
        """Wait while the client takes nothing."""
        await self._wire.drain()

    @property
    def counted(self) -> bool:
        """Whether the client was told how long the body is."""
        return self._left is not None

    @property
    def full(self) -> bool:
        """Whether more was written than the client takes."""
        return self._protocol.writing_paused

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Nothing is left to prepare."""
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        """Nothing is left to write; a connection whose answer broke off serves no other."""
        if not self._ended:
            raise ConnectionResetError("the answer broke off")

    @property
    def _gone(self) -> bool:
        transport = self._wire.transport
        return transport is None or transport.is_closing()

    def _send(self, data: bytes) -> None:
        transport, unsent = self._wire.transport, self._unsent
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client has left")
        self._unsent = b""
        data = unsent + data if unsent else data
        self._wire.output_size += len(data)
        transport.write(data)


def _length(method: str, status: int, headers: Headers, names: list[str]) -> int | None:
    """Bytes of the body that follows, None where its end will be told. `names`: in lower case."""
    if method == "HEAD" or status in _NO_CONTENT:
        return 0
    return int(headers[names.index("content-length")][1]) if "content-length" in names else None


def _bare(headers: Headers) -> Headers:
    """A length says something of an answer to HEAD, and nothing of one that never has a body
    (RFC 9110, 8.6)."""
    return [pair for pair in headers if pair[0].lower() != "content-length"]
