"""Texts laid side by side, to be gone over as one.

Owns how they lie, whose text a place is in, and which stretches of it are runs of characters. It
must not know what is looked for.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

import re2

APART = "\n\0\n"
"""Stands between texts that are looked at together: nothing but words goes across."""
_GAP = len(APART)
_CHUNK = 1 << 17
_BACK = 2048
"""Characters of what came before that a chunk begins with: words may go on from there."""
_EDGE = 4096
"""Bytes from either end of a text in which something may begin that has a part in another."""
_LONGER = 512
"""Bytes that breaks may add to a value, and more."""
_LONG, _STRIDE = 1000, 25
_IN_RUN = bytes(1 if chr(code).isalnum() or code in b"+/_-" else 0 for code in range(128)) + bytes(
    128
)
_SHORTEST = b"\1" * 24
"""A run that is decoded; shorter ones stand for nothing."""
_STRETCH = 512
"""Bytes from the beginning of a run that are looked at in any case, with all runs in them."""
_PATIENCE = 2048
"""Bytes from which on it shows how much of a text runs are."""
_BEHIND = 8
"""Bytes behind a run that belong to it: padding, and the end of the line."""
_OF_RUN = b"\1" * (_LONG // _STRIDE - 1)
_SURE = _STRIDE * (len(_OF_RUN) - 1)
"""Bytes from the first of so many to the last."""

Search = Callable[[bytes, int], "re2._Match | None"]


class Joined:
    """Texts as one: `texts` from number `first` on, the first `old` of which were gone over."""

    __slots__ = ("_ends", "_old", "_runs", "_texts", "data", "first", "plain")

    def __init__(self, texts: Sequence[str], first: int = 0, old: int = 0) -> None:
        self._texts = texts
        self._old = old
        self.first = first
        self.data = APART.join(texts).encode(errors="replace")
        self.plain = self.data.isascii()
        self._ends: list[int] = []
        self._runs: Runs | None = None

    @property
    def fresh(self) -> bytes:
        """Without the texts that were gone over."""
        return self.data[self.ends[self._old - 1] :] if self._old else self.data

    @property
    def ends(self) -> list[int]:
        """Where each text ends, with what stands behind it."""
        if not self._ends:
            self._ends = _ends(self._texts if self.plain else list(map(encoded, self._texts)))
        return self._ends

    @property
    def last(self) -> int:
        return self.first + len(self._texts) - 1

    @property
    def all(self) -> range:
        return range(self.first, self.last + 1)

    def number(self, at: int) -> int:
        """Of the text that the byte at `at` is in, or is the one behind."""
        return self.first + min(bisect_right(self.ends, at), len(self._texts) - 1)

    def numbers(self, start: int, end: int) -> range:
        """Of the texts that have a part between `start` and `end`."""
        stop = min(bisect_left(self.ends, end) + 1, len(self._texts))
        return range(self.first + bisect_right(self.ends, start), self.first + stop)

    def start(self, number: int) -> int:
        """Where the text with this number begins."""
        index = number - self.first
        return self.ends[index - 1] if index else 0

    def text(self, number: int) -> str:
        """The text with this number."""
        return self._texts[number - self.first]

    def near_an_end(self, at: int, before: int, behind: int) -> bool:
        """Whether what begins so many bytes before `at`, or ends so many behind it, may go on in
        another text. Lines and strings that break it off make it longer."""
        number = self.number(at)
        end = self.ends[number - self.first]
        return at - self.start(number) <= min(_EDGE, before + _LONGER) or end - at <= min(
            _EDGE, behind + _LONGER
        )

    def where(
        self, test: Callable[[bytes], bool], numbers: Iterable[int], shortest: int = 0
    ) -> Iterator[int]:
        """Those of the texts with these `numbers` that pass a test, which none passes that has
        fewer than `shortest` characters."""
        for number in numbers:
            text = self.text(number)
            if len(text) >= shortest and test(encoded(text)):
                yield number

    def those(self, numbers: range) -> bytes:
        """The texts with these `numbers`."""
        start, stop = numbers.start - self.first, numbers.stop - self.first
        return APART.join(self._texts[start:stop]).encode(errors="replace")

    def met(self, search: Search) -> Iterator[int]:
        """All texts that instances lie in, even in part: where one begins in another text, it may
        hide one that does not."""
        at = 0
        while found := search(self.data, at):
            numbers = self.numbers(found.start(), found.end())
            yield from numbers
            if numbers[-1] >= self.last:
                return
            at = self.ends[numbers[-1] - self.first]

    def met_in_runs(self, search: Search) -> Iterator[int]:
        """The same for what is found nowhere but in a run of characters, and round it."""
        if self._runs is None:
            self._runs = Runs(self.data)
        if self._runs.dense:
            yield from self.met(search)
            return
        at = 0
        while found := search(self._runs.data, at):
            number = self.number(self._runs.place(found.end() - 1))
            yield number
            at = max(found.end(), self._runs.at_or_behind(self.ends[number - self.first]))

    def long(self) -> Iterator[int]:
        """Where a run of a thousand characters may stand: all of those looked at are a part of
        one."""
        sample = self.data[::_STRIDE].translate(_IN_RUN)
        at = sample.find(_OF_RUN)
        while at >= 0:
            start = at * _STRIDE
            # Short texts of one length may have something between them wherever nobody looked.
            gap = self.data[start : start + _SURE].translate(_IN_RUN).rfind(0)
            if gap >= 0:
                at = sample.find(_OF_RUN, (start + gap) // _STRIDE + 1)
                continue
            number = self.number(start)
            yield number
            if number >= self.last:
                return
            at = sample.find(_OF_RUN, self.ends[number - self.first] // _STRIDE + 1)


class Runs:
    """The stretches of `source` with a run of 24 characters or more, each with what stands right
    before and behind it, so that no such run is cut. `dense`: they are too much of it to be worth
    it, and nothing is here."""

    __slots__ = ("_begins", "_starts", "data", "dense")

    def __init__(self, source: bytes) -> None:
        self._starts: list[int] = []
        self._begins: list[int] = []
        parts: list[bytes] = []
        flags = source.translate(_IN_RUN)
        begin, at = 0, flags.find(_SHORTEST)
        self.dense = False
        while at >= 0 and not self.dense:
            end = flags.find(0, at + _STRETCH)
            if end < 0:
                end = len(source)
            start = max(0, at - 1)
            parts.append(source[start : end + _BEHIND])
            self._starts.append(start)
            self._begins.append(begin)
            begin += len(parts[-1]) + 1
            self.dense = 2 * begin > end + _PATIENCE
            at = flags.find(_SHORTEST, end)
        self.data = b"\0".join(parts)

    def place(self, at: int) -> int:
        """Where in the source that stands which is at `at` here."""
        number = bisect_right(self._begins, at) - 1
        return self._starts[number] + at - self._begins[number]

    def at_or_behind(self, place: int) -> int:
        """Where here that stands which is at `place` in the source, or, where it is left out, what
        follows."""
        number = bisect_right(self._starts, place) - 1
        stretch = self._begins[number] + max(0, place - self._starts[number])
        if number + 1 < len(self._begins):
            return min(stretch, self._begins[number + 1])
        return min(stretch, len(self.data))


def laid_out(texts: Sequence[str]) -> Iterator[Joined]:
    """All of the texts, a chunk at a time; each but the first begins with the end of the last."""
    first = size = 0
    for number, length in enumerate(map(len, texts)):
        size += length
        if size > _CHUNK:
            yield _chunk(texts, first, number + 1)
            first, size = number + 1, 0
    if first < len(texts):
        yield _chunk(texts, first, len(texts))


def _chunk(texts: Sequence[str], first: int, stop: int) -> Joined:
    back, room = first, _BACK
    while back and room > 0:
        back -= 1
        room -= len(texts[back])
    if back == first:
        return Joined(texts[first:stop], first)
    old = texts[back][-_BACK:]
    return Joined([old, *texts[back + 1 : stop]], back, first - back)


def encoded(text: str) -> bytes:
    return text.encode(errors="replace")


def _ends(parts: Sequence[str | bytes]) -> list[int]:
    return list(accumulate(map(_GAP.__add__, map(len, parts))))
