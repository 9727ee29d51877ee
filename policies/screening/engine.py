"""One function, `anchors(bytes) -> hits`, over whichever multi-pattern engine works here.

Owns the choice of the engine and its upkeep. It must not know what a literal stands for.
"""

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol

Hit = tuple[int, int]
"""Number of the literal, offset at which it starts."""


class Literal(NamedTuple):
    """Bytes to look for. `once`: a single hit anywhere says all there is to know."""

    text: bytes
    caseless: bool = False
    once: bool = False


class Engine(Protocol):
    """Immutable once built; may be used from several threads at once."""

    name: str

    def anchors(self, data: bytes) -> list[Hit]:
        """Every place where a literal starts, in no particular order; a literal marked `once` is
        reported at least once if it occurs."""
        ...


class Vectorscan:
    """All literals in one pass at memory speed. Raises `ImportError` or the library's own error
    where it is missing or refuses this processor."""

    name = "hyperscan"

    def __init__(self, literals: Sequence[Literal]) -> None:
        import hyperscan

        self._lengths = [len(literal.text) for literal in literals]
        self._database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=[literal.text for literal in literals],
            ids=list(range(len(literals))),
            elements=len(literals),
            flags=[
                hyperscan.HS_FLAG_CASELESS * literal.caseless
                | hyperscan.HS_FLAG_SINGLEMATCH * literal.once
                for literal in literals
            ],
            literal=True,
        )
        self._first = hyperscan.Scratch(self._database)
        self._scratches: deque[hyperscan.Scratch] = deque()

    def anchors(self, data: bytes) -> list[Hit]:
        hits: list[Hit] = []
        lengths = self._lengths

        def note(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            hits.append((number, end - lengths[number]))

        # A scratch belongs to one scan at a time; the deque hands each to a single thread.
        try:
            scratch = self._scratches.pop()
        except IndexError:
            scratch = self._first.clone()
        self._database.scan(data, match_event_handler=note, scratch=scratch)
        self._scratches.append(scratch)
        return hits


class AhoCorasick:
    """The same over ahocorasick_rs: one automaton over lower-cased text, exact case checked at
    the hit."""

    name = "ahocorasick"

    def __init__(self, literals: Sequence[Literal]) -> None:
        import ahocorasick_rs

        self._literals = literals
        self._automaton = ahocorasick_rs.BytesAhoCorasick(
            [literal.text.lower() for literal in literals]
        )

    def anchors(self, data: bytes) -> list[Hit]:
        found = self._automaton.find_matches_as_indexes(data.lower(), overlapping=True)
        return [
            (number, start)
            for number, start, end in found
            if self._literals[number].caseless or data[start:end] == self._literals[number].text
        ]


def build(literals: Sequence[Literal]) -> Engine:
    """The fastest engine that proves itself here: it has to find every literal of `literals`."""
    try:
        import hyperscan
    except ImportError:
        return AhoCorasick(literals)
    try:
        engine = Vectorscan(literals)
        if _finds_all(engine, literals):
            return engine
    except hyperscan.error:
        pass
    return AhoCorasick(literals)


def _finds_all(engine: Engine, literals: Sequence[Literal]) -> bool:
    hits = engine.anchors(b"\n".join(literal.text for literal in literals))
    return {number for number, _ in hits} == set(range(len(literals)))
