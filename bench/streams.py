"""Streams: the first byte of a short one, bursts as fast as they go, and paced ones beside each
other. Every way, in turn."""

import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from bench import bodies, client, figures
from bench.plan import SLICE, Plan
from bench.processes import Server
from bench.requests import fresh

SHORT_ROUNDS = 12
BURSTS, BURST_ROUNDS, BURST_EVENTS = 16, 4, 5000
PACED = ((16, 10, 9), (200, 20, 3))
"""How many at once, milliseconds between their events, rounds."""
PACED_EVENTS = 100

BARS = {"first": 1.3, "burst": 0.8}
"""For the relay, against the baseline: at most, at least."""


def _lists() -> dict[str, list[float]]:
    return defaultdict(list)


@dataclass
class Paced:
    """Figures of paced streams by way; lists run over rounds, `delays` over events."""

    first: dict[str, list[float]] = field(default_factory=_lists)
    whole: dict[str, list[float]] = field(default_factory=_lists)
    cpu: dict[str, list[float]] = field(default_factory=_lists)
    delays: dict[str, list[float]] = field(default_factory=_lists)


@dataclass
class Streams:
    """Figures of streams by way; lists run over rounds."""

    short: dict[str, list[float]] = field(default_factory=_lists)
    burst: dict[str, list[float]] = field(default_factory=_lists)
    rate: dict[str, list[float]] = field(default_factory=_lists)
    paced: dict[int, Paced] = field(default_factory=lambda: defaultdict(Paced))


async def measure(servers: Mapping[str, Server], plan: Plan) -> Streams:
    """All ways in turn, one kind of stream after the other."""
    found = Streams()
    body = bodies.history(2_000, stream=True)[-1]
    figures.say("streams of one event, one at a time")
    asked = {way: fresh(servers[way], body, "1 1") for way in plan.ways}
    for turn in range(SHORT_ROUNDS):
        for way in plan.turned(turn):
            new = partial(next, asked[way])
            times = await client.first_bytes(servers[way].url, new, SLICE, 8)
            found.short[way].append(statistics.median(times))
    figures.say(f"{BURSTS} streams of {BURST_EVENTS} events as fast as they go")
    asked = {way: fresh(servers[way], body, f"{BURST_EVENTS} 0") for way in plan.ways}
    for turn in range(BURST_ROUNDS):
        for way in plan.turned(turn):
            await burst(servers[way], asked[way], found)
    for count, pace, rounds in PACED:
        figures.say(f"{count} streams of {PACED_EVENTS} events at {pace} ms")
        asked = {way: fresh(servers[way], body, f"{PACED_EVENTS} {pace}") for way in plan.ways}
        for turn in range(rounds):
            for way in plan.turned(turn):
                await connected(servers[way], count)
                await paced(servers[way], asked[way], count, found.paced[count])
    return found


async def connected(one: Server, count: int) -> None:
    """As many short streams before those that are measured, so that every way has its connections
    to the upstream, as the clients have theirs. How long an idle one is kept is not what is
    compared: it is 4 seconds here and 15 in the baseline, and rounds are about as far apart."""
    body = bodies.history(2_000, stream=True)[-1]
    await client.streams(one.url, partial(next, fresh(one, body, "1 1")), count)


async def burst(one: Server, asked: Iterator[Sequence[bytes]], found: Streams) -> None:
    """One round of `BURSTS` streams: MB of answers in a second of this server's CPU, and in one of
    the clock."""
    before = one.cpu()
    took = await client.streams(one.url, partial(next, asked), BURSTS)
    megabytes = took.heard / 1e6
    found.burst[one.name].append(megabytes / (one.cpu() - before))
    found.rate[one.name].append(megabytes / max(took.whole))


async def paced(one: Server, asked: Iterator[Sequence[bytes]], count: int, found: Paced) -> None:
    """One round of `count` streams beside each other."""
    before = one.cpu()
    took = await client.streams(one.url, partial(next, asked), count)
    found.first[one.name].append(statistics.median(took.first))
    found.whole[one.name].append(statistics.median(took.whole))
    found.cpu[one.name].append((one.cpu() - before) / len(took.delays))
    found.delays[one.name] += took.delays


def short_table(found: Streams, plan: Plan) -> str:
    rows = [
        (
            way,
            f"{statistics.median(found.short[way]) * 1000:.2f}",
            f"{(ratio := figures.ratio(found.short[way], found.short['baseline'])):.2f}",
            figures.judged(ratio, at_most=BARS["first"]) if way == "relay" else "",
        )
        for way in plan.ways
    ]
    return figures.table(("way", "first byte p50 ms", ": baseline", "bar"), rows)


def burst_table(found: Streams, plan: Plan) -> str:
    rows = []
    for way in plan.ways:
        core, rate = found.burst[way], found.rate[way]
        ratio = figures.ratio(core, found.burst["baseline"])
        rows.append(
            (
                way,
                f"{statistics.median(core):.0f}",
                f"{ratio:.2f}",
                figures.judged(ratio, at_least=BARS["burst"]) if way == "relay" else "",
                f"{statistics.median(rate):.0f}",
            )
        )
    return figures.table(("way", "MB per s of CPU", ": baseline", "bar", "MB/s"), rows)


def paced_table(found: Streams, count: int, plan: Plan) -> str:
    paced, rows = found.paced[count], []
    for way in plan.ways:
        first, delays = paced.first[way], paced.delays[way]
        ratio = figures.ratio(first, paced.first["baseline"])
        rows.append(
            (
                way,
                f"{statistics.median(first) * 1000:.1f}",
                f"{ratio:.2f}",
                figures.judged(ratio, at_most=BARS["first"]) if way == "relay" else "",
                f"{statistics.median(delays) * 1000:.2f}",
                f"{figures.quantile(delays, 0.99) * 1000:.2f}",
                f"{statistics.median(paced.cpu[way]) * 1e6:.0f}",
                f"{figures.ratio(paced.whole[way], paced.whole['direct']):.3f}",
            )
        )
    head = ("way", "first byte p50 ms", ": baseline", "bar", "event p50 ms", "event p99 ms")
    return figures.table((*head, "CPU µs/event", "whole : direct"), rows)


def sections(found: Streams, plan: Plan) -> str:
    """All of it, with headings."""
    parts = [
        "### Short streams: one event, one at a time\n",
        short_table(found, plan),
        f"### Bursts: {BURSTS} streams of {BURST_EVENTS} events of 64 characters\n",
        burst_table(found, plan),
    ]
    for count, pace, _ in PACED:
        parts.append(f"### {count} streams of {PACED_EVENTS} events, one every {pace} ms\n")
        parts.append(paced_table(found, count, plan))
    return "\n".join(parts)
