"""A client that costs little itself: one connection, one request after the other, raw sockets."""

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_STAMP = re.compile(rb"at=(\d+);")
_NOTICE = re.compile(rb"x-transom-notice: *([\w-]+)")
# Notices of answers that came all the same, from the upstream or from home.
_USUAL = (b"adopted", b"egress-blocked", b"home-only")
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3})")


class Connection(asyncio.Protocol):
    """Keeps its connection alive; `ask` sends one request and waits for the whole answer."""

    def __init__(self) -> None:
        self.delays: list[int] = []  # ns between an event's leaving upstream and its coming here
        self.first = 0.0
        self.heard = 0  # bytes of answers, heads and all
        self._answer: asyncio.Future[None] | None = None
        self._seen = bytearray()
        self._left = -1
        self._chunked = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the answer was cut short"))

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        self.first = self.first or now / 1e9
        self.delays += [now - int(stamp) for stamp in _STAMP.findall(data)]
        self.heard += len(data)
        self._seen += data
        if self._left < 0 and not self._chunked:
            self._begin()
        if self._chunked:
            done = self._seen.endswith(b"0\r\n\r\n")
        else:
            done = 0 <= self._left <= len(self._seen)
        if done and self._answer is not None and not self._answer.done():
            self._answer.set_result(None)

    def _begin(self) -> None:
        end = self._seen.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._seen[:end]).lower()
        status, notice = _STATUS.match(bytes(self._seen[:end])), _NOTICE.search(head)
        if status is None or status[1] != b"200" or (notice and notice[1] not in _USUAL):
            raise RuntimeError(f"unexpected answer: {bytes(self._seen[:600])!r}")
        self._chunked = b"transfer-encoding: chunked" in head
        if not self._chunked:
            length = re.search(rb"content-length: *(\d+)", head)
            self._left = end + 4 + int(length[1] if length else 0)

    async def ask(self, request: Sequence[bytes]) -> float:
        """Seconds from the first byte sent to the last byte of the answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self._seen.clear()
        self._left, self._chunked, self.first = -1, False, 0.0
        begun = time.monotonic()
        self.transport.writelines(request)
        # Not `wait_for`, which keeps for itself that its task was cancelled if an answer is there.
        async with asyncio.timeout(30):
            await self._answer
        return time.monotonic() - begun


async def connect(url: str) -> Connection:
    """A connection to `http://HOST:PORT`."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    _, connection = await asyncio.get_running_loop().create_connection(Connection, host, int(port))
    return connection


Request = Callable[[], Sequence[bytes]]


async def latencies(url: str, request: Request, seconds: float, least: int) -> list[float]:
    """Times of requests made one after the other for `seconds`, or at least `least` of them."""
    return [whole for whole, _ in await _in_turn(url, request, seconds, least)]


async def first_bytes(url: str, request: Request, seconds: float, least: int) -> list[float]:
    """The same, up to the first byte of each answer."""
    return [first for _, first in await _in_turn(url, request, seconds, least)]


async def _in_turn(
    url: str, request: Request, seconds: float, least: int
) -> list[tuple[float, float]]:
    connection = await connect(url)
    times: list[tuple[float, float]] = []
    end = time.monotonic() + seconds
    while len(times) < least or time.monotonic() < end:
        begun = time.monotonic()
        whole = await connection.ask(request())
        times.append((whole, connection.first - begun))
    connection.transport.close()
    return times


async def load(url: str, request: Request, seconds: float, clients: int) -> tuple[int, float]:
    """Requests answered, and in how many seconds, by `clients` connections that never pause."""
    connections = await asyncio.gather(*(connect(url) for _ in range(clients)))
    begun = time.monotonic()

    async def loop(connection: Connection) -> int:
        count = 0
        while time.monotonic() - begun < seconds:
            await connection.ask(request())
            count += 1
        connection.transport.close()
        return count

    counts = await asyncio.gather(*map(loop, connections))
    return sum(counts), time.monotonic() - begun


@dataclass(frozen=True)
class Streams:
    """What parallel streams were like. Lists have one entry per stream, `delays` one per event;
    all in seconds. `heard`: bytes of all of them."""

    whole: list[float]
    first: list[float]
    delays: list[float]
    heard: int

    @property
    def after(self) -> list[float]:
        """From the first byte to the last."""
        return [whole - first for whole, first in zip(self.whole, self.first, strict=True)]


async def streams(url: str, request: Request, clients: int) -> Streams:
    """`clients` requests at once, each over a connection of its own that is there already."""
    connections = await asyncio.gather(*(connect(url) for _ in range(clients)))

    async def one(connection: Connection) -> tuple[float, float]:
        begun = time.monotonic()
        whole = await connection.ask(request())
        return whole, connection.first - begun

    try:
        took = await asyncio.gather(*map(one, connections))
    finally:
        for each in connections:
            each.transport.close()
    return Streams(
        [whole for whole, _ in took],
        [first for _, first in took],
        [ns / 1e9 for each in connections for ns in each.delays],
        sum(each.heard for each in connections),
    )
