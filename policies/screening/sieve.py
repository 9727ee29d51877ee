"""Which of many texts need a reading at all: one pass over all of them, side by side.

Owns the passes over whole requests. It must not know what a reading does. What it lets go is clean
in the eyes of `Sentry.look` and `Words.may_hold`, which see one text at a time; what it keeps may
be clean as well.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate

import re2

from policies.screening.engine import linear
from policies.screening.signs import AFTER, FIRST, JOINT, Sentry, Signs
from policies.screening.words import Words

APART = "\n\0\n"
"""Stands between texts that are looked at together: nothing that is looked for goes across."""
_CHUNK = 1 << 17
_MEMORY = 1 << 26
_LONG, _STRIDE = 1000, 25
_IN_RUN = bytes(1 if chr(code).isalnum() or code in b"+/_-" else 0 for code in range(128)) + bytes(
    128
)
_OF_RUN = b"\1" * (_LONG // _STRIDE - 1)


@dataclass(frozen=True, slots=True)
class Sieve:
    """Immutable; may be used from several threads at once. `tests`: expressions that say together
    when `look` would see anything that calls for a reading; `foreign`: those for what is no ASCII.
    """

    sentry: Sentry = field(repr=False)
    words: Words = field(repr=False)
    tests: tuple["re2._Regexp", ...] = field(repr=False)
    foreign: "re2._Regexp" = field(repr=False)

    @classmethod
    def of(cls, sentry: Sentry, words: Words) -> "Sieve":
        """With every test that `sentry` makes."""
        return cls(sentry, words, *_compiled())

    def kept(self, texts: Sequence[str]) -> set[int]:
        """Numbers of the texts that need a look of their own."""
        kept: set[int] = set()
        for first, chunk in _chunks(texts):
            kept.update(first + number for number in self._kept(chunk))
        return kept

    def across(self, texts: Sequence[str], *, marked: bool) -> set[int]:
        """The same for texts of which only anchors and the deny corpus count. `marked`: they hold
        parts that have been read, with marks between them."""
        look = self.sentry.ruled if marked and not self.sentry.marked else self.sentry.anchors
        kept: set[int] = set()
        for first, chunk in _chunks(texts):
            data, ends = _joined(chunk)
            kept.update(first + number for number in _anchored(look(data), ends))
        return kept

    def spoken(self, texts: Sequence[str]) -> set[int]:
        """The same for texts of which only words count."""
        kept: set[int] = set()
        for first, chunk in _chunks(texts):
            data, ends = _joined(chunk)
            kept.update(first + number for number in self._worded(data, ends))
        return kept

    def _kept(self, texts: Sequence[str]) -> set[int]:
        data, ends = _joined(texts)
        kept = _anchored(self.sentry.anchors(data), ends).union(self._worded(data, ends))
        plain = data.isascii() and b"\x1b" not in data
        for test in self.tests if plain else (*self.tests, self.foreign):
            kept.update(_met(test.search, data, ends))
        kept.update(_long(data, ends))
        return kept

    def _worded(self, data: bytes, ends: Sequence[int]) -> Iterator[int]:
        for start, end in self.words.where(data):
            yield from range(bisect_left(ends, start), min(bisect_left(ends, end) + 1, len(ends)))


@cache
def _compiled() -> tuple[tuple["re2._Regexp", ...], "re2._Regexp"]:
    tests = (
        [test for name, test in AFTER["run"].items() if name != "long"],
        [*AFTER["hex"].values(), *AFTER["line"].values()],
        [JOINT, *AFTER["hexish"].values(), *(FIRST[name] for name in FIRST if name not in AFTER)],
    )
    return tuple(map(_any, tests)), _any(
        [b"\x1b", *(test for name, test in AFTER["foreign"].items() if name != "far")]
    )


def _any(expressions: Sequence[bytes]) -> "re2._Regexp":
    return linear(b"|".join(b"(?:%s)" % each for each in expressions), _MEMORY)


def _chunks(texts: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    first = size = 0
    for number, length in enumerate(map(len, texts)):
        size += length
        if size > _CHUNK:
            yield first, texts[first : number + 1]
            first, size = number + 1, 0
    if first < len(texts):
        yield first, texts[first:]


def _joined(texts: Sequence[str]) -> tuple[bytes, list[int]]:
    """All of the texts as one, and where each ends, with what stands behind it."""
    data = APART.join(texts).encode(errors="replace")
    parts: Sequence[str | bytes] = texts
    if not data.isascii():
        parts = [text.encode(errors="replace") for text in texts]
    gap = len(APART)
    return data, list(
        accumulate(map(len, parts), lambda end, size: end + gap + size, initial=-gap)
    )[1:]


def _anchored(signs: Signs, ends: Sequence[int]) -> set[int]:
    if signs.denied:
        return set(range(len(ends)))
    return {bisect_left(ends, at) for _, at in signs.hits}


def _met(
    search: Callable[[bytes, int], "re2._Match | None"], data: bytes, ends: Sequence[int]
) -> Iterator[int]:
    """All texts that instances lie in, even in part: where one begins in another text, it may hide
    one that does not."""
    at = 0
    while found := search(data, at):
        first, last = bisect_left(ends, found.start()), bisect_left(ends, found.end())
        yield from range(first, min(last + 1, len(ends)))
        if last >= len(ends) - 1:
            return
        at = ends[last] + 1


def _long(data: bytes, ends: Sequence[int]) -> Iterator[int]:
    """Where a run of a thousand characters may stand: all of those looked at are a part of one."""
    sample = data[::_STRIDE].translate(_IN_RUN)
    at = sample.find(_OF_RUN)
    while at >= 0:
        number = bisect_left(ends, at * _STRIDE)
        yield number
        if number >= len(ends) - 1:
            return
        at = sample.find(_OF_RUN, ends[number] // _STRIDE + 1)
