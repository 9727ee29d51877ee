"""What a run measures: the ways that take turns, at which sizes, how often and for how long."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from bench.nodes import OURS

SIZES = (2_000, 50_000, 500_000, 2_000_000)
ROUNDS, SLICE, LEAST = 12, 0.18, 4  # latency: rounds, seconds per way and size, requests
LOADS, PUSH, CLIENTS = 4, 0.6, 8  # throughput: rounds, seconds, connections


@dataclass(frozen=True)
class Plan:
    """Which ways take turns, and how often."""

    ways: tuple[str, ...]
    rounds: int = ROUNDS
    loads: int = LOADS

    @classmethod
    def of(cls, beside: Sequence[str], ours: Sequence[str], seconds: float) -> "Plan":
        """Two rounds of latency for one of throughput, for about `seconds`; 0: as published."""
        ways = (*beside, *(way for way in OURS if way in ours or not ours))
        if not seconds:
            return cls(ways)
        loads = max(2, round(seconds / (len(SIZES) * len(ways) * (2 * SLICE + PUSH))))
        return cls(ways, 2 * loads, loads)

    def turned(self, turn: int) -> tuple[str, ...]:
        """The ways, beginning with another one each round, so that none always comes first."""
        turn %= len(self.ways)
        return self.ways[turn:] + self.ways[:turn]


def asked() -> argparse.Namespace:
    """What the command line asks for: `ways`, `seconds`."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure Transom.")
    parser.add_argument("ways", nargs="*", help=f"some of {', '.join(OURS)}; default: all")
    parser.add_argument("--seconds", type=float, default=0, help="of whole requests, about")
    given = parser.parse_args()
    if unknown := set(given.ways) - set(OURS):
        parser.error(f"no such way: {', '.join(sorted(unknown))}")
    return given
