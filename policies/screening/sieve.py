"""Which of many texts need a reading at all: one pass over all of them, side by side.

Owns the passes over whole requests. It must not know what a reading does, nor whose texts they
are. What it lets go is clean in the eyes of a reading, which sees one text at a time, or the ends
of two; what it keeps may be clean as well.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

import re2

from policies.screening.beside import Joined, encoded, laid_out
from policies.screening.corpus import SQUEEZED, Corpus
from policies.screening.engine import linear
from policies.screening.rules import Rule
from policies.screening.signs import AFTER, FIRST, JOINT, Sentry
from policies.screening.views import unescaped
from policies.screening.words import SHORTEST_FAR_RUN, SHORTEST_RUN, Words
from policies.screening.work import FACTOR, Exhausted, Work

_MEMORY = 1 << 26
_SMALL = 4096
"""Bytes up to which it is worth it to ask first whether anything but escapes stands there."""
_ESCAPED = frozenset({"escape"})
LEVELS = 3
"""Escapes are undone this many times."""

Test: TypeAlias = "re2._Regexp"


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
        for joined in laid_out(texts):
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
            self._edged(Joined(edges), sifted)
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
            for joined in laid_out(list(texts.values())):
                left.update(numbers[at] for at in joined.met(self.unescaped.search))
            plain = {number: _plain(text) for number, text in texts.items() if number not in left}
            views = {number: view for number, view in plain.items() if view}
            numbers = list(views)
            sifted = self.sift(list(views.values()))
            left.update(numbers[at] for at in sifted.kept)
            texts = {numbers[at]: views[numbers[at]] for at in sifted.tested - sifted.kept}
        return left.union(texts)

    def _anchored(self, joined: Joined, sifted: Sifted) -> None:
        hits: defaultdict[int, list[tuple[Rule, int]]] = defaultdict(list)
        for rule, at in self.sentry.ruled(joined.data).hits:
            number = joined.number(at)
            hits[number].append((rule, at - joined.start(number)))
            if rule.sure and joined.near_an_end(at, rule.back, rule.reach):
                sifted.open.add(number)
        sifted.kept.update(n for n, those in hits.items() if _stands(those, joined.text(n)))

    def _edged(self, joined: Joined, sifted: Sifted) -> None:
        hits = self.sentry.ruled(joined.data).hits
        sifted.edges.update(joined.number(at) for rule, at in hits if rule.sure)
        denied = self.sentry.denied
        if denied and denied.reach and denied.in_(joined.data):
            sifted.edges.update(range(joined.last + 1))

    def _worded(self, joined: Joined, sifted: Sifted, stop: int) -> None:
        for start, end in self.words.stretches(joined.data):
            numbers = joined.numbers(start, end)
            sifted.kept.update(joined.where(self.words.latin_run, numbers, SHORTEST_RUN))
            parts = range(numbers.start, min(numbers.stop, stop))
            if parts and self.words.latin_run(joined.those(parts)):
                sifted.open.update(parts)
        if self.words.far_run(joined.data):
            sifted.kept.update(joined.where(self.words.far_run, joined.all, SHORTEST_FAR_RUN))
            sifted.open.update(range(joined.first, min(joined.last + 1, stop)))

    def _tested(self, joined: Joined, sifted: Sifted) -> None:
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


def _stands(hits: Iterable[tuple[Rule, int]], text: str) -> bool:
    """Whether one of the rules holds in the text, in which the anchors stand there."""
    data = encoded(text)
    # What takes long costs it twice if it is kept: a look is short beside a reading.
    work = Work(len(data) // FACTOR)
    try:
        return any(rule.stands(data, at, work) for rule, at in hits)
    except Exhausted:
        # SECURITY: what was not read to its end is read by itself, and is ambiguous there.
        return True


def _plain(text: str) -> str:
    """The text without escapes; nothing where that makes no difference."""
    data = encoded(text)
    view, _ = unescaped(data, Work(len(data)))
    return view.decode(errors="replace")


def _may_escape(data: bytes) -> bool:
    return b"\\" in data or b"%" in data or b"&" in data


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
