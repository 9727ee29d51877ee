"""One request over a connection of the pool, and the head of its answer.

Owns what is written, that it is written once, and whether a connection may be used again. It must
not know an upstream, a leg or what an answer means. Facts about aiohttp are those of 3.14.

It stands on the library's connections and its parser and leaves its session out: redirects,
cookies, proxies of the environment, repeats, decompression and automatic headers are not switched
off here, they are not there.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.connector import Connection
from aiohttp.http import HttpVersion, RawResponseMessage, StreamWriter
from multidict import CIMultiDictProxy
from yarl import URL

from proxy.connector import Connector
from proxy.heads import head
from proxy.patience import Waits

Headers = Sequence[tuple[str, str]]

_HEAD_LIMIT: Final = 64 * 1024
_HEADERS: Final = 1000
_TOGETHER: Final = 64 * 1024  # bytes; a longer body is not copied to stand behind its head
_AT_ONCE: Final = 1024 * 1024  # bytes; a longer body is written as fast as it is taken
_SLICE: Final = 256 * 1024
_BODILESS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class Silent(Exception):
    """The head of the answer did not come in time."""


class _Target(aiohttp.ClientRequest):
    """What the connector is told of a base URL. It asks for the key of the pool each time."""

    @cached_property
    def connection_key(self) -> ConnectionKey:
        return super().connection_key


@dataclass(frozen=True, slots=True)
class _Way:
    """Where requests for one base URL go: `host` as its header has it, `prefix` of every path."""

    target: _Target
    host: str
    prefix: str


class Response:
    """An answer whose head has come. `content` is its body as it arrives; when that has ended the
    connection goes back to the pool by itself, until then `close` gives it up."""

    __slots__ = (
        "_connection",
        "_upload",
        "content",
        "headers",
        "protocol",
        "reason",
        "status",
        "version",
    )

    def __init__(
        self,
        message: RawResponseMessage,
        content: aiohttp.StreamReader,
        connection: Connection,
        upload: "asyncio.Task[None] | None",
    ) -> None:
        assert connection.protocol is not None
        self.status: int = message.code
        self.version: HttpVersion = message.version
        self.reason: str = message.reason
        self.headers: CIMultiDictProxy[str] = message.headers
        self._connection: Connection | None = connection
        self._upload = upload
        self.content = content
        self.protocol: ResponseHandler = connection.protocol
        content.on_eof(self._ended)

    def close(self) -> None:
        """Give up the rest, at once; what is not written yet is never written. Harmless when the
        answer has ended."""
        if self._connection is not None:
            if self.content.exception() is None:
                self.content.set_exception(aiohttp.ClientConnectionError("given up"))
            connection, self._connection = self._connection, None
            _abort(connection, self._upload)

    def _ended(self) -> None:
        connection, self._connection = self._connection, None
        assert connection is not None  # who gave up took this callback away
        transport = self.protocol.transport
        uploading = self._upload is not None and not self._upload.done()
        if uploading or (transport is not None and transport.get_write_buffer_size()):
            # It was answered before it was read: what is still to come would stand before the
            # next request.
            _abort(connection, self._upload)
        else:
            connection.release()


class Exchange:
    """Asks over the connections of one pool."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._loop = asyncio.get_running_loop()
        self._ways: dict[str, _Way] = {}
        self._waits = Waits(0, self._loop)

    async def close(self) -> None:
        """Close every connection."""
        await self._connector.close()

    async def ask(
        self,
        base_url: str,
        method: str,
        address: str,
        headers: Headers,
        body: bytes,
        *,
        limits: aiohttp.ClientTimeout,
        first_byte: float,
    ) -> Response:
        """Write one request, once, and wait for the head of its answer.

        `address`: path and query, written behind the path of `base_url` as they are. Host and,
        where a body is expected, Content-Length are written beside `headers`, and nothing else.
        `limits` hold while connecting, `first_byte` from then on, in seconds. Raises `Silent`, and
        the library's `ClientError`, `OSError` (`TimeoutError` while connecting) and
        `HttpProcessingError`; `ValueError` for what could not be told from two heads.
        """
        way = self._way(base_url)
        first = f"{method} {way.prefix}{address} HTTP/1.1"
        lines = [("Host", way.host), *headers]
        if body or method not in _BODILESS:
            lines.append(("Content-Length", str(len(body))))
        written = head(first, lines)
        connection = await self._connector.connect(way.target, [], limits)
        silent = False
        response, upload = None, None

        def lost() -> None:
            nonlocal silent
            silent = True
            _abort(connection, upload)

        if self._waits.limit != first_byte:  # those under way keep the old ones
            self._waits = Waits(first_byte, self._loop)
        waits = self._waits
        waits.begin(lost)
        try:
            protocol = _awaiting(connection, method)
            upload = _write(protocol, written, body, self._loop)
            message, content = await _head(protocol)
            response = Response(message, content, connection, upload)
        finally:
            waits.end(lost)
            if response is None:
                _abort(connection, upload)
                if silent:
                    raise Silent from None
        return response

    def _way(self, base_url: str) -> _Way:
        way = self._ways.get(base_url)
        if way is None:
            url = URL(base_url, encoded=True)
            target = _Target("GET", url.origin(), loop=self._loop)
            way = _Way(target, url.host_port_subcomponent or "", url.raw_path.rstrip("/"))
            self._ways[base_url] = way
        return way


def _awaiting(connection: Connection, method: str) -> ResponseHandler:
    """The connection's protocol, ready to read an answer to `method`."""
    protocol = connection.protocol
    assert protocol is not None
    protocol.set_response_params(
        skip_payload=method == "HEAD",
        read_until_eof=True,
        auto_decompress=False,
        max_line_size=_HEAD_LIMIT,
        max_field_size=_HEAD_LIMIT,
        max_headers=_HEADERS,
    )
    return protocol


def _write(
    protocol: ResponseHandler, written: bytes, body: bytes, loop: asyncio.AbstractEventLoop
) -> "asyncio.Task[None] | None":
    """Write all of it, the head first, or begin to: a long body goes on in the task that is
    returned."""
    transport = protocol.transport
    if transport is None or transport.is_closing():
        raise aiohttp.ClientConnectionResetError("closed before a byte was written")
    if len(body) <= _TOGETHER:
        transport.write(written + body)
        return None
    transport.write(written)
    rest = memoryview(body)  # what the socket does not take at once is cut off without a copy
    if len(body) > _AT_ONCE:
        return loop.create_task(_upload(StreamWriter(protocol, loop), rest))
    transport.write(rest)
    return None


async def _upload(writer: StreamWriter, body: memoryview) -> None:
    try:
        for start in range(0, len(body), _SLICE):
            await writer.write(body[start : start + _SLICE])
    except ConnectionError:
        pass  # whoever waits for the answer is told


async def _head(protocol: ResponseHandler) -> tuple[RawResponseMessage, aiohttp.StreamReader]:
    """The head of the answer itself, not of one that only announces it."""
    while True:
        message, content = await protocol.read()
        if not 100 <= message.code < 200 or message.code == 101:
            return message, content


def _abort(connection: Connection, upload: "asyncio.Task[None] | None") -> None:
    # Not closed but aborted: closing would first write what is still to be written.
    if upload is not None:
        upload.cancel()
    if connection.transport is not None:
        connection.transport.abort()
    connection.close()
