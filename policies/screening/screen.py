"""The screen: reads strings and says which kinds of secrets stand where.

Owns the order of the passes over a text. It must not know a dialect, where text comes from, or
what becomes of a finding. A finding names a kind and a place; values stay in here.
"""

import hashlib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from policies.conversation import Strand
from policies.decision import Finding
from policies.screening import decode, views
from policies.screening.deny import literals
from policies.screening.engine import Engine, Gates, Literal, build, gates
from policies.screening.exempt import Fields, is_content
from policies.screening.places import place, place_of_key
from policies.screening.rules import Rule, load
from policies.screening.words import Words
from policies.screening.work import Exhausted, Work

AMBIGUOUS = "ambiguous"
"""Family of findings that say: this could not be read for certain."""

DEPTH = 3
"""Encodings inside encodings are undone this many times."""

SEAM = 4096
"""Characters on each side of a seam that may be halves of one secret."""

_SHORT = 12
FAMILIES: Mapping[str, str] = {
    "bip39": "wallet",
    "aezeed": "wallet",
    "electrum_seed": "wallet",
    "wif": "bitcoin",
    "deny_file": "deny",
    "macaroon": "macaroon",
    "cashu": "ecash",
    "fedimint": "ecash",
    "private_key_der": "keys",
    "ssh_private_key": "keys",
}
_TELLING = ("seed", "mnemonic", "recovery", "wallet", "passphrase", "bip39")

Kind = tuple[str, str]
"""Kind and family."""


@dataclass(frozen=True, slots=True)
class Screen:
    """Compiled rules and deny corpus: immutable, to be used from any number of threads.

    `version` changes with the rules and the deny corpus; a verdict is good for one version.
    """

    version: bytes
    engine: Engine = field(repr=False)
    anchored: Sequence[Sequence[Rule]] = field(repr=False)
    gates: Gates = field(repr=False)
    words: Words = field(repr=False)

    @classmethod
    def build(cls, deny: Mapping[str, bytes] = MappingProxyType({})) -> "Screen":
        """Compile the rules and the contents of the secret files, by name. Takes some 0.3 s, and
        longer for a large corpus: not for an event loop. Raises `ValueError` for a broken rule."""
        rules = load()
        anchors: dict[Literal, list[Rule]] = {}
        for rule in rules:
            for literal in rule.literals():
                anchors.setdefault(literal, []).append(rule)
        denied = sorted(literals(deny))
        engine = build([*anchors, *(Literal(text, once=True) for text in denied)])
        mark = hashlib.sha256(repr([(r.id, r.pattern.pattern, r.check) for r in rules]).encode())
        for text in denied:
            mark.update(hashlib.sha256(text).digest())
        return cls(
            mark.digest()[:16], engine, tuple(anchors.values()), gates(views.GATES), Words.load()
        )

    def findings(self, strands: Iterable[Strand]) -> tuple[Finding, ...]:
        """What stands in the strings and keys of one piece, and across neighbours among them."""
        piece = tuple(strands)
        fields = Fields(piece)
        found: list[Finding] = []
        for strand in piece:
            if len(strand.text) < _SHORT and not self._denied_only(strand.text):
                continue
            at = place_of_key(strand.address) if strand.is_key else place(strand.address)
            kinds = self._kinds_of(strand, fields)
            found += [Finding(kind, at, family) for kind, family in sorted(kinds)]
        if not found:
            parts = [strand for strand in piece if is_content(strand)]
            if len(parts) > 1:
                at = place(_common(parts))
                found += [Finding(kind, at, family) for kind, family in sorted(self._joined(parts))]
        return tuple(found)

    def seam(self, before: Sequence[Strand], after: Sequence[Strand]) -> tuple[Finding, ...]:
        """What stands across the end of one message and the start of the next."""
        left = "".join(strand.text for strand in before if is_content(strand))[-SEAM:]
        right = "".join(strand.text for strand in after if is_content(strand))[:SEAM]
        try:
            across, *alone = (
                self._anchored(text.encode(errors="replace"), Work(len(text)), loose=False)
                for text in (left + right, left, right)
            )
            kinds = across.difference(*alone)
        except Exhausted:
            kinds = {("work-exceeded", AMBIGUOUS)}
        at = place(after[0].address[:2]) if after else ""
        return tuple(Finding(kind, at, family) for kind, family in sorted(kinds))

    def _denied_only(self, text: str) -> bool:
        """Too short for anything but an entry of the deny corpus."""
        return len(text) >= 8 and bool(self.engine.anchors(text.encode(errors="replace")))

    def _kinds_of(self, strand: Strand, fields: Fields) -> set[Kind]:
        data = strand.text.encode(errors="replace")
        work = Work(len(data))
        try:
            if fields.sealed(strand):
                return self._anchored(data, work)
            telling = any(
                word in step.lower()
                for step in strand.address[-1:]
                if isinstance(step, str) and not strand.is_key
                for word in _TELLING
            )
            text = views.clean(strand.text)
            kinds = self._read(text, work, fields.media(strand), telling)
            if text != strand.text:
                # What cleaning took away may have been a part of it.
                kinds |= self._anchored(data, work)
            latin = views.alike(text)
            if latin is not None:
                kinds |= self._scan(latin.encode(errors="replace"), latin, work, telling)
        except Exhausted:
            return {("work-exceeded", AMBIGUOUS)}
        return kinds

    def _read(self, text: str, work: Work, media: str, telling: bool) -> set[Kind]:
        """One reading of a string with all its views; `media` is what the field beside claims."""
        data = text.encode(errors="replace")
        seen = self.gates(data)
        kinds = self._scan(data, text, work, telling, seen) | self._across_lines(data, seen, work)
        if "run" in seen:
            kinds |= self._decoded(data, work, media)
        for plain in views.unescaped(data, seen, work):
            shown = plain.decode(errors="replace")
            seen = self.gates(plain)
            kinds |= self._scan(plain, shown, work, telling, seen)
            kinds |= self._across_lines(plain, seen, work)
            if "run" in seen:
                kinds |= self._decoded(plain, work)
        return kinds

    def _across_lines(self, data: bytes, seen: Container[str], work: Work) -> set[Kind]:
        kinds: set[Kind] = set()
        for stripped in views.lines(data, seen, work):
            kinds |= self._anchored(stripped, work)
            for whole in views.joined(stripped, self.gates(stripped), work):
                kinds |= self._anchored(whole, work) | self._decoded(whole, work)
        for whole in views.joined(data, seen, work):
            kinds |= self._anchored(whole, work) | self._decoded(whole, work)
        for raw in views.dumped(data, seen, work):
            kinds |= _named(decode.heads(raw))
            kinds |= self._scan(raw, "", work, False) | self._decoded(raw, work, depth=1)
        return kinds

    def _decoded(self, data: bytes, work: Work, media: str = "", depth: int = 0) -> set[Kind]:
        """What base64, hex and base32 runs hold, and the runs in that, to the depth allowed."""
        kinds: set[Kind] = set()
        while depth < DEPTH:
            found = decode.decode(data, work, media)
            kinds |= _named(found.kinds)
            if found.opaque:
                kinds.add((found.opaque, AMBIGUOUS))
            data, media, depth = found.text, "", depth + 1
            if not data:
                break
            kinds |= self._scan(data, "", work, False)
        return kinds

    def _scan(
        self, data: bytes, text: str, work: Work, telling: bool, seen: Container[str] = ()
    ) -> set[Kind]:
        seeds = self.words.findings(
            text or data.decode("latin-1"), data, work, context=telling, labelled="label" in seen
        )
        return self._anchored(data, work) | _named(seeds)

    def _anchored(self, data: bytes, work: Work, *, loose: bool = True) -> set[Kind]:
        """Rules with an anchor, and the deny corpus. Not `loose`: no rules that need context."""
        work.spend("anchors", len(data))
        kinds: set[Kind] = set()
        done: set[str] = set()
        for number, start in self.engine.anchors(data):
            if number >= len(self.anchored):
                kinds.add(("deny_file", "deny"))
                continue
            for rule in self.anchored[number]:
                if rule.id in done or not (loose or rule.reliability != "context"):
                    continue
                hit, cost = rule.at(data, start)
                work.spend("anchors", cost)
                if hit:
                    kinds.add((rule.kind, rule.family))
                    done.add(rule.id)
        return kinds

    def _joined(self, parts: Sequence[Strand]) -> set[Kind]:
        ends = [
            text if len(text) <= 2 * SEAM else f"{text[:SEAM]}\n\0\n{text[-SEAM:]}"
            for text in (strand.text for strand in parts)
        ]
        data = "".join(ends).encode(errors="replace")
        work = Work(len(data))
        spaced = " ".join(ends)
        try:
            seeds = self.words.findings(spaced, spaced.encode(errors="replace"), work)
            return self._anchored(data, work, loose=False) | _named(seeds)
        except Exhausted:
            return {("work-exceeded", AMBIGUOUS)}


def _named(kinds: Iterable[str]) -> set[Kind]:
    return {(kind, FAMILIES[kind]) for kind in kinds}


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
