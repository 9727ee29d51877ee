"""One pass over a text that tells what else has to be done about it: for most texts, nothing.

Owns the cheap tests and which of them call for which. It must not know what a slower pass does.
Tests that need many states are asked only where a plain run of characters says that they could
hold.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from policies.screening.corpus import Corpus
from policies.screening.engine import Pattern, build
from policies.screening.rules import Rule

RUN = rb"[A-Za-z0-9+/_-]"
_HEX_GROUP = rb"(?:[0-9a-fA-F]{2}|[0-9a-fA-F]{4})"
DUMP_HEAD = rb"(?:[ \t]{0,12}\d{1,7}(?:\t|\xe2\x86\x92))?[0-9a-fA-F]{4,16}:?[ \t]{1,4}"
TEXT_GROUP = rb"[I-Za-f][C-HS-Xi-ny-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]"
"""Four characters of base64 that stand for printable ASCII, give or take a control character in
the third place. Of five in a row, one in a million is there by chance."""
WIDE_GROUP = rb"[4-7][I-LY-Za-bo-r4-7][CGKOSWaeimquy26-][A-Za-z0-9+/_-]"
"""Four that stand for one character of three bytes in UTF-8: kana, Hangul, ideographs."""
_ONE_LATER = rb"[g-v][CSiy]D[h-t]"
_TWO_LATER = rb"[g-v][I-LY-Za-bo-r4-7][DHLPTXbfjnrvz37/_-]"
_SPACED = (
    # One-character words; two-character ones; the blank of the Far East, one byte later, and two.
    rb"IO[A-Za-z0-9+/_-]{2}" + _ONE_LATER,
    _ONE_LATER + _TWO_LATER + rb"[h-t][g-v][I-LY-Za-bo-r4-7][AEIMQUYcgkosw048]g",
    rb"[g-v][Oeu+-]OAgO",
    _TWO_LATER + rb"jgID[h-t]",
)
WIDE = b"|".join((b"(?:%s){3,}" % WIDE_GROUP, *_SPACED))
"""Such characters in a row, and what words of them look like where groups begin elsewhere."""
WIDE_HEX = rb"(?:[eE][1-9a-dA-D][89abAB][0-9a-fA-F][89abAB][0-9a-fA-F](?:20)?){3,}"
HEX_GROUP = rb"[2-7][0-9a-fA-F]"
NUL_GROUP = rb"A[A-H][A-Za-z0-9+/_-]A[A-Za-z0-9+/_-]{4}"
"""Eight characters of base64 that stand for three of ASCII in UTF-16, of either order."""
NUL_HEX_GROUP = rb"[2-7][0-9a-fA-F]00"
PACKED = (
    rb"(?:^|[^A-Za-z0-9])H4sI[A-Za-z0-9+/_-]{20}|"
    rb"(?:^|[^A-Za-z0-9+/_=-])e[AFJN][A-Za-z0-9+/_-]{22}"
)
PACKED_HEX = rb"(?:^|[^A-Za-z0-9])(?:1[fF]8[bB]08|78(?:01|5[eE]|9[cC]|[dD][aA]))[0-9a-fA-F]{20}"
_WIDE_BETWEEN = (
    rb"\xef\xbc[\x81-\x8f\x9a-\xa0\xbb-\xbf]|\xef\xbd[\x80\x9b-\x9e]|\xef\xac[\x80-\x86]|"
    rb"\xe2(?:\x84|\x85|\x91|\x92|\x93|\x82)[\x80-\xbf]|\xe2\x81[\xb0-\xbf]|\xe2\x86[\x80-\x8f]|"
    rb"\xc2[\xaa\xb2\xb3\xb9\xba]|\xca[\xb0-\xb8]|\xe1\xb4[\xac-\xbf]|\xe1\xb5[\x80-\xaa]"
)

_ESCAPES = (
    # An escape that may stand inside of a secret or right before one; four of any kind in a line.
    rb"%[2-7][0-9a-fA-F]|%[c-eC-E][0-9a-fA-F]%[89abAB]",
    rb"&(?:#|[A-Za-z]{2,8};)",
    rb"\\(?:[uxU/]|[0-3][0-7]{2})",
    rb"\\[nrt\"'][A-Za-z0-9+/_.=-]{12}",
    rb"\\[nrt\"'](?:[A-Za-z]{3,8}[^A-Za-z\\]{1,3}){3}",
    rb"(?:\\[^\n\\]{0,80}){3}\\",
)
_LABELS = (
    # Words of a seed with a label or a tag on each.
    rb"(?:[Ww]ord|[Ss]eed|[Mm]nemonic|[Pp]hrase|WORD|SEED)[ _#-]{0,2}0?1[^0-9A-Za-z]|"
    rb"\"[Ww]ord\" ?: ?\"|<word[ >]|<string>[a-z]{3,8}</string>\s{0,16}<string>[a-z]{3,8}</string>|"
    rb"<(?:li|string)>[\xe1\xe3-\xed][\x80-\xbf]{2}|"
    rb"<(?:li|td|b|p|i|code|span|div)>[A-Za-z]{3,8}</[a-z]{1,4}>[^A-Za-z]{0,4}"
    rb"<(?:li|td|b|p|i|code|span|div)>[A-Za-z]{3,8}</[a-z]{1,4}>[^A-Za-z]{0,4}"
    rb"<(?:li|td|b|p|i|code|span|div)>[A-Za-z]{3,8}</",
    # Cells with the number and the word; words and breaks; file and line before each word.
    rb"<td>0?1[.)]?</td>\s*<td>[^<>\s]",
    rb"[a-z\x80-\xff]{3}<br ?/?>\s*(?:0?2[.):]+ ?)?"
    rb"(?:[a-z\x80-\xff]+<br ?/?>\s*(?:0?3[.):]+ ?)?[a-z\x80-\xff]{3}|[\xe1\xe3-\xed])",
    rb":1:[^\s:]+\r?\n[^\s:]+:2:[^\s:]",
)
FIRST: Mapping[str, bytes] = {
    "run": RUN + rb"{24}",
    "line": rb"[A-Za-z0-9+/]{48}",
    "hex": rb"[0-9a-fA-F]{32}",
    "hexish": rb"[0-9a-fA-Fx:, \t\r\n-]{44}",
    "escape": b"|".join(_ESCAPES),
    "uri": rb";base64,|iVBORw0KGgo",
    "quoted": rb"[A-Za-z0-9+/_]{4}=\r?\n[A-Za-z0-9+/_]{4}|=3D|(?:=[0-9A-F]{2}){4}",
    # Quotation marks as CSV and SQL have them inside of a value.
    "doubled": rb"\"\" ?: ?\"\"|[:=] ?\"\"[A-Za-z0-9+/_-][!#-&(-+--~]{7}|"
    rb"[:=] ?''[A-Za-z0-9+/_-][!#-&(-+--~]{7}",
    "nul": rb"[!-~]\x00[!-~]\x00[!-~]",
    "spelled": rb"(?:[A-Za-z0-9][^A-Za-z0-9]+){15}[A-Za-z0-9]",
    "label": b"|".join(_LABELS),
}
JOINT = (
    # What may stand between two strings that are one: a sign or none, the end of a line and the
    # number of the next, a mark of the second string. More than that is for `mending.JOINED`.
    rb"[A-Za-z0-9+/_=:.@-]{3}[\"'`][ \t+.&~<>_]{0,48}"
    rb"(?:[\\\r]{0,2}\n[ \t>+]{0,16}(?:\d{1,7}[\t:|\xe2\x86\x92-]{1,3})?[ \t+.&~<]{0,80})?"
    rb"[a-zA-Z8@]{0,2}[\"'`][A-Za-z0-9+/_=.@-]{3}|"
    rb"[A-Za-z0-9+/_=:.@-]\\\r?\n[ \t]{0,80}[A-Za-z0-9+/_=:.@-]"
)
AFTER: Mapping[str, Mapping[str, bytes]] = {
    "run": {
        "text": b"(?:%s){5}" % TEXT_GROUP,
        "wide": WIDE,
        "base32": rb"[A-Z2-7]{32}|[a-z2-7]{32}",
        "nuls": b"(?:%s){3}" % NUL_GROUP,
        "packed": PACKED,
        "long": RUN + rb"{1000}",
    },
    "hex": {
        "hextext": b"(?:%s){16}|(?:%s){8}|%s" % (HEX_GROUP, NUL_HEX_GROUP, WIDE_HEX),
        "packed": PACKED_HEX,
    },
    "line": {
        "lines": rb"[A-Za-z0-9+/]{48}={0,2}[ \t]{0,4}\r?\n",
        "wallet": (
            rb"(?:^|[^A-Za-z0-9])(?:[5KL9c][1-9A-HJ-NP-Za-km-z]{50,51}|6P[1-9A-HJ-NP-Za-km-z]{56})"
            rb"(?:$|[^A-Za-z0-9])"
        ),
    },
    "hexish": {
        "bytes": rb"(?:(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})[ \t\r\n,;]+){15}[0-9]",
        "dump": rb"(?:^|\n)" + DUMP_HEAD + _HEX_GROUP + rb"[ \t]",
        "spaced": rb"(?:[0-9a-fA-F]{2}[: ,-][ \t\r\n]*(?:0x)?){15}[0-9a-fA-F]{2}",
    },
    "foreign": {
        "unseen": (
            rb"\xc2\xad|\xcd\x8f|\xd8\x9c|\xe1\x85[\x9f\xa0]|\xe1\x9e[\xb4\xb5]|\xe1\xa0[\x8b-\x8f]|"
            rb"\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xe2\xa0\x80|\xe3\x85\xa4|"
            rb"\xef\xb8[\x80-\x8f]|\xef\xbb\xbf|[:=]\xc2\xa0[\"'A-Za-z0-9]{8}|"
            rb"\xef\xbe\xa0|\xef\xbf[\xb0-\xbb]|"
            rb"\xf0\x9b\xb2[\xa0-\xa3]|\xf0\x9d\x85[\xb3-\xba]|\xf3\xa0"
        ),
        # Letters of full width and mathematical ones; between plain ones, whatever NFKC spells
        # plainly.
        "compatible": (
            rb"\xef\xbc[\x90-\x99\xa1-\xba]|\xef\xbd[\x81-\x9a]|\xf0\x9d[\x90-\x9f]|"
            rb"\xf0\x9f\x84[\x80-\xbf]|\xf0\x9f\x85[\x80-\x89]|\xef\xbd[\xa1-\xbf]|\xef\xbe[\x80-\x9f]|"
            rb"[A-Za-z0-9](?:" + _WIDE_BETWEEN + rb")|(?:" + _WIDE_BETWEEN + rb")[A-Za-z0-9]"
        ),
        # A Greek or Cyrillic letter beside a Latin one or a digit.
        "alike": rb"[A-Za-z0-9][\xcd-\xd4][\x80-\xbf]|[\xcd-\xd4][\x80-\xbf][A-Za-z0-9]",
        "far": rb"(?:[\xe1\xe3-\xed][\x80-\xbf]{2}[^\x00\xe1\xe3-\xed]{0,32}){6}",
    },
}  # fmt: skip
_DECODED = frozenset(
    {"text", "wide", "nuls", "hextext", "base32", "packed", "wallet", "long", "uri"}
)

LONG_WORD: Final = 22
"""Letters and digits in a row that a trigger which is said to be `in_run` has at least."""
_WORD: Final = bytes(1 if chr(code).isascii() and chr(code).isalnum() else 0 for code in range(256))
_IN_WORD: Final = b"\1" * LONG_WORD
_ROUND: Final = 64
"""Bytes on each side of such a row that an instance may have."""
_NEAR: Final = 256
"""Bytes between two such rows up to which they are looked at as one."""


@dataclass(slots=True)
class Signs:
    """What stands in a text. `hits`: a rule that may hold, and where its anchor stands. `joints`:
    where the second quotation mark of two strings that code puts together ends, or a line goes on.
    `denied`: an entry of the deny corpus. `words`: there may be a run of words from a list; None
    while nobody asked.
    """

    hits: list[tuple[Rule, int]] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    joints: list[int] = field(default_factory=list)
    denied: bool = False
    words: bool | None = None

    @property
    def plain(self) -> bool:
        """Nothing calls for a slower pass, words aside."""
        return not (self.hits or self.denied or self.joints) and self.seen <= _QUIET

    @property
    def coded(self) -> bool:
        """There are runs that stand for something else."""
        return not self.seen.isdisjoint(_DECODED)


ALONE: Final = ("run", "hex", "line", "hexish")
"""Signs that call for more tests, and for nothing else."""
_NOTHING = frozenset({*ALONE, "far"})
_QUIET = _NOTHING | {"label"}


# Those of one kind are compiled in a third of the time one by one.
_SEVERAL: Final = {"escape": _ESCAPES, "label": _LABELS}
_GATES: Final = [
    (name, each) for name, expression in FIRST.items() for each in _SEVERAL.get(name, (expression,))
]


def _tables(rules: Sequence[Rule]) -> dict[str, list[Pattern]]:
    """The patterns of each engine of a sentry, by its name."""
    gates = [Pattern(then=expression, once=True) for _, expression in _GATES]
    return {
        "first": [
            *(pattern for rule in rules if not rule.in_run for pattern, _ in rule.patterns()),
            Pattern(then=b"[A-Za-z0-9]{%d}" % LONG_WORD, once=True),
        ],
        "rows": [pattern for rule in rules if rule.in_run for pattern, _ in rule.patterns()],
        "gates": [Pattern(then=JOINT), *gates],
        **{
            name: [Pattern(then=then, once=True) for then in tests.values()]
            for name, tests in AFTER.items()
        },
    }


def engines(rules: Sequence[Rule], *, first: bool) -> dict[str, bytes]:
    """Engines of a sentry as bytes, which make the same at once in another process: the first, or
    all others, which takes half as long."""
    tables = _tables(rules)
    chosen = ["first"] if first else [name for name in tables if name != "first"]
    return {name: build(tables[name]).packed() for name in chosen}


def rows(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Where `LONG_WORD` letters and digits stand in a row, with what is round them, and where that
    begins."""
    flags = data.translate(_WORD)
    at = flags.find(_IN_WORD)
    while at >= 0:
        start = max(0, at - _ROUND)
        while True:
            end = flags.find(0, at + LONG_WORD)
            end = end if end >= 0 else len(data)
            at = flags.find(_IN_WORD, end)
            if at < 0 or at - end > _NEAR:
                break
        yield start, data[start : end + _ROUND]


class Sentry:
    """The tests, compiled. Immutable; may be used from several threads at once. `denied`: the deny
    corpus, if there is anything in it. `packed`: what `engines` gave for the same rules."""

    def __init__(
        self,
        rules: Sequence[Rule],
        denied: Corpus | None = None,
        packed: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        marks = [(rule, behind) for rule in rules for _, behind in rule.patterns()]
        self._rules = [mark for mark in marks if not mark[0].in_run]
        self._in_runs = [mark[0] for mark in marks if mark[0].in_run]
        self._names = [name for name, _ in _GATES]
        self._engines = {
            name: build(patterns, packed.get(name, b""))
            for name, patterns in _tables(rules).items()
        }
        self._first, self._rows = self._engines["first"], self._engines["rows"]
        self._gates = self._engines["gates"]
        self._after = {name: (self._engines[name], tuple(tests)) for name, tests in AFTER.items()}
        self.denied = denied

    def denying(self, texts: Collection[bytes]) -> "Sentry":
        """The same tests, with another deny corpus."""
        other = copy(self)
        other.denied = Corpus.of(texts)
        return other

    @property
    def engine(self) -> str:
        """Name of the engine in use."""
        return self._first.name

    def anchors(self, data: bytes) -> Signs:
        """Rules and deny corpus alone."""
        signs = self.ruled(data)
        signs.denied = self.denied is not None and self.denied.in_(data)
        return signs

    def ruled(self, data: bytes) -> Signs:
        """Rules alone."""
        signs = Signs()
        for number, end in self._first.anchors(data):
            if number == len(self._rules):
                signs.hits += self._in_rows(data)
            else:
                rule, behind = self._rules[number]
                signs.hits.append((rule, end - behind))
        return signs

    def _in_rows(self, data: bytes) -> Iterator[tuple[Rule, int]]:
        for start, row in rows(data):
            for number, end in self._rows.anchors(row):
                yield self._in_runs[number], start + end

    def look(self, data: bytes) -> Signs:
        """Everything that can be told of a text without opening anything in it."""
        signs = self.anchors(data)
        self.see(data, signs)
        return signs

    def see(self, data: bytes, signs: Signs) -> None:
        """The same but for rules and deny corpus."""
        seen = signs.seen
        for number, end in self._gates.anchors(data):
            if number:
                seen.add(self._names[number - 1])
            else:
                signs.joints.append(end)
        if b"\x1b" in data:
            seen.add("unseen")
        for name in ALONE:
            if name in seen:
                self._ask(name, data, seen)
        if not data.isascii():
            self._ask("foreign", data, seen)

    def odd(self, data: bytes) -> Set[str]:
        """What `see` tells of that calls for a reading."""
        signs = Signs()
        self.see(data, signs)
        return signs.seen - _NOTHING | ({"joint"} if signs.joints else frozenset())

    def coded(self, run: bytes) -> Set[str]:
        """What a single run seems to stand for."""
        seen: set[str] = set()
        self._ask("run", run, seen)
        return seen

    def _ask(self, name: str, data: bytes, seen: set[str]) -> None:
        engine, names = self._after[name]
        seen.update(names[number] for number, _ in engine.anchors(data))
