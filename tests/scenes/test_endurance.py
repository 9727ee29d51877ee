"""A node in its own process under much of the same: memory, files and connections stay where they
were. Figures come from `python -m bench.endurance`; here only leaks and slopes are asserted."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from backports import zstd

from proxy.demo.upstream import Fault, Framing, Recorded, Reply, ScriptedUpstream, Step
from tests.scenes.bodies import BODIES
from tests.scenes.nodes import Served, served, upstream
from tests.scenes.staging import echo
from tests.scenes.talk import Broken, Talk, request

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="memory is read from /proc"
)
MB = 1_000_000


@dataclass
class House:
    node: Served
    vendor: ScriptedUpstream

    @property
    def port(self) -> int:
        return int(self.node.url.rpartition(":")[2])

    def memory(self, name: str = "VmRSS") -> int:
        """Bytes; `VmHWM` for the most there ever was."""
        text = Path(f"/proc/{self.node.process.pid}/status").read_text()
        (line,) = [line for line in text.splitlines() if line.startswith(name)]
        return int(line.split()[1]) * 1024

    def files(self) -> int:
        """Open files, but for those of the state, which are opened when they are needed."""
        folder = Path(f"/proc/{self.node.process.pid}/fd")
        return sum("transom.db" not in _led(file) for file in folder.iterdir())

    async def settled(self, files: int) -> None:
        """Until no more files are open than there were. `TimeoutError` after some seconds."""
        async with asyncio.timeout(10):
            while self.files() > files:
                await asyncio.sleep(0.05)

    async def rested(self) -> int:
        """The memory once it has not grown for half a second. `TimeoutError` if it never does."""
        async with asyncio.timeout(20):
            before, now = 0, self.memory()
            while now > before:
                await asyncio.sleep(0.5)
                before, now = now, self.memory()
        return now

    def log(self) -> str:
        return (self.node.home / "stderr").read_text()


def _led(file: Path) -> str:
    try:
        return str(file.readlink())
    except FileNotFoundError:  # closed meanwhile
        return "transom.db"


@asynccontextmanager
async def house(home: Path, config: str = "") -> AsyncIterator[House]:
    async with ScriptedUpstream(echo) as vendor:
        with served(home, upstream(vendor.url) + config) as node:
            yield House(node, vendor)


def slope(samples: Sequence[int]) -> float:
    """Growth per sample, by least squares."""
    middle = (len(samples) - 1) / 2
    mean = sum(samples) / len(samples)
    over = sum((x - middle) * (y - mean) for x, y in enumerate(samples))
    return over / sum((x - middle) ** 2 for x in range(len(samples)))


LINE = "A plain line of text, of some length, and no secret in it.\n"


async def memories(at: House, bodies: Iterator[dict[str, Any]]) -> list[int]:
    """Memory after each of the bodies."""
    samples = []
    async with Talk(at.port) as talk:
        for body in bodies:
            assert (await talk.ask("/v1/messages", body)).status == 200
            at.vendor.requests.clear()
            at.vendor.connections[-1].forget()
            samples.append(at.memory())
    return samples


async def test_large_bodies_leave_no_memory_behind(tmp_path: Path) -> None:
    """Texts of 1 MB, each new: after the first ones memory stays where it is. So many of them, as
    it goes up and down by 3 MB at once, which is no growth."""
    texts = (f"{number}\n" + LINE * (MB // len(LINE)) for number in range(130))
    bodies = ({"model": "m", "messages": [{"role": "user", "content": t}]} for t in texts)
    async with house(tmp_path) as at:
        samples = await memories(at, bodies)
        assert slope(samples[20:]) < 0.1 * MB
        assert at.memory("VmHWM") < 120 * MB


async def test_what_is_remembered_of_large_results_is_bounded(tmp_path: Path) -> None:
    """Results of 1 MB, each new and framed: what is kept of them for the next turn stays within
    its bounds, and so does the whole."""
    texts = (f"{number}\n" + LINE * (MB // len(LINE)) for number in range(80))
    async with house(tmp_path) as at:
        await memories(at, map(BODIES["anthropic_messages"], texts))
        assert at.memory("VmHWM") < 200 * MB


def bombs() -> Iterator[tuple[str, bytes]]:
    zeroes = bytes(80 * MB)
    yield "gzip", gzip.compress(zeroes, 1)
    yield "gzip", gzip.compress(bytes(MB), 1) * 80
    yield "deflate", zlib.compress(zeroes, 1)
    yield "zstd", zstd.compress(zeroes)
    yield "zstd", zstd.compress(bytes(MB)) * 80


async def test_bombs_cost_no_more_than_the_limit(tmp_path: Path) -> None:
    """Bodies of 80 MB in a few kB: the most memory is that of one body at its limit, and fifteen
    of them cost no more than five."""
    many = list(bombs())
    async with house(tmp_path) as at, Talk(at.port) as talk:
        peaks = []
        for _ in range(3):
            for coding, raw in many:
                heard = await talk.ask("/v1/messages", raw, {"content-encoding": coding})
                assert heard.headers["x-transom-notice"] == "body-too-large"
            peaks.append(at.memory("VmHWM"))
        assert peaks[-1] < 300 * MB
        assert peaks[-1] - peaks[0] < 10 * MB
        assert at.vendor.accepted == 0


async def test_a_client_that_never_reads_costs_no_memory(tmp_path: Path) -> None:
    """An answer without end fills the sockets and then waits; after `timeouts.idle` the client is
    dropped and the upstream left."""

    def endless(asked: Recorded) -> Reply:
        def steps() -> Iterator[Step]:
            while True:
                yield b"data: " + b"x" * 60_000 + b"\n\n"

        return Reply.stream(steps())

    async with house(tmp_path, "\n[timeouts]\nidle = '1s'") as at:
        at.vendor.script = endless
        before, files = at.memory(), at.files()
        raw = request(at.port, "/v1/messages", b'{"model":"m"}')
        writers = []
        for _ in range(10):
            _, writer = await asyncio.open_connection("127.0.0.1", at.port, limit=1)
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            writer.write(raw)
            writers.append(writer)
        await at.vendor.arrived(10)
        await asyncio.sleep(0.7)
        assert at.memory() - before < 30 * MB
        async with asyncio.timeout(5):
            for connection in at.vendor.connections:
                await connection.closed.wait()
        await at.settled(files)
        for writer in writers:
            writer.transport.abort()


async def test_clients_that_leave_without_reading_are_forgotten(tmp_path: Path) -> None:
    """What was read for them goes with them, at once and not when the collector comes by: the
    fourth forty cost what the second cost."""

    def endless(asked: Recorded) -> Reply:
        def steps() -> Iterator[Step]:
            while True:
                yield b"data: " + b"x" * 60_000 + b"\n\n"

        return Reply.stream(steps())

    async with house(tmp_path) as at:
        at.vendor.script = endless
        files, held = at.files(), []
        raw = request(at.port, "/v1/messages", b'{"model":"m"}')
        for turn in range(1, 5):
            writers = []
            for _ in range(40):
                _, writer = await asyncio.open_connection("127.0.0.1", at.port, limit=1)
                writer.transport.pause_reading()  # type: ignore[attr-defined]
                writer.write(raw)
                writers.append(writer)
            await at.vendor.arrived(40 * turn)
            held.append(await at.rested())
            for writer in writers:
                writer.transport.abort()
            await at.settled(files)
        assert held[-1] - held[1] < 10 * MB, held


async def test_a_flood_ahead_of_its_turn_costs_no_memory(tmp_path: Path) -> None:
    """Requests without end on one connection, behind one that is not answered: 40 MB of them are
    thrown away, not kept."""
    async with house(tmp_path) as at:
        at.vendor.script = lambda asked: Reply(chunks=(asyncio.Event(),), framing=Framing.RAW)
        before = at.memory()
        async with Talk(at.port) as talk:
            one = request(talk.port, "/v1/messages", b'{"model":"m"}')
            await talk.send(one)
            await at.vendor.arrived(1)
            async with asyncio.timeout(20):
                for _ in range(40):
                    await talk.send(one * (MB // len(one)))
            assert at.memory() - before < 15 * MB


async def test_bodies_that_never_end_are_let_go(tmp_path: Path) -> None:
    """Clients that begin a body and leave: nothing of 60 MB stays, and no connection."""
    async with house(tmp_path) as at:
        files, before = at.files(), at.memory()
        for _ in range(12):
            async with Talk(at.port) as talk:
                raw = request(at.port, "/v1/messages", b"{" + b" " * 5 * MB + b"}")
                await talk.send(raw[:-1])
        await at.settled(files)
        assert at.memory() - before < 30 * MB
        assert at.vendor.accepted == 0
        assert "internal-error" not in at.log()


SHORT = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    b"9\r\ndata: 1\n\n\r\n0\r\n\r\n"
)


async def test_answers_that_are_reset_at_every_byte_leave_nothing(tmp_path: Path) -> None:
    """Over and over, at every byte of a short stream: no file more than before, and no memory that
    grows with them. What a client is told is for `test_hostile_upstreams.py`."""
    async with house(tmp_path) as at, Talk(at.port) as talk:
        await talk.ask("/v1/messages", b'{"model":"m"}')
        files, samples = at.files(), []
        for end in [*range(len(SHORT))] * 4:
            at.vendor.script = lambda asked, end=end: Reply(
                chunks=(SHORT[:end], Fault.RESET), framing=Framing.RAW
            )
            with suppress(Broken):
                assert (await talk.ask("/v1/messages", b'{"model":"m"}')).status in (200, 503)
            samples.append(at.memory())
        await at.settled(files)
        assert len(at.vendor.requests) == 1 + 4 * len(SHORT)
        assert slope(samples[len(SHORT) :]) < 0.02 * MB
        assert "internal-error" not in at.log()


async def test_many_streams_at_once(tmp_path: Path) -> None:
    """300 at a time, each of them whole, and no file more than before."""
    async with house(tmp_path) as at:
        begun = asyncio.Event()
        reply = Reply.stream(
            [b"data: 1\n\n", begun, b"data: 2\n\n"], headers=(("connection", "close"),)
        )
        at.vendor.script = lambda asked: reply
        files = at.files()
        talks = [Talk(at.port) for _ in range(300)]
        asking = [
            asyncio.create_task(talk.ask("/v1/messages", b'{"model":"m","stream":true}'))
            for talk in talks
        ]
        await at.vendor.arrived(300, 15)
        begun.set()
        for heard in await asyncio.gather(*asking):
            assert (heard.status, heard.body) == (200, b"data: 1\n\ndata: 2\n\n")
        for talk in talks:
            talk.leave()
        await at.settled(files)
