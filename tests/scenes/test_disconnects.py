"""Clients that leave, and slow ones: their upstreams are left within a second, nothing leaks."""

import asyncio
import gc
import json
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import StreamReader, web

from policies.decision import Leg
from proxy.config import Config, Timeouts
from proxy.demo.upstream import Fault, Framing, Recorded, Reply, Script
from proxy.exchange import Response
from proxy.journal import Line
from proxy.owner import Case
from proxy.server_protocol import Connection
from proxy.wire import Wire
from tests.scenes.bodies import BODIES
from tests.scenes.staging import Stage, heard, settings, staged
from tests.scenes.talk import Talk, request

LEGS = pytest.mark.parametrize("leg", Leg)
pytestmark = pytest.mark.skipif(
    not Path("/proc/net/tcp").exists(), reason="connections are counted in /proc"
)
LARGE = 6_000_000  # bytes: more than the sockets on the way hold


def answering(reply: Reply | Fault) -> Script:
    def script(asked: Recorded) -> Reply | Fault:
        return Reply.of({"details": {}}) if asked.path == "/api/show" else reply

    return script


FIRST = Reply.stream([b"data: 1\n\n", Fault.STALL])
WHOLE = Reply(200, (("content-length", "100"),), (b'{"a":', Fault.STALL), Framing.RAW)


def to(url: str, leg: Leg) -> Callable[[Config], Config]:
    return lambda config: replace(config, upstreams=settings(url, leg).upstreams)


def port_of(stage: Stage) -> int:
    return stage.node.parts.listener.port


async def until(what: Callable[[], bool], seconds: float = 1.0) -> None:
    async with asyncio.timeout(seconds):
        while not what():
            await asyncio.sleep(0.005)


def requests_ended(stage: Stage, count: int) -> Callable[[], bool]:
    return lambda: len(stage.events("request")) >= count


@asynccontextmanager
async def black_hole() -> AsyncIterator[str]:
    """An address on which no connection is ever made: its queue is full and nobody accepts."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen(0)
    address = listening.getsockname()
    fillers = [socket.socket() for _ in range(8)]
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(address)
    await asyncio.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{address[1]}"
    finally:
        for each in (*fillers, listening):
            each.close()


@asynccontextmanager
async def deaf() -> AsyncIterator[str]:
    """Accepts and never reads."""
    accepted: list[asyncio.StreamWriter] = []

    def deafen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        accepted.append(writer)

    server = await asyncio.start_server(deafen, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for writer in accepted:
            writer.transport.abort()
        await asyncio.sleep(0)


def connections_to(url: str) -> int:
    """Established or half-made connections of this machine to that port, seen from our side."""
    port = int(url.rpartition(":")[2])
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    states = [line.split() for line in lines]
    return sum(each[2].endswith(f":{port:04X}") and each[3] in ("01", "02") for each in states)


@LEGS
async def test_who_leaves_while_the_upstream_cannot_be_reached(leg: Leg) -> None:
    """The attempt to connect is given up with the client."""
    async with black_hole() as url, staged(change=to(url, leg)) as stage:
        before = connections_to(url)
        async with Talk(port_of(stage)) as talk:
            await talk.send(request(talk.port, "/v1/messages", BODIES["anthropic_messages"]("a")))
            await until(lambda: connections_to(url) > before)
        await until(lambda: connections_to(url) == before)
        await until(requests_ended(stage, 1))


async def test_who_leaves_while_the_body_is_being_sent_on() -> None:
    """The connection on which the upload stands still is dropped, unsent bytes and all."""
    body = BODIES["anthropic_messages"]("The rain.\n" * (LARGE // 10))
    async with deaf() as url, staged(change=to(url, Leg.CLOUD)) as stage:
        async with Talk(port_of(stage)) as talk:
            sending = asyncio.create_task(talk.send(request(talk.port, "/v1/messages", body)))
            await until(lambda: connections_to(url) == 1, 10)
            await sending
            await asyncio.sleep(0.1)
        await until(lambda: connections_to(url) == 0)
        await until(requests_ended(stage, 1))


@LEGS
@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize(
    ("reply", "begun"), [(Fault.STALL, False), (FIRST, True), (WHOLE, True)], ids=lambda v: ""
)
async def test_who_leaves_while_the_answer_comes(
    leg: Leg, reply: Reply | Fault, begun: bool, reset: bool
) -> None:
    """Before the first byte, in the middle of a stream or of a whole answer, with a close or a
    reset: the upstream sees its connection close."""
    async with staged(answering(reply), leg) as stage:
        raw = request(port_of(stage), "/v1/messages", BODIES["anthropic_messages"]("a"))
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(stage))
        writer.write(raw)
        await stage.upstream.arrived(1 if leg is Leg.CLOUD else 2)
        if begun:
            await reader.readuntil(b"\r\n\r\n")
        if reset:
            writer.transport.abort()
        else:
            writer.close()
        async with asyncio.timeout(1):
            await stage.upstream.connections[-1].closed.wait()
        await until(requests_ended(stage, 1))
        (line,) = stage.events("request")
        assert "internal-error" not in json.dumps(line)


async def test_a_client_that_closes_its_half_has_left() -> None:
    """Who will send nothing more cannot be told from who has gone; the request ends."""
    async with staged(answering(Fault.STALL)) as stage:
        raw = request(port_of(stage), "/v1/messages", BODIES["anthropic_messages"]("a"))
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(stage))
        with closing(writer):
            writer.write(raw)
            await stage.upstream.arrived(1)
            writer.write_eof()
            async with asyncio.timeout(1):
                await stage.upstream.connections[-1].closed.wait()
                assert await reader.read() == b""


@pytest.mark.parametrize("cut", [1, 20, 100])
async def test_half_a_request_reaches_nobody(cut: int) -> None:
    """A head or a body that ends with its connection opens none to the upstream."""
    async with staged() as stage:
        raw = request(port_of(stage), "/v1/messages", BODIES["anthropic_messages"]("a"))
        for end in (cut, len(raw) - cut):
            reader, writer = await asyncio.open_connection("127.0.0.1", port_of(stage))
            with closing(writer):
                writer.write(raw[:end])
                await asyncio.sleep(0.02)
                writer.write_eof()
                async with asyncio.timeout(1):
                    await reader.read()
        assert stage.upstream.accepted == 0
        assert "internal-error" not in stage.log.getvalue()


async def test_a_slow_client_is_served() -> None:
    """Byte by byte, head and body, within the limits: nobody is refused for being slow."""
    slow = replace(Timeouts(), idle=1.0)
    async with staged(change=lambda config: replace(config, timeouts=slow)) as stage:
        body = b'{"model":"m","messages":[]}'
        raw = request(port_of(stage), "/v1/messages", body, {"connection": "close"})
        reader, writer = await asyncio.open_connection("127.0.0.1", port_of(stage))
        with closing(writer):
            for byte in raw:
                writer.write(bytes([byte]))
                await asyncio.sleep(0.005)
            assert heard(await reader.read()).status == 200
        assert stage.upstream.requests[0].body == body


async def test_a_body_that_stops_is_refused() -> None:
    """After `timeouts.idle` without a byte; the upstream never hears of it."""
    short = replace(Timeouts(), idle=0.2)
    async with staged(change=lambda config: replace(config, timeouts=short)) as stage:
        raw = request(port_of(stage), "/v1/messages", BODIES["anthropic_messages"]("a"))
        async with Talk(port_of(stage)) as talk:
            await talk.send(raw[:-1])
            answer = await talk.hear()
        assert (answer.status, answer.headers["x-transom-notice"]) == (400, "body-invalid")
        assert "did not arrive in time" in answer.body.decode()
        assert stage.upstream.accepted == 0


async def test_requests_in_a_row_are_answered_in_a_row() -> None:
    """Sent at once on one connection, good and bad ones: each has its own answer, in order."""

    def numbered(asked: Recorded) -> Reply:
        return Reply.of({"number": json.loads(asked.body)["n"]})

    async with staged(numbered) as stage, Talk(port_of(stage)) as talk:
        bodies = [b'{"model":"m","n":%d%s' % (n, b"" if n % 3 == 2 else b"}") for n in range(30)]
        await talk.send(b"".join(request(talk.port, "/v1/messages", each) for each in bodies))
        for number in range(30):
            answer = await talk.hear()
            if number % 3 == 2:
                assert answer.headers["x-transom-notice"] == "body-invalid"
            else:
                assert answer.json() == {"number": number}
        assert talk.opened == 1


AHEAD = [
    pytest.param(b'{"model":"m"}', 60, id="many"),
    pytest.param(b'{"model":"m"}' + b" " * 3_000_000, 1, id="large"),
]


@pytest.mark.parametrize(("body", "count"), AHEAD)
async def test_who_leaves_after_sending_ahead_is_missed(body: bytes, count: int) -> None:
    """Requests that wait behind one in flight fill their room; still it is seen that nobody is
    there any more."""
    async with staged(answering(Fault.STALL)) as stage:
        async with Talk(port_of(stage)) as talk:
            first = request(talk.port, "/v1/messages", b'{"model":"m"}')
            await talk.send(first + request(talk.port, "/v1/messages", body) * count)
            await stage.upstream.arrived(1)
        async with asyncio.timeout(1):
            await stage.upstream.connections[-1].closed.wait()
        assert len(stage.upstream.requests) == 1


@pytest.mark.parametrize(("body", "count"), AHEAD)
async def test_what_was_sent_too_early_is_refused(body: bytes, count: int) -> None:
    """What had its turn is answered; then comes a typed refusal, and nothing more."""
    may_go = asyncio.Event()
    held = Reply(200, (("content-type", "application/json"),), (may_go, b"{}"))
    async with staged(answering(held)) as stage, Talk(port_of(stage)) as talk:
        first = request(talk.port, "/v1/messages", b'{"model":"m"}')
        await talk.send(first + request(talk.port, "/v1/messages", body) * count)
        await stage.upstream.arrived(1)
        await asyncio.sleep(1)
        may_go.set()
        assert (await talk.hear()).status == 200
        while (last := await talk.hear()).status == 200:
            pass
        assert last.status == 400
        assert last.headers["x-transom-notice"] in ("door-refused", "body-invalid")
        assert len(stage.upstream.requests) <= 34


def files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def abandon(stage: Stage, phase: str) -> None:
    """Begin a request and leave in the named phase."""
    raw = request(port_of(stage), "/v1/messages", BODIES["anthropic_messages"]("a"))
    reader, writer = await asyncio.open_connection("127.0.0.1", port_of(stage))
    try:
        match phase:
            case "connect":
                pass
            case "head":
                writer.write(raw[:40])
            case "body":
                writer.write(raw[:-5])
            case "whole":
                writer.write(raw)
            case "begun":
                writer.write(raw)
                await reader.readuntil(b"data: 1\n\n")
            case _:
                writer.write(raw)
                await reader.readuntil(b"0\r\n\r\n")
        await writer.drain()
    finally:
        writer.transport.abort()


PHASES = ("connect", "head", "body", "whole", "begun", "end")


async def test_a_thousand_clients_that_leave_leave_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """200 in each phase (connected, head, body, before the first byte, mid-stream, at the end):
    afterwards no task, connection or file is left, and the node serves."""
    monkeypatch.setattr("proxy.connector.KEEP", 0.2)
    stream = Reply.stream([b"data: 1\n\n", 0.005, b"data: 2\n\n"])
    async with staged(lambda asked: stream) as stage:
        await asyncio.gather(*(abandon(stage, phase) for phase in PHASES))
        await asyncio.sleep(0.5)
        tasks, open_files = len(asyncio.all_tasks()), files()
        for _ in range(20):
            await asyncio.gather(*(abandon(stage, phase) for phase in PHASES for _ in range(10)))
        await until(lambda: len(asyncio.all_tasks()) <= tasks, 4)
        await until(lambda: files() <= open_files, 4)
        assert (await stage.post("/healthz", b"", method="GET")).status == 200
        assert "internal-error" not in stage.log.getvalue()


OURS = (Connection, web.BaseRequest, Line, Case, Wire, Response, StreamReader)
"""What a request is made of; one of them that stays keeps the body as well."""


def alive() -> Counter[str]:
    """How many there are of each, whether or not anybody could still reach them."""
    return Counter(type(each).__name__ for each in gc.get_objects() if isinstance(each, OURS))


@pytest.mark.parametrize("phase", PHASES)
async def test_who_leaves_is_forgotten_without_the_collector(
    phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No ring keeps a request: where many leave, their bodies would pile up until the collector
    comes by, which may be fifty thousand objects later."""
    monkeypatch.setattr("proxy.connector.KEEP", 0.2)  # such a connection knows its last answer
    stream = Reply.stream([b"data: 1\n\n", 0.005, b"data: 2\n\n"])
    async with staged(lambda asked: stream) as stage:
        await abandon(stage, phase)
        await asyncio.sleep(0.1)
        gc.collect()
        before = alive()
        gc.disable()
        try:
            for _ in range(5):
                await abandon(stage, phase)
            await until(lambda: not alive() - before, 3)
        finally:
            gc.enable()
