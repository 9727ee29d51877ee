"""The reading of one string: its views, and what is coded in them, until nothing is left to open.

Owns the order of the passes over a text. It must not know a dialect, where text comes from, or
what becomes of a finding. Values stay in here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from policies.screening import decode, views
from policies.screening.signs import Sentry, Signs
from policies.screening.words import Words
from policies.screening.work import Work

AMBIGUOUS = "ambiguous"
"""Family of findings that say: this could not be read for certain."""

DEPTH = 3
"""Encodings inside encodings are undone this many times."""

FAMILIES: Mapping[str, str] = {
    "bip39": "wallet",
    "aezeed": "wallet",
    "electrum_seed": "wallet",
    "slip39": "wallet",
    "monero_seed": "wallet",
    "wif": "bitcoin",
    "deny_file": "deny",
    "macaroon": "macaroon",
    "cashu": "ecash",
    "fedimint": "ecash",
    "private_key_der": "keys",
    "ssh_private_key": "keys",
}

Kind = tuple[str, str]
"""Kind and family."""

_VIEWS = ("lines", "joined", "dumped", *["unescaped"] * 3)
"""Each once on the way to one view; escapes are undone three times, as JSON in JSON has them."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What every reading needs: the tests, compiled, and the word lists."""

    sentry: Sentry = field(repr=False)
    words: Words = field(repr=False)


@dataclass(slots=True)
class Reading:
    """What was found in one string so far. `telling`: a key beside it speaks of a wallet."""

    tools: Tools
    work: Work
    telling: bool = False
    kinds: set[Kind] = field(default_factory=set)

    def read(
        self,
        data: bytes,
        signs: Signs,
        *,
        media: str = "",
        depth: int = 0,
        allowed: Sequence[str] = _VIEWS,
    ) -> None:
        """Everything that stands in `data`, of which `signs` were seen, in the views that are
        `allowed`, and in what they decode to. `media`: what the field beside it claims. Raises
        `Exhausted`."""
        self.anchored(data, signs)
        plain, whole = b"", False
        if "escape" in signs.seen and "unescaped" in allowed:
            plain, whole = views.unescaped(data, self.work)
        if signs.words is not False and not whole:
            self.worded(data, signs)
        if signs.plain and not media:
            return
        if depth < DEPTH:
            self._open(data, signs, media, depth)
        for name, view in self._views(data, signs, allowed):
            self._again(view, depth, [other for other in allowed if other != name])
        rest = list(allowed)
        if plain:
            rest.remove("unescaped")
        self._again(plain, depth, rest)

    def _open(self, data: bytes, signs: Signs, media: str, depth: int) -> None:
        """What the runs in `data` stand for, those that go over several lines in one piece."""
        sentry, seen, coded = self.tools.sentry, signs.seen, signs.coded or bool(media)
        if "lines" in seen:
            runs, rest = views.wrapped(data, self.work)
            across = sentry.look(runs)
            self.anchored(runs, across)
            data, seen, coded = rest + b"\n" + runs, seen | across.seen, coded or across.coded
        if coded:
            found = decode.decode(data, seen, sentry.coded, self.work, media)
            self._name(found.kinds)
            if found.opaque:
                self.kinds.add((found.opaque, AMBIGUOUS))
            if found.raw:
                self.anchored(found.raw, sentry.anchors(found.raw))
            self._again(found.text, depth + 1, _VIEWS)

    def _again(self, data: bytes, depth: int, allowed: Sequence[str]) -> None:
        if data:
            self.read(data, self.tools.sentry.look(data), depth=depth, allowed=allowed)

    def anchored(self, data: bytes, signs: Signs, *, loose: bool = True) -> None:
        """Rules with an anchor, and the deny corpus. Not `loose`: no rules that need context."""
        self.work.spend("anchors", len(data))
        if signs.denied:
            self.kinds.add(("deny_file", "deny"))
        for rule, anchor in signs.hits:
            kind = rule.kind, rule.family
            if kind in self.kinds or not (loose or rule.reliability != "context"):
                continue
            if rule.holds(data, anchor, self.work):
                self.kinds.add(kind)

    def worded(self, data: bytes, signs: Signs) -> None:
        """Wallet seeds."""
        labelled, far = "label" in signs.seen, "far" in signs.seen
        self._name(
            self.tools.words.findings(
                data, self.work, context=self.telling, labelled=labelled, far=far
            )
        )

    def _views(
        self, data: bytes, signs: Signs, allowed: Sequence[str]
    ) -> Iterator[tuple[str, bytes]]:
        seen, work = signs.seen, self.work
        for name in dict.fromkeys(allowed):
            match name:
                case "lines":
                    made: Iterable[bytes] = views.lines(data, seen, work)
                case "joined":
                    made = views.joined(data, signs.joints, work)
                case "dumped":
                    made = self._dumped(data, signs)
                case _:
                    continue
            for view in made:
                yield name, view

    def _dumped(self, data: bytes, signs: Signs) -> Iterator[bytes]:
        for raw in views.dumped(data, signs.seen, self.work):
            self._name(decode.heads(raw))
            yield raw

    def _name(self, kinds: Iterable[str]) -> None:
        self.kinds.update((kind, FAMILIES[kind]) for kind in kinds)
