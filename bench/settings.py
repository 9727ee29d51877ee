"""`python -m bench.settings [NAME …]`: what single settings are worth, one by one. Some five
minutes; writes its chapter of `bench/RESULTS.md`.

Beside a node as built runs one that differs in one setting (`bench/variant.py`); both take turns
within each round. A figure is the median of its ratios to the node as built: below 1 the variant is
cheaper or faster, for megabytes per second above 1. Without names all are tried.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from bench import bodies, client, figures, nodes, requests, results, streams
from bench.processes import Server, server
from bench.variant import VARIANTS, Variant, available

ROUNDS, PUSH, CLIENTS = 10, 0.15, 8
STREAM_ROUNDS = 3
BURSTS, BURST_EVENTS = 8, 2500
PARALLEL, PARALLEL_EVENTS, PACE = 200, 25, 20
BUILT = "built"

COLUMNS = (
    "relay 2 kB, CPU",
    "relay 500 kB, CPU",
    "relay burst, MB/s of CPU",
    "200 streams, first byte",
    "200 streams, whole",
    "guard 500 kB, CPU",
    "guard 500 kB, worst wait",
    "guard peak RSS",
)

Figures = dict[str, dict[str, list[float]]]
"""Column → which node → one figure per round."""


def main() -> None:
    begun = time.monotonic()
    chosen = {name: one for name, one in available().items() if name in (sys.argv[1:] or VARIANTS)}
    with tempfile.TemporaryDirectory(prefix="transom-settings-") as folder:
        rows = [_row(one, _tried(name, Path(folder))) for name, one in chosen.items()]
    head = ("tried", *COLUMNS, "kept")
    absent = [one.tried for name, one in VARIANTS.items() if name not in available()]
    text = REPORT.format(
        origin=results.origin("python -m bench.settings", time.monotonic() - begun),
        table=figures.table(head, rows),
        absent=f"\nNot tried, as it is not installed here: {', '.join(absent)}.\n" * bool(absent),
        parallel=PARALLEL,
    )
    if not sys.argv[1:]:
        results.publish("Settings", text)
    print(text)


def _row(one: Variant, found: Figures) -> tuple[str, ...]:
    ratios = (
        figures.ratio(found[column]["variant"], found[column][BUILT]) if column in found else None
        for column in COLUMNS
    )
    return one.tried, *("" if each is None else f"{each:.2f}" for each in ratios), one.kept


def _tried(name: str, folder: Path) -> Figures:
    figures.say(VARIANTS[name].tried)
    found: Figures = defaultdict(lambda: defaultdict(list))
    home = folder / name
    home.mkdir()
    with _pair("relay", name, home) as pair:
        asyncio.run(_relayed(pair, found))
    with _pair("guard", name, home) as pair:
        asyncio.run(_guarded(pair, found))
    return found


@contextmanager
def _pair(way: str, name: str, home: Path) -> Iterator[Mapping[str, Server]]:
    """A node as built and one with the variant, before one upstream."""
    with ExitStack() as stack:
        upstream = stack.enter_context(server("direct", ["bench.upstream"], home))
        pair = {}
        for which, module in ((BUILT, ["proxy"]), ("variant", ["bench.variant", name])):
            place = home / f"{way}-{which}"
            place.mkdir()
            _, *rest = nodes.serve(way, upstream.url, place)
            pair[which] = stack.enter_context(server(which, [*module, *rest], place))
        yield pair


def _turns(pair: Mapping[str, Server], rounds: int = ROUNDS) -> Iterator[tuple[str, Server]]:
    for turn in range(rounds):
        yield from list(pair.items())[:: 1 if turn % 2 else -1]


async def _relayed(pair: Mapping[str, Server], found: Figures) -> None:
    small, large = bodies.history(2_000), bodies.history(500_000)
    stream = bodies.history(2_000, stream=True)[-1]
    for one in pair.values():
        await _load(one, small[-1], [])  # warm up
    for which, one in _turns(pair):
        await _load(one, small[-1], found[COLUMNS[0]][which])
    for which, one in _turns(pair):
        await _load(one, large[-1], found[COLUMNS[1]][which])
    for which, one in _turns(pair):
        before, asked = one.cpu(), requests.fresh(one, stream, f"{BURST_EVENTS} 0")
        took = await client.streams(one.url, partial(next, asked), BURSTS)
        found[COLUMNS[2]][which].append(took.heard / (one.cpu() - before))
    for which, one in _turns(pair, STREAM_ROUNDS):
        await streams.connected(one, PARALLEL)
        asked = requests.fresh(one, stream, f"{PARALLEL_EVENTS} {PACE}")
        took = await client.streams(one.url, partial(next, asked), PARALLEL)
        found[COLUMNS[3]][which].append(statistics.median(took.first))
        found[COLUMNS[4]][which].append(max(took.whole))


async def _guarded(pair: Mapping[str, Server], found: Figures) -> None:
    history = bodies.history(500_000)
    for one in pair.values():
        await requests.grow(one, history)
    waits: dict[str, list[float]] = defaultdict(list)
    for which, one in _turns(pair):
        before, asked = one.cpu(), requests.fresh(one, history[-1])
        times = await client.latencies(one.url, partial(next, asked), 2 * PUSH, 4)
        found[COLUMNS[5]][which].append((one.cpu() - before) / len(times))
        waits[which] += times
    for which, one in pair.items():
        found[COLUMNS[6]][which].append(figures.quantile(waits[which], 0.95))
        found[COLUMNS[7]][which].append(one.memory("VmHWM"))


async def _load(one: Server, body: bytes, into: list[float]) -> None:
    """CPU seconds for one request."""
    before, asked = one.cpu(), requests.fresh(one, body)
    answered, _ = await client.load(one.url, partial(next, asked), PUSH, CLIENTS)
    into.append((one.cpu() - before) / answered)


REPORT = """{origin}
One setting at a time against the node as built, in turns within each round (`bench/variant.py` has
the patches). Figures are ratios to the node as built: below 1 the variant costs or takes less; for
MB/s of CPU above 1 is better. *worst wait*: 95th percentile. The first row is the node against
itself, which says how far a figure must be from 1 to mean anything. *kept*: what the product does.

{table}{absent}
"""

if __name__ == "__main__":
    main()
