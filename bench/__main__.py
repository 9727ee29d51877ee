"""`python -m bench`: measure, print as it goes, write `bench/RESULTS.md`. Some 80 seconds.

`python -m bench relay --seconds 20` measures some of the ways for some time, and only prints.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from bench import bodies, client, figures
from bench.plan import CLIENTS, LEAST, PUSH, SIZES, SLICE, Plan, asked
from bench.processes import Server, server
from bench.upstream import EVENTS, PACE

STREAMS = 16
STARTS = 3
RESULTS = Path(__file__).with_name("RESULTS.md")

RELAY = """version = 1
[listen]
port = 0
[state]
url = "memory:"
[envelope]
enabled = false
[[upstream]]
name = "bench"
leg = "local"
base_url = "{url}"
dialects = ["anthropic"]
auth = "none"
"""
GUARD = """version = 1
[listen]
port = 0
[state]
url = "sqlite://{folder}/guard.db"
[[upstream]]
name = "bench"
leg = "cloud"
base_url = "{url}"
dialects = ["anthropic"]
auth = "none"
"""


@dataclass
class Samples:
    """All that was measured. Lists run over rounds; keys are (mode, size) or a mode."""

    plan: Plan
    p50: dict[tuple[str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    times: dict[tuple[str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    rate: dict[tuple[str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    cpu: dict[tuple[str, int], list[float]] = field(default_factory=lambda: defaultdict(list))
    first: dict[str, list[float]] = field(default_factory=dict)
    delay: dict[str, list[float]] = field(default_factory=dict)
    starts: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    idle: dict[str, float] = field(default_factory=dict)
    peak: dict[str, float] = field(default_factory=dict)
    calibration: list[float] = field(default_factory=list)


def main() -> None:
    given = asked()
    begun = time.monotonic()
    samples = Samples(Plan.of(given.ways, given.seconds))
    with tempfile.TemporaryDirectory(prefix="transom-bench-") as name:
        folder = Path(name)
        with ExitStack() as stack:
            servers = _servers(stack, folder, samples)
            asyncio.run(_measure(servers, samples))
    text = _report(samples, time.monotonic() - begun)
    if not given.ways and not given.seconds:
        RESULTS.write_text(text)
    print(text)


def _servers(stack: ExitStack, folder: Path, samples: Samples) -> dict[str, Server]:
    upstream = stack.enter_context(server("upstream", ["bench.upstream"], folder))
    commands = {"baseline": ["bench.baseline", upstream.url]}
    for name, config in (("relay", RELAY), ("guard", GUARD)):
        if name not in samples.plan.modes:
            continue
        path = folder / f"{name}.toml"
        path.write_text(config.format(url=upstream.url, folder=folder))
        commands[name] = ["proxy", "serve", "-c", str(path)]
    for name in [name for name in commands for _ in range(STARTS)]:
        with server(name, commands[name], folder) as once:
            samples.starts[name].append(once.started)
    running = {n: stack.enter_context(server(n, c, folder)) for n, c in commands.items()}
    samples.idle.update({name: one.memory() for name, one in running.items()})
    return {"direct": upstream, **running}


async def _measure(servers: dict[str, Server], samples: Samples) -> None:
    plan = samples.plan
    histories = {size: bodies.history(size) for size in SIZES}
    requests = {
        (mode, size): bodies.fresh(histories[size][-1], one.url.removeprefix("http://"))
        for mode, one in servers.items()
        for size in SIZES
    }
    if "guard" in servers:
        say("the guard sees the conversations grow")
        for size in SIZES:
            await _grow(servers["guard"], histories[size])
    for size in SIZES:
        say(f"one request at a time, {size // 1000} kB")
        for turn in range(plan.rounds):
            for mode in plan.turned(turn):
                await _latency(servers[mode], requests[mode, size], samples, (mode, size))
        samples.calibration.append(figures.calibration())
    for size in SIZES:
        say(f"{CLIENTS} connections without a pause, {size // 1000} kB")
        for turn in range(plan.loads):
            for mode in plan.turned(turn):
                await _load(servers[mode], requests[mode, size], samples, (mode, size))
        samples.calibration.append(figures.calibration())
    paced = bodies.history(2_000, stream=True)[-1]
    for mode, one in servers.items():
        say(f"{STREAMS} paced streams, {mode}")
        asked = bodies.fresh(paced, one.url.removeprefix("http://"))
        first, delay = await client.streams(one.url, partial(next, asked), STREAMS)
        samples.first[mode], samples.delay[mode] = first, delay
        samples.peak[mode] = one.memory("VmHWM")


async def _grow(one: Server, history: Sequence[bytes]) -> None:
    for body in history:
        requests = bodies.fresh(body, one.url.removeprefix("http://"))
        await client.latencies(one.url, partial(next, requests), 0, 1)


async def _latency(
    one: Server, requests: Iterator[Sequence[bytes]], samples: Samples, key: tuple[str, int]
) -> None:
    times = await client.latencies(one.url, partial(next, requests), SLICE, LEAST)
    samples.times[key] += times
    samples.p50[key].append(statistics.median(times))


async def _load(
    one: Server, requests: Iterator[Sequence[bytes]], samples: Samples, key: tuple[str, int]
) -> None:
    before = one.cpu()
    answered, seconds = await client.load(one.url, partial(next, requests), PUSH, CLIENTS)
    samples.rate[key].append(answered / seconds)
    samples.cpu[key].append((one.cpu() - before) / answered)


def _report(samples: Samples, seconds: float) -> str:
    slow, fast = min(samples.calibration), max(samples.calibration)
    return REPORT.format(
        date=datetime.now(UTC).date(),
        seconds=round(seconds),
        machine=figures.machine(),
        slow=round(slow),
        fast=round(fast),
        requests=sum(map(len, samples.times.values())),
        latency=_latency_table(samples),
        load=_load_table(samples),
        streams=_stream_table(samples),
        starts=_start_table(samples),
        clients=CLIENTS,
        parallel=STREAMS,
        events=EVENTS,
        pace=round(PACE * 1000),
    )


def _latency_table(samples: Samples) -> str:
    rows = []
    for size in SIZES:
        base = samples.p50["baseline", size]
        for mode in samples.plan.modes:
            p50, times = samples.p50[mode, size], samples.times[mode, size]
            added = statistics.median(
                a - b for a, b in zip(p50, samples.p50["direct", size], strict=True)
            )
            rows.append(
                (
                    f"{size // 1000} kB, {mode}",
                    f"{statistics.median(times) * 1000:.2f}",
                    f"{figures.quantile(times, 0.99) * 1000:.2f}",
                    f"{added * 1000:.2f}",
                    f"{figures.ratio(p50, base):.2f}",
                )
            )
    return figures.table(("body, way", "p50 ms", "p99 ms", "added ms", "p50 : baseline"), rows)


def _load_table(samples: Samples) -> str:
    rows = []
    for size in SIZES:
        for mode in samples.plan.modes:
            rate, cpu = samples.rate[mode, size], samples.cpu[mode, size]
            rows.append(
                (
                    f"{size // 1000} kB, {mode}",
                    f"{statistics.median(rate):.0f}",
                    f"{figures.ratio(rate, samples.rate['baseline', size]):.2f}",
                    "" if mode == "direct" else f"{statistics.mean(cpu) * 1000:.2f}",
                )
            )
    return figures.table(("body, way", "requests/s", "rate : baseline", "CPU ms/request"), rows)


def _stream_table(samples: Samples) -> str:
    rows = [
        (
            mode,
            f"{statistics.median(samples.first[mode]) * 1000:.1f}",
            f"{statistics.median(samples.delay[mode]) * 1000:.2f}",
            f"{figures.quantile(samples.delay[mode], 0.99) * 1000:.2f}",
        )
        for mode in samples.plan.modes
    ]
    return figures.table(("way", "first byte p50 ms", "event p50 ms", "event p99 ms"), rows)


def _start_table(samples: Samples) -> str:
    rows = [
        (
            mode,
            f"{statistics.median(samples.starts[mode]) * 1000:.0f}",
            f"{samples.idle[mode]:.0f}",
            f"{samples.peak[mode]:.0f}",
        )
        for mode in samples.plan.modes
        if mode != "direct"
    ]
    return figures.table(("process", "start ms", "RSS at start MB", "peak RSS MB"), rows)


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


REPORT = """# Bench

`make bench`, {date}, {seconds} s. Ratios are the result; milliseconds are this machine's.

{machine}
BLAKE2b in the same run: {slow} to {fast} MB/s, which says how steady the machine was.

- **direct**: the client talks to the fake upstream.
- **baseline**: a bare aiohttp proxy (`bench/baseline.py`): bytes in, bytes out, nothing looked at.
- **relay**: Transom with a local upstream and frames off.
- **guard**: Transom with frames, ledger (SQLite) and screen on, a cloud upstream. The history is
  known; every request brings one new tool result, which is framed, written down and screened.

All ways take turns within each round; a ratio is the median over rounds of the ratio within one.
{requests} requests one at a time.

## One request at a time

{latency}
## {clients} connections without a pause

{load}
## {parallel} streams of {events} events, one every {pace} ms

{streams}
## Start and memory

{starts}"""

if __name__ == "__main__":
    main()
