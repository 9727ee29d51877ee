"""`python -m bench.history`: what a history costs that nobody has seen. Some 10 seconds; writes its
chapter of `bench/RESULTS.md`.

*All new*: every request is another conversation, of which nothing is known. *Held*: how long others
wait for a node that reads such a body of 2 MB, in times that hashing 16 MB takes.
"""

import asyncio
import hashlib
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from itertools import count
from pathlib import Path

from bench import bodies, client, figures, nodes, results
from bench.processes import Server, server

SIZES = {50_000: 6.0, 500_000: 16.0}
"""Bytes of bodies that are all new → how many times the p50 of the bare proxy may be added."""
ROUNDS, AT_ONCE = 10, 4
HOLDERS, HELD, HASHED, HELD_BAR = 12, 2_000_000, 16_000_000, 1.0

Row = tuple[object, ...]


def main() -> None:
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="transom-history-") as name:
        new, held = asyncio.run(_served(Path(name)))
    parts = [
        results.origin("python -m bench.history", time.monotonic() - begun),
        figures.table(("all new", "baseline ms", "guard ms", "added : added", "bar"), new),
        figures.table(("while a node reads 2 MB that are new", "ms", ": hash", "bar"), held),
    ]
    text = "\n".join(parts)
    results.publish("Histories", text)
    print(text)


async def _served(folder: Path) -> tuple[list[Row], list[Row]]:
    with ExitStack() as stack:
        upstream = stack.enter_context(server("direct", ["bench.upstream"], folder))
        commands = {
            "baseline": ["bench.baseline", upstream.url],
            "guard": nodes.serve("guard", upstream.url, folder),
        }
        running = {n: stack.enter_context(server(n, c, folder)) for n, c in commands.items()}
        ways = {"direct": upstream, **running}
        new = [await _all_new(ways, size, bar) for size, bar in SIZES.items()]
        return new, [await _held(ways["guard"])]


def all_new(size: int) -> Iterator[bytes]:
    """Endless bodies of about `size` bytes of which no two have a message in common."""
    parts = bodies.history(size)[-1].replace(b"toolu_", b"\0").split(b'"content":"')
    for number in count():
        mark = b"%08d" % number
        yield (b'"content":"%b ' % mark).join(parts).replace(b"\0", b"toolu_%b_" % mark)


def _request(body: bytes) -> Sequence[bytes]:
    head = (
        "POST /v1/messages HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"anthropic-version: 2023-06-01\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode(), body


async def _all_new(ways: dict[str, Server], size: int, bar: float) -> Row:
    figures.say(f"all new, {size // 1000} kB")
    made = all_new(size)
    times: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(ROUNDS):
        order = [*ways][turn % len(ways) :] + [*ways][: turn % len(ways)]
        for way in order:
            asked = iter([_request(next(made)) for _ in range(AT_ONCE)])
            taken = await client.latencies(ways[way].url, lambda: next(asked), 0, AT_ONCE)  # noqa: B023 - used at once
            times[way].append(statistics.median(taken))
    added = {
        way: [a - b for a, b in zip(times[way], times["direct"], strict=True)]
        for way in ("baseline", "guard")
    }
    ratio = figures.ratio(added["guard"], added["baseline"])
    shown = [f"{statistics.median(times[way]) * 1000:.2f}" for way in added]
    return (f"{size // 1000} kB", *shown, f"{ratio:.2f}", figures.judged(ratio, at_most=bar))


async def _held(node: Server) -> Row:
    """The longest wait of another client while a large new body is read, body by body."""
    figures.say("who else waits")
    made, ratios, worst = all_new(HELD), list[float](), list[float]()
    for _ in range(HOLDERS):
        request = _request(next(made))
        hashed = _timed(lambda: hashlib.blake2b(bytes(HASHED)).digest())
        async with _waits(node) as waited:
            await client.latencies(node.url, lambda: request, 0, 1)  # noqa: B023 - used at once
        worst.append(max(waited))
        ratios.append(worst[-1] / hashed)
    ratio = statistics.median(ratios)
    longest = f"longest wait of others, {HOLDERS} bodies"
    bar = figures.judged(ratio, at_most=HELD_BAR)
    return (longest, f"{statistics.median(worst) * 1000:.1f}", f"{ratio:.2f}", bar)


@asynccontextmanager
async def _waits(node: Server) -> AsyncIterator[list[float]]:
    """Seconds that a client waits each time that it asks `node` how it is, one after the other."""
    waits: list[float] = []
    connection = await client.connect(node.url)

    async def ask() -> None:
        while True:
            waits.append(
                await connection.ask((b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",))
            )

    asking = asyncio.get_running_loop().create_task(ask())
    await asyncio.sleep(0.02)
    waits.clear()
    try:
        yield waits
        await asyncio.sleep(0.02)
    finally:
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
        connection.transport.close()


def _timed(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


if __name__ == "__main__":
    main()
