"""One function, `anchors(bytes) -> hits`, over whichever multi-pattern engine works here.

Owns the choice of the engine and its upkeep. It must not know what a literal stands for.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol

import re2  # type: ignore[import-untyped]

if TYPE_CHECKING:
    import hyperscan

Hit = tuple[int, int]
"""Number of the literal, offset at which it starts."""


class Literal(NamedTuple):
    """Bytes to look for. `once`: a single hit anywhere says all there is to know."""

    text: bytes
    caseless: bool = False
    once: bool = False


Gates = Callable[[bytes], frozenset[str]]
"""Names of the patterns that match anywhere in the data."""


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
        self._scratches = _Scratches(self._database)

    def anchors(self, data: bytes) -> list[Hit]:
        hits: list[Hit] = []
        lengths = self._lengths

        def note(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            hits.append((number, end - lengths[number]))

        with self._scratches.one() as scratch:
            self._database.scan(data, match_event_handler=note, scratch=scratch)
        return hits


class _Scratches:
    """Working memory of an engine: each is lent to one scan at a time, whatever its thread."""

    def __init__(self, database: "hyperscan.Database") -> None:
        import hyperscan

        self._first = hyperscan.Scratch(database)
        self._free: deque[hyperscan.Scratch] = deque()

    @contextmanager
    def one(self) -> "Iterator[hyperscan.Scratch]":
        try:
            scratch = self._free.pop()
        except IndexError:
            scratch = self._first.clone()
        yield scratch
        # After an exception the scratch may be in use still: it is let go.
        self._free.append(scratch)


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


def gates(patterns: Mapping[str, bytes]) -> Gates:
    """One pass that tells which patterns match at all; one search each where there is no engine
    for that. The patterns must mean the same to both: no anchors but `^`, no flags."""
    try:
        return _vectorscan_gates(patterns)
    except ImportError:
        return linear_gates(patterns)


def linear_gates(patterns: Mapping[str, bytes]) -> Gates:
    """One linear search per pattern."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    compiled = {name: re2.compile(pattern, options) for name, pattern in patterns.items()}

    def match(data: bytes) -> frozenset[str]:
        return frozenset(name for name, pattern in compiled.items() if pattern.search(data))

    return match


def _vectorscan_gates(patterns: Mapping[str, bytes]) -> Gates:
    import hyperscan

    names = list(patterns)
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(
            expressions=list(patterns.values()),
            ids=list(range(len(names))),
            elements=len(names),
            flags=hyperscan.HS_FLAG_SINGLEMATCH | hyperscan.HS_FLAG_DOTALL,
        )
        scratches = _Scratches(database)
    except hyperscan.error:
        return linear_gates(patterns)

    def match(data: bytes) -> frozenset[str]:
        found: set[str] = set()

        def note(number: int, _start: int, _end: int, _flags: int, _context: object) -> None:
            found.add(names[number])

        with scratches.one() as scratch:
            database.scan(data, match_event_handler=note, scratch=scratch)
        return frozenset(found)

    return match
