"""What turn N of a session costs while it grows to 1 MB: whatever is done per byte of a history
that is known shows as a slope."""

import hashlib
import statistics
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from bench import bodies, client, figures
from bench.processes import Server

SIZE, ROUNDS = 1_000_000, 3
SHOWN = 10  # points of the curve
BAR = 3.0  # slope of the guard over the baseline's, in slopes of a hash


@dataclass
class Growth:
    """`sizes`: MB of the body of each turn. `spent`: way → turn → milliseconds, one per round."""

    sizes: list[float] = field(default_factory=list)
    spent: dict[str, list[list[float]]] = field(default_factory=dict)

    def curve(self, way: str) -> list[float]:
        """Milliseconds of each turn; whatever else runs can only add to them."""
        return [min(turn) for turn in self.spent[way]]

    def slope(self, way: str) -> float:
        """Milliseconds per MB."""
        return figures.slope(self.curve(way), self.sizes)


async def measure(servers: Mapping[str, Server]) -> Growth:
    """Sessions of which nothing is known before they begin, in turns through each way but the
    direct one; beside them a BLAKE2b of each body."""
    found = Growth()
    spent: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for turn in range(ROUNDS):
        figures.say(f"a session that grows to 1 MB, round {turn + 1} of {ROUNDS}")
        session = bodies.history(SIZE, name=f" {turn}")
        found.sizes = [len(body) / 1e6 for body in session]
        for number, body in enumerate(session):
            begun = time.process_time()
            hashlib.blake2b(body, digest_size=32).digest()
            spent["hash"][number].append((time.process_time() - begun) * 1000)
        for way, one in list(servers.items())[:: 1 if turn % 2 else -1]:
            if way == "direct":
                continue
            connection = await client.connect(one.url)
            for number, body in enumerate(session):
                before = one.cpu()
                await connection.ask(bodies.whole(body, one.url.removeprefix("http://")))
                spent[way][number].append((one.cpu() - before) * 1000)
            connection.transport.close()
    found.spent = {way: [turns[number] for number in sorted(turns)] for way, turns in spent.items()}
    return found


def section(found: Growth) -> str:
    """The curve as a table, and the slopes below it."""
    ways = [way for way in found.spent if way != "hash"]
    ways = ["hash", *sorted(ways, key=lambda way: found.slope(way))]
    last = len(found.sizes) - 1
    shown = sorted({round(last * step / (SHOWN - 1)) for step in range(SHOWN)})
    rows = [
        (
            f"{number + 1}, {found.sizes[number] * 1000:.0f} kB",
            *(f"{_around(found.curve(way), number):.2f}" for way in ways),
        )
        for number in shown
    ]
    rows.append(("slope, ms per MB", *(f"{found.slope(way):.2f}" for way in ways)))
    rows.append(("slope over the baseline's, in hashes", *(_hashes(found, way) for way in ways)))
    return figures.table(("turn, CPU ms", *ways), rows)


def _around(curve: list[float], number: int) -> float:
    """A point of the curve with its neighbours, as a single request is a noisy thing."""
    return statistics.median(curve[max(0, number - 2) : number + 3])


def _hashes(found: Growth, way: str) -> str:
    if way in ("hash", "baseline"):
        return ""
    ratio = (found.slope(way) - found.slope("baseline")) / found.slope("hash")
    return f"{ratio:.1f}" + (f", {figures.judged(ratio, at_most=BAR)}" if way == "guard" else "")
