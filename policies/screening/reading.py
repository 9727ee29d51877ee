"""The reading of one string: its views, and what is coded in them, until nothing is left to open.

Owns the order of the passes over a text. It must not know a dialect, where text comes from, or
what becomes of a finding. Values stay in here.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from policies.screening import decode, spellings, views
from policies.screening.curve import is_pair
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
    "polyseed": "wallet",
    "solana_key": "wallet",
    "algorand_seed": "wallet",
    "wif": "bitcoin",
    "deny_file": "deny",
    "macaroon": "macaroon",
    "cashu": "ecash",
    "fedimint": "ecash",
    "private_key_der": "keys",
    "ssh_private_key": "keys",
}

_PAIR, _MOST_PAIRS = 64, 4
"""Bytes of a key pair, and how many rows of so many are looked at: more are a table."""
_PAIRING = 1 << 13
"""Bytes that could be looked at in the time that it takes to tell a pair."""

Kind = tuple[str, str]
"""Kind and family."""

_VIEWS = (
    *("halved", "cleaned", "quoted", "unescaped", "unescaped", "unescaped", "cleaned"),
    *("alike", "nuls", "lines", "joined", "spelled", "numbered", "dumped"),
)
"""From the outermost on: what a view shows is looked at in those after it, so that their number
does not multiply. Escapes are undone three times, as JSON in JSON has them."""
_CODINGS = ("numbered", "dumped")
"""Views that are codings: what they show may be dressed in any way, as what base64 stands for."""
_ALL, _NONE = 0, len(_VIEWS)


@dataclass(frozen=True, slots=True)
class Tools:
    """What every reading needs: the tests, compiled, and the word lists."""

    sentry: Sentry = field(repr=False)
    words: Words = field(repr=False)


@dataclass(slots=True)
class Reading:
    """What was found in one string so far. `telling`: a key beside it speaks of a wallet. `done`:
    views that were read, which is not done again."""

    tools: Tools
    work: Work
    telling: bool = False
    kinds: set[Kind] = field(default_factory=set)
    done: set[tuple[bytes, int, int]] = field(default_factory=set, repr=False)

    def read(
        self,
        data: bytes,
        signs: Signs,
        *,
        media: str = "",
        depth: int = 0,
        first: int = _ALL,
    ) -> None:
        """Everything that stands in `data`, of which `signs` were seen, in the views from the
        `first` on, and in what they decode to. `media`: what the field beside it claims. Raises
        `Exhausted`."""
        self.anchored(data, signs)
        plain, whole = b"", False
        undo = _VIEWS.index("unescaped", first) if "unescaped" in _VIEWS[first:] else _NONE
        if "escape" in signs.seen and undo < _NONE:
            plain, whole = views.unescaped(data, self.work)
        if signs.words is not False and not whole:
            self.worded(data, signs)
        if signs.plain and not media:
            return
        if depth < DEPTH:
            self._open(data, signs, media, depth)
        for name in dict.fromkeys(_VIEWS[first:]):
            after = _VIEWS.index(name, first) + 1
            for view in self._view(name, data, signs):
                if name in _CODINGS and depth < DEPTH:
                    self._again(view, depth + 1, _ALL)
                else:
                    self._again(view, depth, after)
        self._again(plain, depth, undo + 1)

    def _open(self, data: bytes, signs: Signs, media: str, depth: int) -> None:
        """What the runs in `data` stand for, those that go over several lines in one piece."""
        sentry, seen, coded = self.tools.sentry, signs.seen, signs.coded or bool(media)
        if "wallet" in seen:
            # As it stands: with the next line behind it a key is none any more.
            self.work.spend("decode", len(data))
            self._name(decode.wallet_keys(data))
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
            self._again(found.text, depth + 1, _ALL)

    def sealed(self, data: bytes, signs: Signs) -> None:
        """What is certain in a run that a vendor sealed, and in what it would be a coding of. Such
        a run is opaque by nature."""
        self.anchored(data, signs, loose=False)
        if signs.coded:
            found = decode.decode(data, signs.seen, self.tools.sentry.coded, self.work)
            self._name(found.kinds)
            for inner in (found.text, found.raw):
                self.anchored(inner, self.tools.sentry.anchors(inner), loose=False)

    def _again(self, data: bytes, depth: int, first: int) -> None:
        view = data, depth, first
        if data and view not in self.done:
            self.done.add(view)
            self.read(data, self.tools.sentry.look(data), depth=depth, first=first)

    def anchored(self, data: bytes, signs: Signs, *, loose: bool = True) -> None:
        """Rules with an anchor, and the deny corpus. Not `loose`: no rules that need context."""
        self.work.spend("anchors", len(data))
        if signs.denied:
            self.kinds.add(("deny_file", "deny"))
        for rule, anchor in signs.hits:
            kind = rule.kind, rule.family
            if kind in self.kinds or not (loose or rule.sure):
                continue
            if rule.stands(data, anchor, self.work):
                self.kinds.add(kind)

    def worded(self, data: bytes, signs: Signs) -> None:
        """Wallet seeds."""
        labelled, far = "label" in signs.seen, "far" in signs.seen
        self._name(
            self.tools.words.findings(
                data, self.work, context=self.telling, labelled=labelled, far=far
            )
        )

    def _view(self, name: str, data: bytes, signs: Signs) -> Iterable[bytes]:
        seen, work = signs.seen, self.work
        match name:
            case "unescaped":
                return ()
            case "lines":
                return views.lines(data, seen, work)
            case "joined":
                return views.joined(data, signs.joints, work)
            case "dumped":
                return self._named(views.dumped(data, seen, work))
            case "numbered":
                return self._named(self._paired(spellings.spellings(name, data, seen, work)))
            case _:
                return spellings.spellings(name, data, seen, work)

    def _paired(self, made: Iterable[bytes]) -> Iterator[bytes]:
        """Rows of 64 bytes are key files of Solana if the second half belongs to the first."""
        for raw in made:
            rows = [row for row in raw.split(spellings.BETWEEN_ROWS) if len(row) == _PAIR]
            for row in rows[:_MOST_PAIRS]:
                self.work.spend("pairs", _PAIRING)
                self._name(["solana_key"] if is_pair(row) else [])
            yield raw

    def _named(self, made: Iterable[bytes]) -> Iterator[bytes]:
        for raw in made:
            self._name(decode.heads(raw))
            yield raw

    def _name(self, kinds: Iterable[str]) -> None:
        self.kinds.update((kind, FAMILIES[kind]) for kind in kinds)
