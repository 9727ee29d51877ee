"""Which of many texts need a reading at all: one pass over all of them, side by side.

Owns the passes over whole requests. It must not know what a reading does, nor whose texts they
are. What it lets go is clean in the eyes of a reading, which sees one text at a time, or the ends
of two; what it keeps may be clean as well.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from typing import TypeAlias

import re2

from policies.screening.corpus import SQUEEZED, Corpus
from policies.screening.engine import linear
from policies.screening.signs import AFTER, FIRST, JOINT, Sentry
from policies.screening.views import unescaped
from policies.screening.words import SHORTEST_FAR_RUN, SHORTEST_RUN, Words
from policies.screening.work import Work

APART = "\n\0\n"
"""Stands between texts that are looked at together: nothing but words goes across."""
_GAP = len(APART)
_CHUNK = 1 << 17
_MEMORY = 1 << 26
_SMALL = 4096
"""Bytes up to which it is worth it to ask first whether anything but escapes stands there."""
_ESCAPED = frozenset({"escape"})
_BACK = 2048
"""Characters of what came before that a chunk begins with: words may go on from there."""
_EDGE = 4096
"""Bytes from either end of a text in which something may begin that has a part in another."""
LEVELS = 3
"""Escapes are undone this many times."""
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


Test: TypeAlias = "re2._Regexp"
Search = Callable[[bytes, int], "re2._Match | None"]


@dataclass(slots=True)
class Sifted:
    """Numbers of what has to be looked at by itself: texts in `kept`, in `tested` those in which
    there may be nothing but escapes, edges in `edges`. `open`: texts that may hold a part of what
    stands in their neighbours as well. `own`: one of the credentials may stand somewhere."""

    kept: set[int] = field(default_factory=set)
    tested: set[int] = field(default_factory=set)
    open: set[int] = field(default_factory=set)
    edges: set[int] = field(default_factory=set)
    own: bool = False


@dataclass(frozen=True, slots=True)
class Sieve:
    """Immutable; may be used from several threads at once. `tests`: expressions that say together
    with `run_tests`, for what stands in runs, when `look` would see anything that calls for a
    reading; `unescaped`: the same but for escapes; `foreign`: those for what is no ASCII."""

    sentry: Sentry = field(repr=False)
    words: Words = field(repr=False)
    run_tests: tuple[Test, ...] = field(repr=False)
    tests: Test = field(repr=False)
    unescaped: Test = field(repr=False)
    foreign: Test = field(repr=False)

    @classmethod
    def of(cls, sentry: Sentry, words: Words) -> "Sieve":
        """With every test that `sentry` makes."""
        return cls(sentry, words, *_compiled())

    @property
    def reach(self) -> int:
        """Bytes of the longest denied value that is looked for in edges."""
        return self.sentry.denied.reach if self.sentry.denied else 0

    def sift(
        self,
        texts: Sequence[str],
        edges: Sequence[str] = (),
        own: Corpus | None = None,
        worded: int | None = None,
    ) -> Sifted:
        """Go over `texts`, of which neighbours may be parts of one secret, and over `edges`, where
        ends of texts meet: only what has an anchor counts there, and what the deny corpus does not
        find in `texts`. `own`: credentials to look for in the texts. `worded`: so many of the texts
        at the beginning, or all, may each have some words of one seed."""
        sifted = Sifted()
        denied, credentials = _Sought(self.sentry.denied), _Sought(own)
        for joined in _joined(texts):
            self._anchored(joined, sifted)
            self._worded(joined, sifted, len(texts) if worded is None else worded)
            self._tested(joined, sifted)
            bare = joined.fresh.translate(None, SQUEEZED) if denied.corpus or own else b""
            if denied.corpus and denied.meet(joined.data, bare):
                # A value may have parts in any of them, or in those before.
                sifted.kept.update(joined.where(denied.corpus.in_, joined.all))
                sifted.open.update(range(joined.last + 1))
            sifted.own = sifted.own or credentials.meet(joined.data, bare)
        if edges:
            self._edged(_Joined(edges), sifted)
        return sifted

    def remaining(self, texts: Mapping[int, str]) -> set[int]:
        """Numbers of the `texts`, all `tested` and not `kept`, that still need a reading once
        escapes are undone: the others have nothing else to be looked at, and what they say without
        is clean."""
        left: set[int] = set()
        for _ in range(LEVELS):
            if not texts:
                break
            numbers = list(texts)
            for joined in _joined(list(texts.values())):
                left.update(numbers[at] for at in joined.met(self.unescaped.search))
            plain = {number: _plain(text) for number, text in texts.items() if number not in left}
            views = {number: view for number, view in plain.items() if view}
            numbers = list(views)
            sifted = self.sift(list(views.values()))
            left.update(numbers[at] for at in sifted.kept)
            texts = {numbers[at]: views[numbers[at]] for at in sifted.tested - sifted.kept}
        return left.union(texts)

    def _anchored(self, joined: "_Joined", sifted: Sifted) -> None:
        for rule, at in self.sentry.ruled(joined.data).hits:
            number = joined.number(at)
            sifted.kept.add(number)
            if rule.sure and joined.near_an_end(at):
                sifted.open.add(number)

    def _edged(self, joined: "_Joined", sifted: Sifted) -> None:
        hits = self.sentry.ruled(joined.data).hits
        sifted.edges.update(joined.number(at) for rule, at in hits if rule.sure)
        denied = self.sentry.denied
        if denied and denied.reach and denied.in_(joined.data):
            sifted.edges.update(range(joined.last + 1))

    def _worded(self, joined: "_Joined", sifted: Sifted, stop: int) -> None:
        for start, end in self.words.stretches(joined.data):
            numbers = joined.numbers(start, end)
            sifted.kept.update(joined.where(self.words.latin_run, numbers, SHORTEST_RUN))
            parts = range(numbers.start, min(numbers.stop, stop))
            if parts and self.words.latin_run(joined.those(parts)):
                sifted.open.update(parts)
        if self.words.far_run(joined.data):
            sifted.kept.update(joined.where(self.words.far_run, joined.all, SHORTEST_FAR_RUN))
            sifted.open.update(range(joined.first, min(joined.last + 1, stop)))

    def _tested(self, joined: "_Joined", sifted: Sifted) -> None:
        if len(joined.data) <= _SMALL and (odd := self.sentry.odd(joined.data)) <= _ESCAPED:
            if odd:
                sifted.tested.update(joined.where(_may_escape, joined.all))
            return
        sifted.tested.update(joined.met(self.tests.search))
        if not joined.plain or b"\x1b" in joined.data:
            sifted.kept.update(joined.met(self.foreign.search))
        for test in self.run_tests:
            sifted.kept.update(joined.met_in_runs(test.search))
        sifted.kept.update(joined.long())


class _Sought:
    """One search for a corpus, chunk by chunk, without what may stand between the halves of a text,
    and without the ends of texts: what is met there may have its parts in several."""

    def __init__(self, corpus: Corpus | None) -> None:
        self.corpus = corpus
        self._tail = b""

    def meet(self, data: bytes, bare: bytes) -> bool:
        if self.corpus is None:
            return False
        bare = self._tail + bare
        self._tail = bare[-self.corpus.longest :]
        return self.corpus.met(data, bare)


class _Joined:
    """Texts as one: `texts` from number `first` on, the first `old` of which were gone over."""

    __slots__ = ("_ends", "_old", "_runs", "_texts", "data", "first", "plain")

    def __init__(self, texts: Sequence[str], first: int = 0, old: int = 0) -> None:
        self._texts = texts
        self._old = old
        self.first = first
        self.data = APART.join(texts).encode(errors="replace")
        self.plain = self.data.isascii()
        self._ends: list[int] = []
        self._runs: _Runs | None = None

    @property
    def fresh(self) -> bytes:
        """Without the texts that were gone over."""
        return self.data[self.ends[self._old - 1] :] if self._old else self.data

    @property
    def ends(self) -> list[int]:
        """Where each text ends, with what stands behind it."""
        if not self._ends:
            self._ends = _ends(self._texts if self.plain else list(map(_encoded, self._texts)))
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

    def near_an_end(self, at: int) -> bool:
        ends = self.ends
        index = min(bisect_right(ends, at), len(ends) - 1)
        start = ends[index - 1] if index else 0
        return at - start <= _EDGE or ends[index] - at <= _EDGE

    def where(
        self, test: Callable[[bytes], bool], numbers: Iterable[int], shortest: int = 0
    ) -> Iterator[int]:
        """Those of the texts with these `numbers` that pass a test, which none passes that has
        fewer than `shortest` characters."""
        for number in numbers:
            text = self._texts[number - self.first]
            if len(text) >= shortest and test(_encoded(text)):
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
            self._runs = _Runs(self.data)
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


class _Runs:
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


def _joined(texts: Sequence[str]) -> Iterator[_Joined]:
    """All of the texts, a chunk at a time; each but the first begins with the end of the last."""
    first = size = 0
    for number, length in enumerate(map(len, texts)):
        size += length
        if size > _CHUNK:
            yield _chunk(texts, first, number + 1)
            first, size = number + 1, 0
    if first < len(texts):
        yield _chunk(texts, first, len(texts))


def _chunk(texts: Sequence[str], first: int, stop: int) -> _Joined:
    back, room = first, _BACK
    while back and room > 0:
        back -= 1
        room -= len(texts[back])
    if back == first:
        return _Joined(texts[first:stop], first)
    old = texts[back][-_BACK:]
    return _Joined([old, *texts[back + 1 : stop]], back, first - back)


def _plain(text: str) -> str:
    """The text without escapes; nothing where that makes no difference."""
    data = _encoded(text)
    view, _ = unescaped(data, Work(len(data)))
    return view.decode(errors="replace")


def _may_escape(data: bytes) -> bool:
    return b"\\" in data or b"%" in data or b"&" in data


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")


def _ends(parts: Sequence[str | bytes]) -> list[int]:
    return list(accumulate(map(_GAP.__add__, map(len, parts))))


@cache
def _compiled() -> tuple[tuple[Test, ...], Test, Test, Test]:
    in_runs = (
        [test for name, test in AFTER["run"].items() if name != "long"],
        [*AFTER["hex"].values(), *AFTER["line"].values()],
    )
    others = [JOINT, *AFTER["hexish"].values()]
    others += [test for name, test in FIRST.items() if name not in (*AFTER, "escape")]
    foreign = [test for name, test in AFTER["foreign"].items() if name != "far"]
    tests = _any([*others, FIRST["escape"]])
    return tuple(map(_any, in_runs)), tests, _any(others), _any([b"\x1b", *foreign])


def _any(expressions: Sequence[bytes]) -> Test:
    return linear(b"|".join(b"(?:%s)" % each for each in expressions), _MEMORY)
