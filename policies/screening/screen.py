"""The screen: reads strings and says which kinds of secrets stand where.

Owns which strings need a reading at all, and what is read across their ends. It must not know a
dialect, where text comes from, or what becomes of a finding. A finding names a kind and a place;
values stay in here.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache
from types import MappingProxyType

from policies.conversation import Strand
from policies.decision import Finding
from policies.screening.beside import APART
from policies.screening.deny import literals
from policies.screening.exempt import Fields, is_content
from policies.screening.mending import BETWEEN_PARTS
from policies.screening.own import Own
from policies.screening.parts import (
    SEAM,
    SHORTEST,
    WORDS_SEAM,
    Strings,
    contents,
    crossing,
    meeting,
    spaced,
)
from policies.screening.places import place, place_of_key
from policies.screening.reading import AMBIGUOUS, Kind, Reading, Tools
from policies.screening.rules import load
from policies.screening.sieve import Sieve
from policies.screening.sifting import ACROSS, Suspects, look_over
from policies.screening.signs import Sentry, Signs, engines
from policies.screening.words import Words
from policies.screening.work import Exhausted, Work

_SHORT = 12
"""Characters below which only the deny corpus speaks."""
_SMALL, _BATCH = 2048, 1 << 16
"""Strings up to the first many characters are looked at together, the second many at a time."""
_TELLING = ("seed", "mnemonic", "recovery", "wallet", "passphrase", "bip39")


Shipped = tuple[bytes, Tools]


def compiled(ready: Mapping[str, bytes] = MappingProxyType({})) -> Shipped:
    """What comes with Transom, compiled, and a digest of it. Immutable. `ready`: what `pack` gave
    in other processes of this very version."""
    rules = load()
    shape = [(r.id, r.anchors, r.then, r.trigger, r.source, r.check) for r in rules]
    mark = hashlib.sha256(repr(shape).encode()).digest()
    return mark, Tools(Sentry(rules, packed=ready), Words.load())


def pack(*, first: bool) -> dict[str, bytes]:
    """What takes long to compile, compiled: half of it with `first`, the other half without."""
    return engines(load(), first=first)


@cache
def shipped() -> Shipped:
    """`compiled`, once for the process."""
    return compiled()


@dataclass(frozen=True, slots=True)
class Screen:
    """Compiled rules and deny corpus: immutable, to be used from any number of threads.

    `version` changes with the rules and the deny corpus; a verdict is good for one version.
    """

    version: bytes
    tools: Tools = field(repr=False)
    sieve: Sieve = field(repr=False)

    @classmethod
    def build(
        cls, deny: Mapping[str, bytes] = MappingProxyType({}), rules: Shipped | None = None
    ) -> "Screen":
        """Compile the contents of the secret files, by name. `rules`: those that are compiled
        already; else it is done once for the process, which takes some 0.3 s. Not for an event
        loop. Raises `ValueError` for a broken rule."""
        mark, tools = rules or shipped()
        version = hashlib.sha256(mark)
        for content in sorted({hashlib.sha256(text).digest() for text in deny.values()}):
            version.update(content)
        sentry = tools.sentry.denying(literals(deny))
        return cls(
            version.digest()[:16], replace(tools, sentry=sentry), Sieve.of(sentry, tools.words)
        )

    def suspects(
        self,
        pieces: Mapping[int, Strings],
        read: Collection[int],
        seams: Sequence[tuple[int, int]] = (),
        own: Own | None = None,
    ) -> Suspects:
        """What of the `pieces`, by their numbers in a body, `findings` and `seam` may find
        something in, each by itself: of those to `read`, and of `seams`, first and last piece of
        each, which may be others. For many pieces this is a fraction of the work. `own`:
        credentials of which it says whether one may stand in any piece that is read."""
        return look_over(self.sieve, pieces, read, seams, own.corpus if own else None)

    def findings(
        self, strands: Iterable[Strand], suspects: Set[int] | None = None
    ) -> tuple[Finding, ...]:
        """What stands in the strings and keys of one piece, and across neighbours among them; of
        those alone that are `suspects`, if these are known."""
        piece = tuple(strands)
        fields = Fields(piece)
        found: list[Finding] = []
        known = None if suspects is None else [piece[n] for n in sorted(suspects - {ACROSS})]
        for strand in self._odd(piece) if known is None else known:
            data = strand.text.encode(errors="replace")
            if (signs := self._sighted(data)) is None:
                if not fields.media(strand):
                    continue
                signs = self.tools.sentry.look(data)
            at = place_of_key(strand.address) if strand.is_key else place(strand.address)
            kinds = self._kinds_of(strand, data, signs, fields)
            found += [Finding(kind, at, family) for kind, family in sorted(kinds)]
        if not found and (suspects is None or ACROSS in suspects):
            parts = [strand for strand in piece if is_content(strand)]
            if len(parts) > 1:
                kinds = self._joined([strand.text for strand in parts])
                at = place(_common(parts)) if kinds else ""
                found += [Finding(kind, at, family) for kind, family in sorted(kinds)]
            keys = [strand.text for strand in piece if strand.is_key]
            kinds = self._across("".join(keys), "") | self._across(BETWEEN_PARTS.join(keys), "")
            at = place_of_key(_common(piece)) if kinds else ""
            found += [Finding(kind, at, family) for kind, family in sorted(kinds)]
        return tuple(found)

    def seam(self, before: Sequence[Strand], after: Sequence[Strand]) -> tuple[Finding, ...]:
        """What stands across the end of one message, or of several short ones, and the start of the
        next."""
        met = meeting(contents(before), contents(after))
        whole, marked = met.crossing
        worded = self.tools.words.meet(met.left, met.right)
        both = f"{met.words} {met.right[:WORDS_SEAM]}" if worded else ""
        kinds = self._across(whole, both) | self._across(marked, "")
        if kinds:
            for text, words in ((met.left, met.words), (met.right, met.right)):
                kinds -= {kind for kind in self._across(text, words) if kind[1] != AMBIGUOUS}
        at = place(after[0].address[:2]) if after else ""
        return tuple(Finding(kind, at, family) for kind, family in sorted(kinds))

    def _odd(self, piece: Sequence[Strand]) -> Iterator[Strand]:
        """Strings that have to be looked at by themselves, in any order: short ones are looked at
        together first."""
        batch: list[Strand] = []
        size = 0
        for strand in piece:
            length = len(strand.text)
            if length > _SMALL or (strand.address and strand.address[-1] == "data"):
                yield strand
                continue
            if length >= SHORTEST:
                batch.append(strand)
                size += length
            if size > _BATCH:
                yield from self._odd_of(batch)
                batch, size = [], 0
        yield from self._odd_of(batch)

    def _odd_of(self, batch: Sequence[Strand]) -> Sequence[Strand]:
        text = APART.join([strand.text for strand in batch])
        return () if self._sighted(text.encode(errors="replace")) is None else batch

    def _sighted(self, data: bytes) -> Signs | None:
        """What the tests see in `data`, if it calls for a reading."""
        signs = self.tools.sentry.look(data)
        if not signs.plain and "escape" in signs.seen:
            return signs
        signs.words = self.tools.words.may_hold(data, signs.seen)
        return None if signs.plain and not signs.words else signs

    def _kinds_of(self, strand: Strand, data: bytes, signs: Signs, fields: Fields) -> set[Kind]:
        if len(strand.text) < _SHORT:
            return {("deny_file", "deny")} if signs.denied else set()
        reading = Reading(self.tools, Work(len(data)), _tells(strand))
        try:
            if fields.sealed(strand):
                reading.sealed(data, signs)
                return reading.kinds
            reading.read(data, signs, media=fields.media(strand))
        except Exhausted:
            return {("work-exceeded", AMBIGUOUS)}
        return reading.kinds

    def _joined(self, parts: Sequence[str]) -> set[Kind]:
        whole, marked = crossing(parts, SEAM)
        return self._across(whole, spaced(parts)) | self._across(marked, "")

    def _across(self, text: str, words: str) -> set[Kind]:
        """Kinds that are sure of themselves, in `text`, and seeds in `words`."""
        data, worded = text.encode(errors="replace"), words.encode(errors="replace")
        signs = self.tools.sentry.anchors(data)
        worded_too = bool(worded) and self.tools.words.may_hold(worded, ("far",))
        if not (signs.hits or signs.denied or worded_too):
            return set()
        reading = Reading(self.tools, Work(len(data) + len(worded)))
        try:
            reading.anchored(data, signs, loose=False)
            if worded_too:
                reading.worded(worded, self.tools.sentry.look(worded))
        except Exhausted:
            return {("work-exceeded", AMBIGUOUS)}
        return reading.kinds


def _tells(strand: Strand) -> bool:
    step = strand.address[-1] if strand.address else ""
    if strand.is_key or not isinstance(step, str):
        return False
    return any(word in step.lower() for word in _TELLING)


def _common(strands: Sequence[Strand]) -> tuple[str | int, ...]:
    """The longest way that all of the strands share."""
    first = strands[0].address
    shared = len(first)
    for strand in strands[1:]:
        same = 0
        while same < min(shared, len(strand.address)) and strand.address[same] == first[same]:
            same += 1
        shared = same
    return first[:shared]
