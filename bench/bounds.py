"""`python -m bench.bounds`: what it costs to bound a conversation: minimality, loops and limits,
rates, and what the owner is told. Half a minute; writes its chapter of `bench/RESULTS.md`.

The guard as built and guards without one part of it, or without all, take turns within each round;
so does a bare proxy, whose cost is the measure. Every request brings a new last result to a history
of 500 kB that is known. `python -m bench.bounds 20` takes so many rounds, and only prints.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench import bodies, client, figures, nodes, requests, results
from bench.processes import Server, server

SIZE = 500_000
ROUNDS, EACH = 200, 4  # short turns: what else runs meets all ways alike
BAR = 0.5  # of what a bare proxy adds
GUARD, WITHOUT = "guard", "without all of it"
PARTS = {
    "without minimality": ["proxy", "whole"],
    "without limits and rates": ["proxy", "unlimited"],
    "with nobody told": ["bench.variant", "nobody-told", "guard"],
}
ALL = {GUARD: ["proxy", "guard"], WITHOUT: ["bench.variant", "nobody-told", "unbound"], **PARTS}

Figures = dict[str, list[float]]
"""Way → milliseconds, one per round."""


def main() -> None:
    begun, rounds = time.monotonic(), int(sys.argv[1]) if sys.argv[1:] else ROUNDS
    with tempfile.TemporaryDirectory(prefix="transom-bounds-") as name, ExitStack() as stack:
        p50, cpu = asyncio.run(_measured(_servers(stack, Path(name)), rounds))
    text = REPORT.format(
        origin=results.origin("python -m bench.bounds", time.monotonic() - begun),
        table=_table(p50, cpu),
        p50=verdict(p50),
        cpu=f"{more(cpu[GUARD], cpu[WITHOUT]) / statistics.median(cpu['baseline']):.2f}",
        bar=BAR,
        rounds=rounds,
    )
    if not sys.argv[1:]:
        results.publish("Bounds", text)
    print(text)


def _servers(stack: ExitStack, folder: Path) -> Mapping[str, Server]:
    upstream = stack.enter_context(server("direct", ["bench.upstream"], folder))
    baseline = server("baseline", ["bench.baseline", upstream.url], folder)
    running = {"direct": upstream, "baseline": stack.enter_context(baseline)}
    for number, (way, (*command, config)) in enumerate(ALL.items()):
        home = folder / str(number)
        home.mkdir()
        _, *rest = nodes.serve(config, upstream.url, home)
        running[way] = stack.enter_context(server(f"node-{number}", [*command, *rest], home))
    return running


async def _measured(running: Mapping[str, Server], rounds: int) -> tuple[Figures, Figures]:
    """Median time and CPU of a request, round by round."""
    history = bodies.history(SIZE)
    asked = {way: requests.fresh(one, history[-1]) for way, one in running.items()}
    for way in ALL:
        figures.say(f"{way}: it sees the conversation grow")
        await requests.grow(running[way], history)
    p50: Figures = defaultdict(list)
    cpu: Figures = defaultdict(list)
    ways = list(running)
    figures.say(f"{rounds} rounds")
    for turn in range(rounds):
        for way in ways[turn % len(ways) :] + ways[: turn % len(ways)]:
            one = running[way]
            before = one.cpu()
            times = await client.latencies(one.url, partial(next, asked[way]), 0, EACH)
            cpu[way].append((one.cpu() - before) / len(times) * 1000)
            p50[way].append(statistics.median(times) * 1000)
    return p50, cpu


def more(of: list[float], than: list[float]) -> float:
    """By how much it is more, in the middle of all rounds."""
    return statistics.median(a - b for a, b in zip(of, than, strict=True))


def verdict(p50: Figures) -> str:
    """What all of it costs, as a share of what the bare proxy adds, and whether that is little."""
    share = more(p50[GUARD], p50[WITHOUT]) / more(p50["baseline"], p50["direct"])
    return f"{share:.2f}, {figures.judged(share, at_most=BAR)}"


def _table(p50: Figures, cpu: Figures) -> str:
    rows = []
    for way in p50:
        less = [f"{more(each[GUARD], each[way]):.2f}" for each in (p50, cpu)]
        rows.append(
            (
                way,
                f"{statistics.median(p50[way]):.2f}",
                f"{statistics.median(cpu[way]):.2f}",
                *(less if way in ALL and way != GUARD else ("", "")),
            )
        )
    head = ("500 kB, way", "p50 ms", "CPU ms", "guard costs more, p50 ms", "CPU ms")
    return figures.table(head, rows)


REPORT = """{origin}
The guard with the default profile, and without parts of what bounds a conversation; the bare proxy
beside them. The body is one long turn, as a coding agent's is: the last result of a known history
is new, everything in it may leave, and all of it does. In turns within each of {rounds} rounds; a
difference is the median over rounds of the difference within one.

{table}
All of it, p50, over what the bare proxy adds to the direct way: {p50}. In CPU, over all that the
bare proxy uses: {cpu}, which is steadier where other things run.
"""

if __name__ == "__main__":
    main()
