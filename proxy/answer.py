"""Answers on their way back: one type for them, and the relay that hands them to the client.

Owns the bytes' way from an answer to the client's socket: chunk by chunk as they came, copies for
observers, events for filters, and how a stream ends that breaks off. It must not know an upstream,
a dialect or what observers and filters look for.
"""

import asyncio
import struct
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from socket import SO_LINGER, SOL_SOCKET
from typing import Final

from aiohttp import HttpVersion11, web
from msgspec import Struct

from proxy.copies import Copies, Observer
from proxy.dialects.streams import Edge, Kind, kind_of
from proxy.errors import Refused
from proxy.filtering import Filter, KeepAlive, filtered
from proxy.patience import Patience
from proxy.wire import Wire

__all__ = ["Answer", "Filter", "Observer", "made_here", "relay"]

FLUSH: Final = 5.0
"""Seconds that a client has to take what was already written when its answer breaks off."""


def _nothing() -> None:
    """Nothing needs to be closed."""


def _silent(begun: bool) -> bytes:
    """No sign of life."""
    return b""


class Answer(Struct, frozen=True, eq=False):
    """An answer from anywhere: an upstream, or made at home.

    `headers`: as they go to the client, hop-by-hop ones gone. `chunks` is read once; it raises
    `Refused` where the answer breaks off. `stream`: the grammar of its events, empty for a whole
    answer and for one in a content coding. `coded`: it is in a content coding, though none was
    asked for. `idle`: seconds that one chunk may take to be read by the client. `close` gives up
    what is left of it, at once; harmless when it has ended. `observers` read copies, `filters` what
    goes on. `whole`, where all of it is here and its end with it: takes it, in place of `chunks`.
    """

    status: int
    headers: Sequence[tuple[str, str]]
    chunks: AsyncIterator[bytes]
    stream: Kind = ""
    reason: str | None = None
    coded: bool = False
    idle: float = 300.0
    close: Callable[[], None] = _nothing
    observers: Sequence[Observer] = ()
    whole: Callable[[], bytes] | None = None
    filters: Sequence[Filter] = ()

    def __repr__(self) -> str:
        return f"<Answer {self.status}>"  # what is in it is in no repr


def made_here(headers: Mapping[str, str], body: bytes) -> Answer:
    """A complete answer that no upstream gave."""
    length = [] if kind_of(headers["content-type"]) else [("content-length", str(len(body)))]
    said = [*headers.items(), *length]
    stream = kind_of(headers["content-type"])
    return Answer(200, said, _one(body), stream=stream, whole=lambda: body)


async def relay(
    answer: Answer,
    request: web.BaseRequest,
    *,
    extra_headers: Iterable[tuple[str, str]] = (),
    observers: Sequence[Observer] = (),
    filters: Sequence[Filter] = (),
    stream_error: Callable[[Refused], bytes],
    failed: Callable[[Observer, BaseException], None] | None = None,
    broke: Callable[[Refused], None] | None = None,
    keep_alive: KeepAlive = _silent,
) -> web.StreamResponse:
    """Hand `answer` to the client of `request`; returns once its last byte was written.

    Without filters the client gets the bytes that came, chunk by chunk, and no chunk waits for
    another. Observers read copies. `failed` is told which observer raised, and what; `broke` is
    told why an answer ended as a broken transfer. `keep_alive` writes signs of life into a stream
    that a filter holds.

    A stream that breaks off between two events ends with `stream_error`, an event of the caller's
    dialect. One that breaks off within an event, and every whole answer, ends as a broken
    transfer: closing half an event would hand clients JSON that does not parse, and a clean end
    would pass a part for the whole. A client that takes nothing for `answer.idle` seconds is
    dropped. `answer` is closed in every case, also when this task is cancelled. Raises `Refused`
    only while nothing has been written yet.
    """
    copies = Copies((*observers, *answer.observers), failed)
    filters = (*filters, *answer.filters)
    through: AsyncGenerator[bytes, None] | None = None
    try:
        if filters and (answer.coded or not answer.stream):
            answer = await filtered_whole(answer, filters)
            filters = ()
        wire = _begin(answer, request, extra_headers, filtered=bool(filters))
        if answer.whole is not None and not filters:
            await _write(answer.whole(), answer, request, wire, copies)
            return wire
        if filters:
            through = filtered(answer.chunks, answer.stream, filters, keep_alive)
        chunks = through or answer.chunks
        if broken := await _pour(answer, chunks, request, wire, copies, stream_error):
            _break(request)
            if broke is not None:
                broke(broken)
        return wire
    finally:
        if through is not None:
            await through.aclose()
        answer.close()
        copies.end()


def _begin(
    answer: Answer, request: web.BaseRequest, extra: Iterable[tuple[str, str]], *, filtered: bool
) -> Wire:
    """The head waits for the first chunk until the loop turns: what arrived together leaves
    together."""
    headers = [*answer.headers, *extra]
    if filtered:
        headers = [pair for pair in headers if pair[0].lower() != "content-length"]
    wire = Wire(request, answer.status, answer.reason, headers)
    if answer.whole is None:
        asyncio.get_running_loop().call_soon(wire.begin)
    return wire


async def _pour(
    answer: Answer,
    chunks: AsyncIterator[bytes],
    request: web.BaseRequest,
    wire: Wire,
    copies: Copies,
    stream_error: Callable[[Refused], bytes],
) -> Refused | None:
    """Write the chunks; returns why they broke off where the client cannot be told in the body."""
    transport = request.transport
    if transport is None:  # the client has left
        return None
    edge, patience = Edge(answer.stream), Patience(answer.idle, transport.abort)
    try:
        try:
            async for chunk in chunks:
                edge.feed(chunk)
                copies.chunk(chunk)
                wire.chunk(chunk)
                if wire.full:
                    await _drained(wire, patience)
        except Refused as broken:
            if not edge.clean or wire.counted or not answer.stream:
                return broken
            wire.chunk(stream_error(broken))
        wire.end()
        if wire.full:
            await _drained(wire, patience)
    except ConnectionError:
        pass  # the client has left, and nobody is there to be told
    finally:
        patience.stop()
        # An answer that was begun has begun, so that nobody begins another on this connection.
        wire.begin()
    return None


async def _write(
    body: bytes, answer: Answer, request: web.BaseRequest, wire: Wire, copies: Copies
) -> None:
    """Write what is here and cannot break off any more."""
    try:
        copies.chunk(body)
        wire.chunk(body)
        wire.end()
        if wire.full and (transport := request.transport) is not None:
            patience = Patience(answer.idle, transport.abort)
            try:
                await _drained(wire, patience)
            finally:
                patience.stop()
    except ConnectionError:
        pass  # the client has left, and nobody is there to be told


async def _drained(wire: Wire, patience: Patience) -> None:
    patience.begin()
    await wire.drain()
    patience.done()


async def filtered_whole(answer: Answer, filters: Sequence[Filter]) -> Answer:
    """The filtered body, gathered first, so that a filter can still turn it into an error. Raises
    `Refused` for that, and where the answer breaks off."""
    if answer.coded:
        raise Refused("upstream-unreachable", reason="its answer is in a coding not asked for")
    parts = filtered(answer.chunks, answer.stream, filters, _silent)
    body = b"".join([part async for part in parts])
    kept = [pair for pair in answer.headers if pair[0].lower() != "content-length"]
    headers = [*kept, ("Content-Length", str(len(body)))]
    return Answer(
        answer.status,
        headers,
        _one(body),
        reason=answer.reason,
        idle=answer.idle,
        # Whoever waits for the end of the answer waits for this one's.
        close=answer.close,
    )


async def _one(body: bytes) -> AsyncIterator[bytes]:
    if body:
        yield body


def _break(request: web.BaseRequest) -> None:
    """End the transfer so that the client sees it broken, after what was already written."""
    transport = request.transport
    if transport is None:
        return
    if request.version < HttpVersion11:
        # The end of the connection is the end of its body: only a reset says that this was not it.
        socket = transport.get_extra_info("socket")
        socket.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    transport.close()
    asyncio.get_running_loop().call_later(FLUSH, transport.abort)
