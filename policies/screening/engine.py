"""One function, `anchors(bytes) -> hits`, over whichever multi-pattern engine works here.

Owns the choice of the engine and its upkeep. It must not know what a pattern stands for.
"""

import re
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import re2

if TYPE_CHECKING:
    import hyperscan

Hit = tuple[int, int]
"""Number of the pattern, offset behind the last byte of the instance."""

_CLASS = re.compile(rb"\[(\\?.)[^\]]*\]\{(\d+)\}", re.DOTALL)


class Pattern(NamedTuple):
    """Bytes to look for: `text` as it is, of any case if `caseless`, and right behind it what the
    expression `then` says. Either may be empty. `once`: one hit says all there is to know. `after`:
    a class of bytes that must not stand right before; who cannot ask for that may report more.

    Expressions mean the same to Hyperscan, RE2 and `re`: classes, groups, bounded repeats, `^`.
    Behind a `text`, `then` is one class with one fixed count.
    """

    text: bytes = b""
    then: bytes = b""
    caseless: bool = False
    once: bool = False
    after: bytes = b""

    @property
    def width(self) -> int:
        """Bytes that an instance has, for a pattern with a `text`."""
        follows = _CLASS.fullmatch(self.then)
        return len(self.text) + (int(follows[2]) if follows else 0)

    @property
    def expression(self) -> bytes:
        # Every byte by its number: some engines end a literal at the first zero byte.
        escaped = b"".join(b"\\x%02x" % byte for byte in self.text)
        if self.caseless and escaped:
            escaped = b"(?i:%s)" % escaped
        return escaped + self.then

    @property
    def bounded(self) -> bytes:
        """The expression with what must not stand before it. The letter of an escape is none."""
        before = b"(?:^|[^%s]|\\\\[nrt])" % self.after if self.after else b""
        return before + self.expression

    @property
    def instance(self) -> bytes:
        """The plainest instance, for a pattern with a `text`."""
        follows = _CLASS.fullmatch(self.then)
        return self.text + (follows[1][-1:] * int(follows[2]) if follows else b"")


class Engine(Protocol):
    """Immutable once built; may be used from several threads at once."""

    name: str

    def anchors(self, data: bytes) -> list[Hit]:
        """Where instances end, in no particular order: every one of a pattern with a `text`, at
        least one of any other that occurs."""
        ...

    def packed(self) -> bytes:
        """What `build` makes the same engine of at once; empty where there is no such thing."""
        ...


class Vectorscan:
    """All patterns in one pass at memory speed. `packed`: what an engine for these patterns has
    packed. Raises `ImportError` or the library's own error where it is missing or refuses this
    processor, or these bytes."""

    name = "hyperscan"

    def __init__(self, patterns: Sequence[Pattern], packed: bytes = b"") -> None:
        import hyperscan

        self._database = (
            hyperscan.loadb(packed, hyperscan.HS_MODE_BLOCK) if packed else self._compiled(patterns)
        )
        # Working memory: each is lent to one scan at a time, whatever its thread.
        self._first = hyperscan.Scratch(self._database)
        self._free: deque[hyperscan.Scratch] = deque()

    @staticmethod
    def _compiled(patterns: Sequence[Pattern]) -> "hyperscan.Database":
        import hyperscan

        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=[pattern.bounded for pattern in patterns],
            ids=list(range(len(patterns))),
            elements=len(patterns),
            flags=[
                hyperscan.HS_FLAG_DOTALL | hyperscan.HS_FLAG_SINGLEMATCH * pattern.once
                for pattern in patterns
            ],
        )
        return database

    def packed(self) -> bytes:
        """The database as bytes, for this version of the library and this processor."""
        import hyperscan

        return hyperscan.dumpb(self._database)

    def anchors(self, data: bytes) -> list[Hit]:
        hits: list[Hit] = []

        def note(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            hits.append((number, end))

        try:
            scratch = self._free.pop()
        except IndexError:
            scratch = self._first.clone()
        self._database.scan(data, match_event_handler=note, scratch=scratch)
        # After an exception the scratch may be in use still: it is let go.
        self._free.append(scratch)
        return hits


class AhoCorasick:
    """The same over ahocorasick_rs for patterns with a text, one linear search each for others."""

    name = "ahocorasick"

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        import ahocorasick_rs

        self._lettered = [number for number, pattern in enumerate(patterns) if pattern.text]
        self._automaton = ahocorasick_rs.BytesAhoCorasick(
            [patterns[number].text.lower() for number in self._lettered] or [b"\0" * 64]
        )
        self._exact = {
            number: re.compile(patterns[number].expression, re.DOTALL) for number in self._lettered
        }
        self._others = [
            (number, pattern.once, linear(pattern.then))
            for number, pattern in enumerate(patterns)
            if not pattern.text
        ]

    def anchors(self, data: bytes) -> list[Hit]:
        hits: list[Hit] = []
        if self._lettered:
            found = self._automaton.find_matches_as_indexes(data.lower(), overlapping=True)
            for at, start, _ in found:
                number = self._lettered[at]
                match = self._exact[number].match(data, start)
                if match:
                    hits.append((number, match.end()))
        for number, once, expression in self._others:
            for match in expression.finditer(data):
                hits.append((number, match.end()))
                if once:
                    break
        return hits

    def packed(self) -> bytes:
        """Nothing: this one is built in no time."""
        return b""


def linear(expression: bytes, memory: int = 1 << 23) -> "re2._Regexp":
    """An expression over bytes whose searches cost no more than their text is long. `memory`: bytes
    that it may take, compiled and in use."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.dot_nl = True
    options.max_mem = memory
    return re2.compile(expression, options)


def build(patterns: Sequence[Pattern], packed: bytes = b"") -> Engine:
    """The fastest engine that proves itself here: it has to find every pattern with a text.
    `packed`: what an engine of the same patterns has packed, if there is one."""
    try:
        import hyperscan
    except ImportError:
        return AhoCorasick(patterns)
    for known in dict.fromkeys((packed, b"")):
        try:
            engine = Vectorscan(patterns, known)
        except hyperscan.error:
            continue
        if _finds_all(engine, patterns):
            return engine
    return AhoCorasick(patterns)


def _finds_all(engine: Engine, patterns: Sequence[Pattern]) -> bool:
    hits = engine.anchors(b"\n".join(pattern.instance for pattern in patterns if pattern.text))
    lettered = {number for number, pattern in enumerate(patterns) if pattern.text}
    return lettered <= {number for number, _ in hits}
