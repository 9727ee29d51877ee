"""The relay on real sockets: bytes as they came, honest ends, copies, filters, and who has left."""

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from msgspec.structs import replace

from policies.decision import Leg
from policies.prove import unread
from proxy import answer as answers
from proxy.answer import Answer, Filter, relay
from proxy.config import Timeouts, UpstreamSettings
from proxy.demo.upstream import Fault, Recorded, Reply, ScriptedUpstream, compact
from proxy.dialects import ALL, streams
from proxy.dialects.streams import Event, sse
from proxy.errors import Refused
from proxy.upstream import Outbound

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Step = bytes | Exception | asyncio.Event | float

SSE = (("Content-Type", "text/event-stream"),)
GONE = Refused("upstream-unreachable", upstream="x", reason="its answer broke off")
ERROR = b"event: error\ndata: {}\n\n"
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


def error(refused: Refused) -> bytes:
    return ERROR


async def steps(*given: Step) -> AsyncIterator[bytes]:
    for step in given:
        match step:
            case bytes():
                yield step
            case asyncio.Event():
                await step.wait()
            case Exception():
                raise step
            case seconds:
                await asyncio.sleep(seconds)


def whole(*given: Step, **more: Any) -> Answer:
    length = str(sum(len(step) for step in given if isinstance(step, bytes)))
    return Answer(200, [("Content-Length", length)], steps(*given), **more)


def stream(*given: Step, **more: Any) -> Answer:
    return Answer(200, list(SSE), steps(*given), **{"stream": "sse", **more})


@contextlib.asynccontextmanager
async def serving(handler: Handler, *, cancelling: bool = True) -> AsyncIterator[int]:
    """A listener like the node's: cancelled handlers, nothing decompressed; yields its port."""
    server = web.Server(handler, handler_cancellation=cancelling, access_log=None)
    listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        await server.shutdown(1)
        await listener.wait_closed()


@contextlib.asynccontextmanager
async def client(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)


def relaying(answer: Answer, returned: list[bool] | None = None, **how: Any) -> Handler:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        await request.read()  # a close with something unread would be a reset
        response = await relay(answer, request, **{"stream_error": error, **how})
        if returned is not None:
            returned.append(True)
        return response

    return handler


async def sent(answer: Answer, request: bytes = GET, **how: Any) -> tuple[bytes, bytes]:
    """Head and body, as they stand on the wire, of `answer` relayed to a client that then waits
    for the end of the connection."""
    closing = request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    returned: list[bool] = []
    async with (
        serving(relaying(answer, returned, **how)) as port,
        client(port) as (reader, writer),
    ):
        writer.write(closing)
        with contextlib.suppress(ConnectionError):
            data = b""
            while more := await reader.read(65536):
                data += more
    assert returned == [True]  # a broken transfer is an end like another, not a failure of ours
    head, _, body = data.partition(b"\r\n\r\n")
    return head, body


def unchunked(body: bytes) -> tuple[bytes, bool]:
    """The chunks joined, and whether the body came to its proper end."""
    joined = b""
    while (line := re.match(rb"([0-9a-f]+)\r\n", body)) and (size := int(line[1], 16)):
        joined += body[line.end() : line.end() + size]
        body = body[line.end() + size + 2 :]
    return joined, body == b"0\r\n\r\n"


async def test_no_chunk_waits_for_another() -> None:
    """The head and each chunk are with the client before the upstream sends the next."""
    more = [asyncio.Event() for _ in range(3)]
    given = stream(more[0], b"data: 1\n\n", more[1], b"data: half", more[2], b" more\n\n")
    async with serving(relaying(given)) as port, client(port) as (reader, writer):
        writer.write(GET)
        async with asyncio.timeout(5):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 OK\r\n")
            for event, chunk in zip(
                more,
                (b"9\r\ndata: 1\n\n\r\n", b"a\r\ndata: half\r\n", b"7\r\n more\n\n\r\n"),
                strict=True,
            ):
                event.set()
                assert await reader.readexactly(len(chunk)) == chunk
            assert await reader.readexactly(5) == b"0\r\n\r\n"


async def test_the_bytes_are_those_that_came() -> None:
    """No event is read or written anew where no filter asks for it, however it was cut."""
    odd = b'\xef\xbb\xbf: hi\r\ndata:{ "a" : 1e5 }\r\r: x\n\ndata: \xe2\x82\xac\xff\n\n\n\nrest'
    for size in (1, 2, 7, len(odd)):
        chunks = [odd[i : i + size] for i in range(0, len(odd), size)]
        _, body = await sent(stream(*chunks))
        assert unchunked(body) == (odd, True)


async def test_status_headers_and_length_pass() -> None:
    """Nothing is added but the date; ours stand beside them; repeats stay."""
    headers = [("X-Two", "1"), ("X-Two", "2"), ("content-length", "2"), ("retry-after", "7")]
    given = Answer(529, headers, steps(b"{}"), reason="Overloaded")
    head, body = await sent(given, extra_headers=[("x-transom-leg", "cloud")])
    lines = head.decode().split("\r\n")
    assert lines[0] == "HTTP/1.1 529 Overloaded"
    assert [line for line in lines[1:] if not line.startswith("Date: ")] == [
        "X-Two: 1",
        "X-Two: 2",
        "content-length: 2",
        "retry-after: 7",
        "x-transom-leg: cloud",
        "Connection: close",
    ]
    assert body == b"{}"


async def test_the_upstreams_own_date_and_server_stand() -> None:
    """What is there is not written over."""
    headers = [("Server", "up"), ("Date", "then"), ("Content-Type", "x/y"), ("Content-Length", "0")]
    head, _ = await sent(Answer(200, headers, steps()))
    for name, value in headers:
        assert head.count(f"{name}: {value}".encode()) == 1


@pytest.mark.parametrize(
    ("method", "status", "length"),
    [
        (b"HEAD", 200, b"Content-Length: 12"),
        (b"GET", 204, b""),
        (b"GET", 304, b""),
        (b"HEAD", 404, b"Content-Length: 12"),
    ],
)
async def test_answers_without_a_body_stay_so(method: bytes, status: int, length: bytes) -> None:
    """No chunk, no end of chunks; a HEAD keeps the length that it tells."""
    headers = [("Content-Length", "12")] if length else []
    head, body = await sent(Answer(status, headers, steps()), request=GET.replace(b"GET", method))
    assert f" {status} ".encode() in head
    assert (length in head, b"chunked" in head.lower(), body) == (True, False, b"")


async def test_a_connection_serves_one_answer_after_the_other() -> None:
    """After a proper end the client may ask again on it."""

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        given = whole(b"{}") if request.path == "/whole" else stream(b"data: 1\n\n")
        return await relay(given, request, stream_error=error)

    async with serving(handler) as port, client(port) as (reader, writer):
        for path, end in ((b"/whole", b"{}"), (b"/", b"0\r\n\r\n"), (b"/whole", b"{}")):
            writer.write(GET.replace(b"/", path, 1))
            async with asyncio.timeout(5):
                await reader.readuntil(end)


@pytest.mark.parametrize("before", [(), (b"data: 1\n\n",), (b"data: 1\r\n\r", b"\n")])
async def test_a_stream_that_breaks_between_events_ends_with_an_error_event(
    before: tuple[bytes, ...],
) -> None:
    """Then the transfer comes to its proper end: the client has been told."""
    _, body = await sent(stream(*before, GONE))
    assert unchunked(body) == (b"".join(before) + ERROR, True)


async def test_the_error_event_tells_what_broke() -> None:
    """The dialect dresses the very refusal that the answer raised."""
    seen: list[Refused] = []

    def dress(refused: Refused) -> bytes:
        seen.append(refused)
        return b'{"error":"x"}\n'

    given = Answer(200, [], steps(b"{}\n", GONE), stream="ndjson")
    _, body = await sent(given, stream_error=dress)
    assert unchunked(body) == (b'{}\n{"error":"x"}\n', True)
    assert seen == [GONE]


@pytest.mark.parametrize(
    "given",
    [
        lambda: stream(b"data: 1\n\n", b'data: {"ha', GONE),
        lambda: stream(b"data: 1\n", GONE),
        lambda: stream(b"event: x\r\n", GONE),
        lambda: Answer(200, [], steps(b'{"a":1}\n{"b"', GONE), stream="ndjson"),
        lambda: Answer(200, [], steps(b'{"a":1}', GONE)),
        lambda: Answer(200, [], steps(GONE)),
        lambda: replace(stream(b"\x1f\x8b", GONE), stream="", coded=True),
    ],
)
async def test_half_an_event_or_half_an_answer_is_a_broken_transfer(
    given: Callable[[], Answer],
) -> None:
    """All that came is passed on, nothing is made up, and the end is never a proper one."""
    told: list[Refused] = []
    head, body = await sent(given(), broke=told.append)
    joined, ended = unchunked(body)
    assert b" 200 " in head
    assert told == [GONE]
    assert (ended, ERROR in joined) == (False, False)
    first = [step async for step in _until_broken(given())]
    assert joined == b"".join(first)


async def _until_broken(given: Answer) -> AsyncIterator[bytes]:
    with contextlib.suppress(Refused):
        async for chunk in given.chunks:
            yield chunk


async def test_an_answer_shorter_than_its_length_stays_short() -> None:
    """The client counts and finds bytes missing; also where the answer is a stream."""
    for kind in ("", "sse"):
        given = Answer(200, [("Content-Length", "20")], steps(b"data: 1\n\n", GONE), stream=kind)  # type: ignore[arg-type]
        head, body = await sent(given)
        assert (b"Content-Length: 20" in head, body) == (True, b"data: 1\n\n")


async def test_the_oldest_clients_see_a_reset_not_an_end() -> None:
    """To HTTP/1.0 the end of the connection is the end of the body, so a broken one is reset."""
    old = GET.replace(b"HTTP/1.1", b"HTTP/1.0")
    given = Answer(200, [], steps(b"abc", 0.05, GONE))
    async with serving(relaying(given)) as port, client(port) as (reader, writer):
        writer.write(old)
        head = await reader.readuntil(b"\r\n\r\n")
        assert (head.startswith(b"HTTP/1.0 200"), b"chunked" in head) == (True, False)
        with pytest.raises(ConnectionResetError):
            await reader.read(-1)
    _, body = await sent(stream(b"data: 1\n\n", GONE), request=old)
    assert body == b"data: 1\n\n" + ERROR


async def endless(produced: list[int]) -> AsyncIterator[bytes]:
    while True:
        produced[0] += 1
        yield b"x" * 65536
        await asyncio.sleep(0)


async def test_a_client_that_never_reads_costs_no_memory_and_no_patience() -> None:
    """What is read ahead for it is bounded; after the idle limit both ends are closed."""
    produced, closed = [0], asyncio.Event()
    given = Answer(200, [], endless(produced), idle=0.5, close=closed.set)
    async with serving(relaying(given)) as port:
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                deaf.connect(("127.0.0.1", port))
            await asyncio.sleep(0.05)
            deaf.send(GET)
            await asyncio.sleep(0.2)
            ahead = produced[0]
            assert 0 < ahead * 65536 < 16_000_000  # socket buffers of the system, and ours
            await asyncio.sleep(0.1)
            assert produced[0] == ahead
            async with asyncio.timeout(2):
                await closed.wait()


def here(body: bytes, **more: Any) -> Answer:
    """An answer all of which has come; who waits for its chunks waits for ever."""
    return Answer(200, [], steps(asyncio.Event()), whole=lambda: body, **more)


async def test_an_answer_that_has_come_whole_is_written_at_once() -> None:
    """Nobody asks for its chunks; observers have their copy, and it is closed like any other."""
    seen, closed = Witness(), asyncio.Event()
    given = here(b"data: 1\n\n", stream="sse", close=closed.set)
    head, body = await sent(given, observers=[seen])
    assert head.startswith(b"HTTP/1.1 200")
    assert unchunked(body) == (b"data: 1\n\n", True)
    await asyncio.sleep(0)
    assert (seen.seen, seen.ended) == ([b"data: 1\n\n"], 1)
    assert closed.is_set()


async def test_a_client_that_never_reads_a_whole_answer_is_dropped() -> None:
    """After the idle limit, as with one that arrives chunk by chunk."""
    closed = asyncio.Event()
    given = here(b"x" * 20_000_000, idle=0.3, close=closed.set)
    async with serving(relaying(given)) as port, client(port) as (reader, writer):
        writer.write(GET)
        await reader.read(1)
        reader._transport.pause_reading()  # type: ignore[attr-defined]
        await asyncio.sleep(0.1)
        assert not closed.is_set()
        async with asyncio.timeout(3):
            await closed.wait()


async def test_a_whole_answer_for_a_client_that_has_left_is_closed() -> None:
    """Nobody is there to be told."""
    over, closed = asyncio.Event(), asyncio.Event()
    given = here(b"{}", close=closed.set)

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        response = await relay(given, request, stream_error=error)
        over.set()
        return response

    async with serving(handler, cancelling=False) as port, client(port) as (_, writer):
        writer.write(GET)
        async with asyncio.timeout(2):
            await over.wait()
    assert closed.is_set()


async def test_a_client_that_reads_slowly_is_served() -> None:
    """Patience counts from the last progress, not from the start."""
    given = Answer(200, [], steps(*[b"x" * 200_000, 0.1] * 8), idle=0.4)
    async with serving(relaying(given)) as port, client(port) as (reader, writer):
        writer.write(GET)
        got = 0
        while got < 1_600_000:
            got += len(await reader.read(100_000))
            await asyncio.sleep(0.03)


def upstream_of(server: ScriptedUpstream) -> UpstreamSettings:
    return UpstreamSettings("claude", Leg.CLOUD, server.url, ("anthropic",), "caller")


def through(out: Outbound, server: ScriptedUpstream, **how: Any) -> Handler:
    """The door's handler in miniature: read, send, relay."""

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        sent = await out.send_cloud(
            upstream_of(server),
            method=request.method,
            path=request.path,
            query="",
            headers=[("content-type", "application/json")],
            credentials=[],
            family="anthropic",
            cleared=unread(body, "test"),
        )
        return await relay(sent, request, **{"stream_error": error, **how})

    return handler


POST = b"POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
TRICKLE = Reply.stream([b"data: 1\n\n", Fault.STALL])


@pytest.mark.parametrize(
    "reply", [Fault.STALL, TRICKLE, Reply.stream([Fault.STALL])], ids=["before", "amid", "head"]
)
@pytest.mark.parametrize("reset", [False, True])
async def test_a_client_that_leaves_closes_its_upstream(reply: Any, reset: bool) -> None:
    """Within a second, before the first byte and after, by a clean end or a reset."""
    async with (
        ScriptedUpstream(lambda request: reply) as server,
        Outbound(Timeouts()) as out,
        serving(through(out, server)) as port,
    ):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(POST)
        await server.arrived(1)
        if reply is TRICKLE:
            await reader.readuntil(b"data: 1\n\n")
        if reset:
            writer.transport.abort()
        else:
            writer.close()
        async with asyncio.timeout(1):
            await server.connections[0].closed.wait()


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_clients_that_leave_leave_nothing_behind() -> None:
    """A hundred in different phases: no task, no file, no upstream connection stays."""
    replies: list[Any] = [Fault.STALL, TRICKLE, Reply.of({"a": 1}), Reply.stream([b"data: 1\n\n"])]
    asked = 0

    def script(request: Recorded) -> Any:
        nonlocal asked
        asked += 1
        return replies[asked % len(replies)]

    async with (
        ScriptedUpstream(script) as server,
        Outbound(Timeouts()) as out,
        serving(through(out, server)) as port,
    ):
        await asyncio.sleep(0)
        tasks, files = len(asyncio.all_tasks()), open_files()
        for count in range(100):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(POST)
            await asyncio.sleep(0.002 * (count % 4))
            writer.transport.abort()
        async with asyncio.timeout(5):
            while len(asyncio.all_tasks()) > tasks + 8:  # those of the scripted upstream's pool
                await asyncio.sleep(0.02)
        assert open_files() <= files + 8


async def test_an_answer_is_closed_in_every_case() -> None:
    """At its end, when it breaks, and when the relay is never begun."""
    closed: list[str] = []
    for name, given in (("end", stream(b"data: 1\n\n")), ("broken", stream(b"da", GONE))):
        await sent(replace(given, close=lambda name=name: closed.append(name)))  # type: ignore[misc]
    assert closed == ["end", "broken"]


@pytest.mark.parametrize("first", [b"", b"data: 1\n\n", b"half"])
async def test_a_client_that_has_left_ends_the_relay_by_itself(first: bytes) -> None:
    """Also under a server that cancels nothing: before the head, at the next chunk, at a break."""
    begin, go, over = asyncio.Event(), asyncio.Event(), asyncio.Event()
    closed = asyncio.Event()
    rest: list[Step] = [GONE] if first == b"half" else [b"data: 2\n\n", 0.01] * 200
    given = stream(first, go, *rest, close=closed.set)

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if not first:
            await begin.wait()
        response = await relay(given, request, stream_error=error)
        over.set()
        return response

    async with serving(handler, cancelling=False) as port:
        async with client(port) as (reader, writer):
            writer.write(GET)
            if first:
                await reader.readuntil(first)
            else:
                await asyncio.sleep(0.05)
        await asyncio.sleep(0.05)
        begin.set()
        go.set()
        async with asyncio.timeout(1):
            await over.wait()
    assert closed.is_set()


class Witness:
    """Keeps what it is shown; raises at the chunk number `fails`."""

    prompt = True

    def __init__(self, fails: int = 0) -> None:
        self.seen: list[bytes] = []
        self.ended = 0
        self._fails = fails

    def chunk(self, data: bytes) -> None:
        self.seen.append(data)
        if len(self.seen) == self._fails:
            raise KeyError("a bug")

    def end(self) -> None:
        self.ended += 1


async def test_observers_read_copies_in_order() -> None:
    """All of it, then the end; also where the answer breaks off."""
    one, two = Witness(), Witness()
    await sent(stream(b"data: 1\n\n", b"data: 2\n\n"), observers=[one])
    await sent(stream(b"data: 1\n\n", GONE), observers=[two])
    await asyncio.sleep(0)
    assert (b"".join(one.seen), one.ended) == (b"data: 1\n\ndata: 2\n\n", 1)
    assert (b"".join(two.seen), two.ended) == (b"data: 1\n\n", 1)


async def test_an_observer_that_fails_spoils_nothing() -> None:
    """The answer and the other observers go on; who failed, and how, is told once."""
    bad, good, told = Witness(fails=1), Witness(), list[Any]()
    chunks = [b"data: %d\n\n" % count * 1_000 for count in range(5)]
    timed = [step for chunk in chunks for step in (chunk, 0.01)]
    _, body = await sent(
        stream(*timed),
        observers=[bad, good],
        failed=lambda observer, error: told.append((observer, type(error))),
    )
    await asyncio.sleep(0)
    assert unchunked(body) == (b"".join(chunks), True)
    assert (b"".join(good.seen), good.ended, bad.ended) == (b"".join(chunks), 1, 0)
    assert len(good.seen) > len(bad.seen) == 1
    assert told == [(bad, KeyError)]
    _, body = await sent(stream(*chunks), observers=[Witness(fails=1)])
    assert unchunked(body)[1]


async def test_observers_hear_that_a_client_has_left() -> None:
    """Their end comes whoever ended it."""
    witness = Witness()
    never = asyncio.Event()
    given = stream(b"data: 1\n\n", never)
    async with serving(relaying(given, observers=[witness])) as port:
        async with client(port) as (reader, writer):
            writer.write(GET)
            await reader.readuntil(b"data: 1\n\n")
        async with asyncio.timeout(1):
            while not witness.ended:
                await asyncio.sleep(0.01)
    assert witness.seen == [b"data: 1\n\n"]


A = b"data: a\n\n"


class Rules(Filter):
    """A filter by the word that an event carries."""

    def __init__(self) -> None:
        self._held: list[Event] = []

    def event(self, event: Event) -> Iterable[Event]:
        match (event.data or "").split(" ")[0]:
            case "drop":
                return ()
            case "replace":
                return (Event(sse("replaced"), "replaced"),)
            case "hold":
                self._held.append(event)
                return ()
            case "release":
                held, self._held = self._held, []
                return (*held, event)
            case "refuse":
                raise Refused("egress-blocked")
            case "crash":
                raise KeyError("a bug")
            case _:
                return (event,)

    def end(self) -> Iterable[Event]:
        return self._held


@pytest.mark.parametrize(
    ("came", "went"),
    [
        (b"data: a\n\n: ping\n\n", b"data: a\n\n: ping\n\n"),
        (b"data: drop\n\ndata: a\n\n", b"data: a\n\n"),
        (b"data: replace\r\n\r\ndata: a\n\n", b"data: replaced\n\ndata: a\n\n"),
        (
            b"data: hold\n\ndata: a\n\ndata: release\n\n",
            b"data: a\n\ndata: hold\n\ndata: release\n\n",
        ),
        (b"data: a\n\ndata: hold\n\n", b"data: a\n\ndata: hold\n\n"),
        (b"data: a\n\ndata: drop", b"data: a\n\n"),
        (b"data: drop\n\n", b""),
    ],
)
async def test_filters_pass_drop_replace_and_hold(came: bytes, went: bytes) -> None:
    """Whatever way the stream was cut; what is passed keeps its bytes."""
    for size in (1, len(came)):
        chunks = [came[i : i + size] for i in range(0, len(came), size)]
        given = stream(*chunks)
        given = replace(given, headers=[*given.headers, ("Content-Length", str(len(came)))])
        head, body = await sent(given, filters=[Rules()])
        assert unchunked(body) == (went, True)
        assert b"content-length" not in head.lower()


class Twice(Filter):
    """Doubles every event, and says goodbye."""

    def event(self, event: Event) -> Iterable[Event]:
        return (event, event)

    def end(self) -> Iterable[Event]:
        return (Event(sse("bye"), "bye"),)


async def test_filters_read_an_answer_that_has_come_whole_as_well() -> None:
    """It goes their way, event by event."""
    given = stream(b"data: drop\n\ndata: a\n\n", whole=lambda: b"data: never\n\n")
    _, body = await sent(given, filters=[Rules()])
    assert unchunked(body) == (A, True)


async def test_filters_stand_one_behind_the_other() -> None:
    """Each sees what the one before let go, its last words included."""
    _, body = await sent(stream(b"data: hold\n\n"), filters=[Twice(), Rules(), Twice()])
    expected = b"data: bye\n\n" * 2 + b"data: hold\n\n" * 4 + b"data: bye\n\n"
    assert unchunked(body) == (expected, True)


async def test_a_filter_may_end_a_stream() -> None:
    """With the dialect's error; nothing that it did not let go has left."""
    _, body = await sent(
        stream(b"data: a\n\ndata: hold\n\n", b"data: refuse\n\n"), filters=[Rules()]
    )
    assert unchunked(body) == (b"data: a\n\n" + ERROR, True)


async def test_a_stream_that_breaks_under_a_filter_ends_the_same_way() -> None:
    """Half an event was never handed on, so the error event can always follow."""
    _, body = await sent(stream(b"data: a\n\nda", GONE), filters=[Rules()])
    assert unchunked(body) == (b"data: a\n\n" + ERROR, True)


async def test_an_event_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter holds no more than the limit."""
    monkeypatch.setattr(streams, "EVENT_LIMIT", 100)
    _, body = await sent(stream(b"data: a\n\n", b"data: " + b"x" * 200), filters=[Rules()])
    assert unchunked(body) == (ERROR, True) or unchunked(body) == (b"data: a\n\n" + ERROR, True)


async def test_a_whole_answer_is_filtered_before_a_byte_leaves() -> None:
    """So a refusal is still an error of its own, and the length is right."""
    head, body = await sent(whole(b"replace", b" me"), filters=[Rules()])
    assert (b"Content-Length: 16" in head, body) == (True, b"data: replaced\n\n")
    head, body = await sent(whole(b"drop"), filters=[Rules()])
    assert (b"Content-Length: 0" in head, body) == (True, b"")
    head, body = await sent(Answer(204, [], steps()), filters=[Rules()])
    assert (b" 204 " in head, body) == (True, b"")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (lambda: whole(b"refuse this"), "egress-blocked"),
        (lambda: whole(b"half", GONE), "upstream-unreachable"),
        (lambda: replace(stream(b"\x1f\x8b"), stream="", coded=True), "upstream-unreachable"),
    ],
)
async def test_what_a_filter_could_not_read_is_refused(
    given: Callable[[], Answer], code: str
) -> None:
    """Raised before anything was written, so that the caller still chooses the answer."""
    raised: list[Refused] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await relay(given(), request, filters=[Rules()], stream_error=error)
        except Refused as refused:
            raised.append(refused)
            return web.Response(status=400)

    async with serving(handler) as port, client(port) as (reader, writer):
        writer.write(GET)
        assert b" 400 " in await reader.readline()
    assert [refused.code for refused in raised] == [code]


@pytest.mark.parametrize("first", [b"data: a\n\n", b""])
async def test_a_filter_with_a_bug_lets_nothing_through(first: bytes) -> None:
    """The error is the caller's to see, and the transfer has no proper end; it had begun even
    where the very first event was the one."""
    raised: list[BaseException] = []

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        try:
            given = stream(first, b"data: crash\n\ndata: b\n\n")
            return await relay(given, request, filters=[Rules()], stream_error=error)
        except KeyError as bug:
            raised.append(bug)
            assert request.writer.output_size > 0
            raise ConnectionError from None

    async with serving(handler) as port, client(port) as (reader, writer):
        writer.write(GET)
        data = await reader.read(-1)
    assert data.startswith(b"HTTP/1.1 200 OK\r\n")
    assert (b"data: a\n\n" in data, b"data: b" in data) == (bool(first), False)
    assert not data.endswith(b"0\r\n\r\n")
    assert len(raised) == 1


def dressed(name: str) -> Callable[[Refused], bytes]:
    dialect = ALL[name]
    return lambda refused: dialect.stream_error(503, refused.code, f"[{refused.code}] gone")


CHUNK = compact(
    {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": None}],
    }
)
BEGUN = {
    "anthropic_messages": b"event: ping\n" + sse('{"type": "ping"}'),
    "openai_chat": b"data: " + CHUNK + b"\n\n",
    "openai_responses": sse('{"type":"response.in_progress","sequence_number":1}'),
    "ollama_chat": b'{"model":"m","message":{"role":"assistant","content":"a"},"done":false}\n',
}


def consume(name: str, url: str) -> Callable[[], None]:
    """A streamed request by the vendor's own SDK, without retries."""
    import anthropic
    import ollama
    import openai

    messages: Any = [{"role": "user", "content": "x"}]
    if name == "ollama_chat":
        chat = ollama.Client(url).chat
        return lambda: list(chat("m", messages, stream=True))  # type: ignore[func-returns-value]
    if name == "anthropic_messages":
        claude = anthropic.Anthropic(base_url=url, api_key="k", max_retries=0)
        create: Any = claude.messages.create
        given = {"model": "m", "max_tokens": 9, "messages": messages}
    else:
        gpt = openai.OpenAI(base_url=url + "/v1", api_key="k", max_retries=0)
        create = gpt.chat.completions.create if name == "openai_chat" else gpt.responses.create
        given = {"model": "m", ("messages" if name == "openai_chat" else "input"): messages}
    return lambda: list(create(**given, stream=True))  # type: ignore[func-returns-value]


async def raised_by(name: str, *given: Step) -> BaseException:
    kind = "ndjson" if name == "ollama_chat" else "sse"
    types = {"sse": "text/event-stream", "ndjson": "application/x-ndjson"}
    answer = Answer(200, [("Content-Type", types[kind])], steps(*given), stream=kind)  # type: ignore[arg-type]
    async with serving(relaying(answer, stream_error=dressed(name))) as port:
        with pytest.raises(Exception) as caught:  # noqa: PT011 (what is raised is the question)
            await asyncio.to_thread(consume(name, f"http://127.0.0.1:{port}"))
    return caught.value


@pytest.mark.parametrize("name", list(BEGUN))
async def test_the_sdks_raise_their_typed_error_when_a_stream_breaks(name: str) -> None:
    """Between two events each SDK is told in its own dialect, with our words."""
    caught = await raised_by(name, BEGUN[name], GONE)
    assert type(caught).__module__.partition(".")[0] in {"anthropic", "openai", "ollama"}
    assert type(caught).__name__ in {"APIStatusError", "APIError", "ResponseError"}
    assert "[upstream-unreachable] gone" in str(caught)


@pytest.mark.parametrize("name", list(BEGUN))
async def test_the_sdks_see_a_lost_connection_within_an_event(name: str) -> None:
    """Never JSON that does not parse, never a clean end."""
    caught = await raised_by(name, BEGUN[name], BEGUN[name][:-5], GONE)
    assert type(caught).__name__ in {"RemoteProtocolError", "APIConnectionError"}


def test_the_seam_for_filters_is_the_protocol() -> None:
    """What parts to come build on."""
    rules: Filter = Rules()
    assert list(rules.end()) == []
    assert answers.FLUSH > 0


def test_an_answer_shows_nothing_of_itself() -> None:
    """A repr may end in a trace; headers may name a session."""
    secret = "canary-of-a-header"
    answer = Answer(201, [("set-cookie", secret)], stream(secret.encode()).chunks)
    assert repr(answer) == "<Answer 201>"
