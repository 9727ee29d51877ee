"""The scripted upstream: what it records, what it answers, how it breaks."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from proxy.demo.upstream import Fault, Framing, Recorded, Reply, ScriptedUpstream, Step


def echo(request: Recorded) -> Reply:
    return Reply.of({"method": request.method, "target": request.target, "n": len(request.body)})


class Raw:
    """A client of one raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> tuple[bytes, bytes]:
        """Head and body of one answer that has a length."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        return head, await self.reader.readexactly(length)


@pytest.fixture
async def up() -> AsyncIterator[ScriptedUpstream]:
    async with ScriptedUpstream(echo) as upstream:
        yield upstream


@pytest.fixture
async def raw(up: ScriptedUpstream) -> AsyncIterator[Raw]:
    reader, writer = await asyncio.open_connection("127.0.0.1", up.port)
    yield Raw(reader, writer)
    writer.transport.abort()
    await asyncio.sleep(0)


async def test_every_byte_is_recorded_as_it_was_sent(up: ScriptedUpstream, raw: Raw) -> None:
    """The record of a connection equals what was written, odd case and blanks included."""
    sent = (
        b"POST /a?b=%2F HTTP/1.1\r\nHOST:x\r\nX-Odd:  two  \r\ncontent-length: 4\r\n\r\n\x00\xffab"
    )
    await raw.send(sent)
    _, body = await raw.answer()
    assert json.loads(body) == {"method": "POST", "target": "/a?b=%2F", "n": 4}
    assert up.received == [sent]
    [request] = up.requests
    assert request.headers == (("HOST", "x"), ("X-Odd", "two"), ("content-length", "4"))
    assert (request.path, request.body) == ("/a", b"\x00\xffab")


async def test_a_chunked_body_is_joined_in_the_request_and_kept_raw_in_the_record(
    up: ScriptedUpstream, raw: Raw
) -> None:
    """Chunk extensions and trailers are read past; the record keeps them."""
    sent = (
        b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n"
        b"3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nx-sum: 1\r\n\r\n"
    )
    for byte in sent:
        await raw.send(bytes([byte]))
    await raw.answer()
    assert up.requests[0].body == b"abc0123456789"
    assert up.received == [sent]


async def test_pipelined_requests_are_answered_in_order_on_one_connection(
    up: ScriptedUpstream, raw: Raw
) -> None:
    """Two requests in one write give two recorded requests and two answers."""
    await raw.send(
        b"POST /1 HTTP/1.1\r\ncontent-length: 2\r\n\r\nhiGET /2 HTTP/1.1\r\nhost: x\r\n\r\n"
    )
    targets = [json.loads((await raw.answer())[1])["target"] for _ in range(2)]
    assert targets == ["/1", "/2"]
    assert [(r.target, r.body) for r in up.requests] == [("/1", b"hi"), ("/2", b"")]
    assert up.accepted == 1


async def test_a_connection_without_a_request_counts_as_accepted(up: ScriptedUpstream) -> None:
    """Opening a socket is seen even when nothing is sent on it."""
    _, writer = await asyncio.open_connection("127.0.0.1", up.port)
    writer.close()
    await writer.wait_closed()
    async with aiohttp.ClientSession() as session, session.get(up.url) as answer:
        assert answer.status == 200
    assert (up.accepted, len(up.requests)) == (2, 1)
    assert up.received[0] == b""


async def test_half_a_request_is_recorded_though_it_never_becomes_one(
    up: ScriptedUpstream, raw: Raw
) -> None:
    """Bytes count from the first one on, not from the end of the body."""
    await raw.send(b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\nnsec")
    raw.writer.write_eof()
    assert await raw.reader.read() == b""
    assert up.requests == []
    assert up.received[0].endswith(b"nsec")


async def test_expect_continue_is_told_to_go_on(up: ScriptedUpstream, raw: Raw) -> None:
    """A client that waits for permission gets it before its body."""
    await raw.send(b"POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\n")
    assert await raw.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    await raw.send(b"x")
    assert (await raw.answer())[0].startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"GARBAGE\r\n\r\n", b"unreadable head"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"unreadable head"),
        (b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", b"unreadable length"),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", b"unreadable length"),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", b"unreadable chunk size"),
        (b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n", b"unreadable chunk"),
    ],
)
async def test_an_unreadable_request_is_answered_400_and_recorded(
    up: ScriptedUpstream, raw: Raw, sent: bytes, why: bytes
) -> None:
    """Garbage is named, kept in the record and ends the connection."""
    await raw.send(sent)
    head, body = await raw.answer()
    assert head.startswith(b"HTTP/1.1 400 ")
    assert body == why
    assert await raw.reader.read() == b""
    assert up.received == [sent]


async def test_a_body_that_is_no_object_has_no_json() -> None:
    """`json()` of a recorded request refuses what a script could not read fields from."""
    with pytest.raises(ValueError, match="not a JSON object"):
        Recorded("POST", "/", (), b"[1]").json()
    assert Recorded("POST", "/", (), b'{"a":1}').json() == {"a": 1}


async def test_repeated_headers_are_joined() -> None:
    """`header()` looks at names without case and keeps every value."""
    request = Recorded("GET", "/", (("A", "1"), ("b", "2"), ("a", "3")), b"")
    assert (request.header("a"), request.header("c")) == ("1, 3", "")


@pytest.mark.parametrize("framing", [Framing.LENGTH, Framing.CHUNKED, Framing.CLOSE])
async def test_every_framing_delivers_the_same_body(up: ScriptedUpstream, framing: Framing) -> None:
    """Length, chunked and end of connection carry equal bytes; an empty chunk ends nothing."""
    up.script = lambda _: Reply(201, (("x-a", "b"),), (b"one", b"", b"two"), framing)
    async with aiohttp.ClientSession() as session, session.get(up.url) as answer:
        assert (answer.status, answer.headers["x-a"]) == (201, "b")
        assert await answer.read() == b"onetwo"


async def test_head_and_204_have_no_body(up: ScriptedUpstream, raw: Raw) -> None:
    """A HEAD answer tells the length and stops there, a 204 has no body whatever was scripted."""
    up.script = lambda r: Reply(204 if r.target == "/204" else 200, (), (b"x",))
    await raw.send(b"HEAD / HTTP/1.1\r\n\r\nGET /204 HTTP/1.1\r\n\r\n")
    first = await raw.reader.readuntil(b"\r\n\r\n")
    second = await raw.reader.readuntil(b"\r\n\r\n")
    assert b"content-length: 1" in first
    assert second.startswith(b"HTTP/1.1 204 No Content")


async def test_a_status_that_has_no_name_is_written(up: ScriptedUpstream) -> None:
    """529 is no registered status and vendors use it."""
    up.script = lambda _: Reply(529)
    async with aiohttp.ClientSession() as session, session.get(up.url) as answer:
        assert answer.status == 529


async def test_raw_chunks_are_the_whole_answer(up: ScriptedUpstream, raw: Raw) -> None:
    """Garbage can be sent in place of HTTP."""
    up.script = lambda _: Reply(chunks=(b"not http",), framing=Framing.RAW)
    await raw.send(b"GET / HTTP/1.1\r\n\r\n")
    assert await raw.reader.read() == b"not http"


async def test_chunks_arrive_one_by_one_and_wait_where_told(up: ScriptedUpstream, raw: Raw) -> None:
    """A step may wait for an event; what came before it is already with the client."""
    go = asyncio.Event()
    up.script = lambda _: Reply.stream((b"data: 1\n\n", go, 0.01, b"data: 2\n\n"))
    await raw.send(b"GET / HTTP/1.1\r\n\r\n")
    head = await raw.reader.readuntil(b"data: 1\n\n\r\n")
    assert b"text/event-stream" in head
    assert not go.is_set()
    go.set()
    assert await raw.reader.readuntil(b"0\r\n\r\n") == b"9\r\ndata: 2\n\n\r\n0\r\n\r\n"


async def test_an_endless_answer_ends_when_the_client_leaves(
    up: ScriptedUpstream, raw: Raw
) -> None:
    """Chunks may come from a generator without an end; leaving is seen as `closed`."""

    def forever() -> Iterator[Step]:
        while True:
            yield b"x" * 1000
            yield 0.001

    up.script = lambda _: Reply.stream(forever())
    await raw.send(b"GET / HTTP/1.1\r\n\r\n")
    await raw.reader.readexactly(5000)
    raw.writer.transport.abort()
    await asyncio.wait_for(up.connections[0].closed.wait(), 2)


async def test_slow_waits_before_every_chunk() -> None:
    """`slow` puts a pause before each step and changes nothing else."""
    reply = Reply.stream((b"a", b"b")).slow(0.5)
    assert tuple(reply.chunks) == (0.5, b"a", 0.5, b"b")
    assert reply.framing is Framing.CHUNKED


@pytest.mark.parametrize("framing", [Framing.LENGTH, Framing.CHUNKED])
async def test_cut_breaks_off_after_so_many_bytes(up: ScriptedUpstream, framing: Framing) -> None:
    """The promise of the head is that of the whole body; the client sees the break."""
    up.script = lambda _: Reply(200, (), (b"abc", b"def"), framing).cut(4)
    async with aiohttp.ClientSession() as session, session.get(up.url) as answer:
        assert await answer.content.readexactly(4) == b"abcd"
        with pytest.raises(aiohttp.ClientPayloadError):
            await answer.content.readany()


async def test_a_reset_before_the_status(up: ScriptedUpstream, raw: Raw) -> None:
    """The fault RESET is a TCP reset, not an end."""
    up.script = lambda _: Fault.RESET
    await raw.send(b"GET / HTTP/1.1\r\n\r\n")
    with pytest.raises(ConnectionResetError):
        await raw.reader.read()
    assert len(up.requests) == 1


async def test_a_reset_by_the_client_is_an_end(up: ScriptedUpstream, raw: Raw) -> None:
    """A client that resets while its answer stalls is noticed as one that left."""
    up.script = lambda _: Fault.STALL
    await raw.send(b"GET / HTTP/1.1\r\n\r\n")
    await up.arrived(1)
    linger = struct.pack("ii", 1, 0)
    raw.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    raw.writer.transport.abort()
    await asyncio.wait_for(up.connections[0].closed.wait(), 2)


async def test_a_close_before_the_status(up: ScriptedUpstream, raw: Raw) -> None:
    """The fault CLOSE ends the connection without an answer."""
    up.script = lambda _: Fault.CLOSE
    await raw.send(b"GET / HTTP/1.1\r\n\r\n")
    assert await raw.reader.read() == b""


async def test_a_stall_lasts_until_the_client_leaves(up: ScriptedUpstream, raw: Raw) -> None:
    """The fault STALL sends nothing, keeps recording and notices the end."""
    up.script = lambda _: Reply.stream((b"a", Fault.STALL))
    await raw.send(b"GET / HTTP/1.1\r\n\r\n")
    await raw.reader.readuntil(b"1\r\na\r\n")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(raw.reader.read(1), 0.05)
    await raw.send(b"more")
    await asyncio.sleep(0.01)
    assert up.received[0].endswith(b"more")
    assert not up.connections[0].closed.is_set()
    raw.writer.write_eof()
    assert await raw.reader.read() == b""
    assert up.connections[0].closed.is_set()


@pytest.mark.parametrize("side", ["request", "reply"])
async def test_connection_close_is_honoured(up: ScriptedUpstream, raw: Raw, side: str) -> None:
    """Either side may ask that the connection ends after the answer."""
    if side == "reply":
        up.script = lambda _: Reply(200, (("Connection", "close"),))
    asked = b"connection: Close\r\n" if side == "request" else b""
    await raw.send(b"GET / HTTP/1.1\r\n" + asked + b"\r\n")
    await raw.answer()
    assert await raw.reader.read() == b""


async def test_arrived_waits_for_requests(up: ScriptedUpstream, raw: Raw) -> None:
    """`arrived` returns once that many requests were read, and times out otherwise."""
    with pytest.raises(TimeoutError):
        await up.arrived(1, 0.02)
    waiting = asyncio.create_task(up.arrived(1))
    await raw.send(b"GET / HTTP/1.1\r\n\r\n")
    await waiting


def broken(request: Recorded) -> Reply:
    raise KeyError(request.target)


async def ask(upstream: ScriptedUpstream) -> None:
    """One request that is dropped without an answer."""
    async with upstream, aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await session.post(upstream.url)


async def ask_and_fail(upstream: ScriptedUpstream) -> None:
    """The same, with an error of one's own at the end."""
    async with upstream:
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ServerDisconnectedError):
                await session.post(upstream.url)
        raise ZeroDivisionError


async def test_what_a_script_raises_is_raised_at_the_end() -> None:
    """A broken script fails the test that uses it instead of looking like a bad upstream."""
    with pytest.raises(KeyError):
        await ask(ScriptedUpstream(broken))


async def test_an_error_of_the_test_is_not_hidden_by_one_of_the_script() -> None:
    """What failed inside the `async with` wins."""
    with pytest.raises(ZeroDivisionError):
        await ask_and_fail(ScriptedUpstream(broken))


async def test_it_has_no_address_before_it_listens() -> None:
    """Asking too early says how to do it."""
    with pytest.raises(RuntimeError, match="async with"):
        _ = ScriptedUpstream(echo).url
