"""Clients and upstreams without manners, for `bench.endurance`: some that never read, some that
send one byte a second, and an upstream that resets at every byte of its answer."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from bench import bodies, figures, nodes
from bench.processes import Server, server
from bench.requests import fresh

DEAF, DEAF_EVENTS, DEAF_SECONDS = 50, 200_000, 4.0  # clients, events for each, how long they stay
DEAF_TIMES = 10  # half of them for memory that is taken once and used again
SLOW, SLOW_BYTES = 20, 25  # clients of each kind, bytes of a body sent one a second
SETTLE = 8.0  # seconds; connections to upstreams are kept for 4
PATIENCE = 60.0  # seconds that one of them may take in all

Row = tuple[object, ...]

_MESSAGE = b'{"id":"msg_1","type":"message","content":[{"type":"text","text":"A."}]}'
_EVENT = b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
ANSWERS = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
    % (len(_MESSAGE), _MESSAGE),
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    b"%x\r\n%b\r\n0\r\n\r\n" % (len(_EVENT), _EVENT),
)
"""A whole one and a stream. `ROUNDS` times each is cut at every byte."""

ROUNDS = 5


async def never_reading(one: Server) -> list[Row]:
    """Answers of some 30 MB each that nobody takes. What they leave is measured while the next ones
    stay: how much of what was freed the allocator gives back in between is chance."""
    asked = fresh(one, bodies.history(2_000, stream=True)[-1], f"{DEAF_EVENTS} 0")
    before, held = now(one), []
    for turn in range(DEAF_TIMES):
        figures.say(f"{DEAF} clients that never read, time {turn + 1} of {DEAF_TIMES}")
        writers = [await _deaf(one, b"".join(next(asked))) for _ in range(DEAF)]
        await asyncio.sleep(DEAF_SECONDS)
        held.append(one.memory())
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(SETTLE)
    title, half = f"{DEAF} clients that never read", DEAF_TIMES // 2
    again = max(held[half:]) - max(held[:half])
    _, files, threads = grown(one, before).split(", ")
    return [
        (f"{title}, while they stay", f"{(held[0] - before[0]) / DEAF:+.2f} MB each", "bounded"),
        (f"{title}, at most, times {half + 1} to {DEAF_TIMES}", f"{max(held[half:]):.0f} MB", ""),
        (f"{title}, more than times 1 to {half}", f"{again:+.1f} MB", "nothing"),
        (f"{title}, afterwards", f"{files}, {threads}", "nothing"),
    ]


async def _deaf(one: Server, raw: bytes) -> asyncio.StreamWriter:
    _, writer = await asyncio.open_connection(*_address(one), limit=1)
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    writer.write(raw)
    return writer


async def one_byte_a_second(one: Server) -> list[Row]:
    """A body sent so is waited for, within `timeouts.idle`; a head is not, within its own limit."""
    figures.say(f"{SLOW} clients that send one byte a second, of a body or of a head")
    raw = b"".join(next(fresh(one, bodies.history(2_000)[-1])))
    before = now(one)
    bodies_sent = [_dripped(one, raw, len(raw) - SLOW_BYTES) for _ in range(SLOW)]
    heads_sent = [_dripped(one, raw, 0) for _ in range(SLOW)]
    told = await asyncio.gather(*bodies_sent, *heads_sent)
    served = sum(answer.startswith(b"HTTP/1.1 200") for answer in told[:SLOW])
    refused = sum(b"[door-refused]" in answer for answer in told[SLOW:])
    await asyncio.sleep(SETTLE)
    title = f"{SLOW} clients that send one byte a second"
    return [
        (f"{title} of a body of {SLOW_BYTES} more", f"{served} served", f"{SLOW}"),
        (f"{title} of a head", f"{refused} refused after its limit of 30 s", f"{SLOW}"),
        (f"{title}, afterwards", grown(one, before), "nothing"),
    ]


async def _dripped(one: Server, raw: bytes, at_once: int) -> bytes:
    """The answer to `raw`, of which all but the first bytes arrive one a second."""
    reader, writer = await asyncio.open_connection(*_address(one))
    answer = asyncio.create_task(reader.read(4096))
    try:
        writer.write(raw[:at_once])
        for byte in raw[at_once:]:
            if answer.done():
                break
            writer.write(bytes([byte]))
            await asyncio.wait([answer], timeout=1)
        return await asyncio.wait_for(answer, PATIENCE)
    except (ConnectionError, TimeoutError):
        return b""
    finally:
        answer.cancel()
        writer.transport.abort()


async def resets(folder: Path) -> list[Row]:
    """At every byte of a short answer, over and over: never taken for whole, and nothing stays."""
    figures.say("an upstream that resets at every byte of its answer")
    home = folder / "resets"
    home.mkdir()
    async with _resetting() as url:
        with server("guard", nodes.serve("guard", url, home), home) as one:
            await _all_cuts(one)  # memory that is used again
            before = now(one)
            looks = await _all_cuts(one)
            title = f"{len(looks)} answers cut by a reset, at every byte"
            return [
                (f"{title}, taken for whole", sum(looks), "0"),
                (f"{title}, afterwards", grown(one, before), "nothing"),
            ]


async def _all_cuts(one: Server) -> list[bool]:
    """Every answer at every byte, `ROUNDS` times: did it look whole?"""
    looks = [
        await _cut(one, number, end)
        for _ in range(ROUNDS)
        for number, answer in enumerate(ANSWERS)
        for end in range(len(answer))
    ]
    await asyncio.sleep(SETTLE)
    return looks


async def _cut(one: Server, answer: int, end: int) -> bool:
    """Whether the answer that was cut behind `end` bytes looks whole to a client."""
    body = b'{"model":"bench","max_tokens":1,"messages":[{"role":"user","content":"a"}]}'
    head = (
        f"POST /v1/messages HTTP/1.1\r\nhost: {one.url.removeprefix('http://')}\r\n"
        f"content-type: application/json\r\nconnection: close\r\nbench-cut: {answer} {end}\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection(*_address(one))
    told = b""
    try:
        writer.write(head.encode() + body)
        with suppress(ConnectionError):
            while piece := await asyncio.wait_for(reader.read(65536), PATIENCE):
                told += piece
    finally:
        writer.transport.abort()
    return looks_whole(told)


def looks_whole(told: bytes) -> bool:
    """A 200 with all the bytes that it promised, or a stream that ends, and not with an error."""
    head, _, rest = told.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        return False
    if b"chunked" in head.lower():
        return rest.endswith(b"0\r\n\r\n") and b"event: error" not in rest
    return rest == _MESSAGE


class _Resetting(asyncio.Protocol):
    """Answers with so many bytes of one of `ANSWERS` and resets the connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._seen = b""

    def data_received(self, data: bytes) -> None:
        self._seen += data
        if not self._seen.endswith(b"]}") or b"bench-cut: " not in self._seen:
            return
        words = self._seen.partition(b"bench-cut: ")[2].partition(b"\r\n")[0].split()
        answer, end = map(int, words)
        self._transport.write(ANSWERS[answer][:end])
        self._transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        # What was written must have been read, or the reset would take it back.
        asyncio.get_running_loop().call_later(0.002, self._transport.abort)


@asynccontextmanager
async def _resetting() -> AsyncIterator[str]:
    listening = await asyncio.get_running_loop().create_server(_Resetting, "127.0.0.1", 0)
    async with listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"


def _address(one: Server) -> tuple[str, int]:
    host, _, port = one.url.removeprefix("http://").rpartition(":")
    return host, int(port)


def now(one: Server) -> tuple[float, int, int]:
    """Memory in MB, open files, threads."""
    return one.memory(), one.files(), one.threads()


def grown(one: Server, before: Sequence[float]) -> str:
    """What there is more of than `before`."""
    memory, files, threads = (now - then for now, then in zip(now(one), before, strict=True))
    return f"{memory:+.1f} MB, {files:+.0f} files, {threads:+.0f} threads"
