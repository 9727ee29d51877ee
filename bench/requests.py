"""Whole requests: how long one takes, and how many there are in a second. Four sizes, every way."""

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from bench import bodies, client, figures
from bench.plan import CLIENTS, LEAST, PUSH, SIZES, SLICE, Plan
from bench.processes import Server

Key = tuple[str, int]
"""A way and a size in bytes."""


def _lists() -> dict[Key, list[float]]:
    return defaultdict(list)


@dataclass
class Requests:
    """Figures of whole requests; lists run over rounds, `times` over requests."""

    p50: dict[Key, list[float]] = field(default_factory=_lists)
    times: dict[Key, list[float]] = field(default_factory=_lists)
    rate: dict[Key, list[float]] = field(default_factory=_lists)
    cpu: dict[Key, list[float]] = field(default_factory=_lists)
    calibration: list[float] = field(default_factory=list)


async def measure(servers: Mapping[str, Server], plan: Plan) -> Requests:
    """All ways in turn, size after size."""
    found = Requests()
    for size in SIZES:
        history = bodies.history(size)
        asked = {way: fresh(one, history[-1]) for way, one in servers.items()}
        if "guard" in servers:
            figures.say(f"{_name(size)}: the guard sees the conversation grow")
            await grow(servers["guard"], history)
        figures.say(f"{_name(size)}: one request at a time")
        for turn in range(plan.rounds):
            for way in plan.turned(turn):
                await _latency(servers[way], asked[way], found, (way, size))
        found.calibration.append(figures.calibration())
        figures.say(f"{_name(size)}: {CLIENTS} connections without a pause")
        for turn in range(plan.loads):
            for way in plan.turned(turn):
                await _load(servers[way], asked[way], found, (way, size))
        found.calibration.append(figures.calibration())
    return found


def fresh(one: Server, body: bytes, stream: str = "") -> Iterator[Sequence[bytes]]:
    """Endless requests for one server, each with a new last result."""
    return bodies.fresh(body, one.url.removeprefix("http://"), stream)


async def grow(one: Server, history: Sequence[bytes]) -> None:
    """Every request of a conversation, so that the last one is known but for its last result."""
    for body in history:
        await client.latencies(one.url, partial(next, fresh(one, body)), 0, 1)


async def _latency(
    one: Server, asked: Iterator[Sequence[bytes]], found: Requests, key: Key
) -> None:
    times = await client.latencies(one.url, partial(next, asked), SLICE, LEAST)
    found.times[key] += times
    found.p50[key].append(statistics.median(times))


async def _load(one: Server, asked: Iterator[Sequence[bytes]], found: Requests, key: Key) -> None:
    before = one.cpu()
    answered, seconds = await client.load(one.url, partial(next, asked), PUSH, CLIENTS)
    found.rate[key].append(answered / seconds)
    found.cpu[key].append((one.cpu() - before) / answered)


def latency_table(found: Requests, plan: Plan) -> str:
    rows = []
    for size in SIZES:
        base, direct = found.p50["baseline", size], found.p50["direct", size]
        for way in plan.ways:
            p50, times = found.p50[way, size], found.times[way, size]
            added = statistics.median(a - b for a, b in zip(p50, direct, strict=True))
            rows.append(
                (
                    f"{_name(size)}, {way}",
                    f"{statistics.median(times) * 1000:.2f}",
                    f"{figures.quantile(times, 0.99) * 1000:.2f}",
                    f"{added * 1000:.2f}",
                    f"{figures.ratio(p50, base):.2f}",
                )
            )
    return figures.table(("body, way", "p50 ms", "p99 ms", "added ms", "p50 : baseline"), rows)


def load_table(found: Requests, plan: Plan) -> str:
    rows = []
    for size in SIZES:
        for way in plan.ways:
            rate, cpu = found.rate[way, size], found.cpu[way, size]
            base = found.rate["baseline", size], found.cpu["baseline", size]
            rows.append(
                (
                    f"{_name(size)}, {way}",
                    f"{statistics.median(rate):.0f}",
                    f"{figures.ratio(rate, base[0]):.2f}",
                    "" if way == "direct" else f"{statistics.median(cpu) * 1000:.2f}",
                    "" if way == "direct" else f"{figures.ratio(cpu, base[1]):.2f}",
                )
            )
    head = ("body, way", "requests/s", "rate : baseline", "CPU ms/request", "CPU : baseline")
    return figures.table(head, rows)


def _name(size: int) -> str:
    return f"{size // 1000} kB" if size < 1_000_000 else f"{size // 1_000_000} MB"
