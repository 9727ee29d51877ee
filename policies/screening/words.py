"""Runs of words from the lists that wallets make their seeds of: BIP-39, SLIP-0039, Monero.

Owns the word lists and what is a run. It must not know where a text stood, nor what a run proves to
be (`policies.screening.seeds`).
"""

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from itertools import compress

from mnemonic import Mnemonic

from policies.screening.normal import normal
from policies.screening.seeds import LENGTHS, judge
from policies.screening.work import Work

OWN = ("slip39", "monero")
"""Lists that come with Transom; the others come with `mnemonic`."""
LATIN = ("english", "spanish", "french", "italian", "portuguese", "czech", *OWN)
OTHER = ("japanese", "korean", "chinese_simplified", "chinese_traditional")
SHORTEST_RUN = LENGTHS[0] * 4 - 1
"""Characters of the shortest run of words of the Latin lists, which have three each or more."""
SHORTEST_FAR_RUN = LENGTHS[0] * 2 - 1
GAP = 24
"""Words further apart than this many other bytes do not belong together."""
_NEXT = 40
"""Characters that hold the word next to a seam."""
_NEAR = 120
_SLICE = 1 << 15
_OVERLAP = 1 << 10
"""Bytes that two slices share: more than the longest seed with its gaps, and what stands before."""
_LETTER_LEADS = (0xC3, 0xC4, 0xC5)
"""First bytes of accented Latin letters in UTF-8. They stand for the letter; which accent it has
is in the second byte and makes no difference here."""
_MARK_BYTES = bytes([*range(0x80, 0xC0), 0xCC, 0xCD])
"""Second bytes, and the first ones of accents that stand alone: left out."""
_LOWER = bytes(
    ord(chr(code).lower())
    if chr(code).isascii() and chr(code).isalpha()
    else code
    if code in _LETTER_LEADS
    else 32
    for code in range(256)
)
_CONTEXT = re.compile(
    rb"(?i)seed|mnemonic|recovery|backup phrase|secret phrase|recovery phrase|pass ?phrase|wallet|"
    rb"bip-?39|monero|(?:12|24|twelve|twenty.?four) words"
)
_LABEL = re.compile(
    rb"(?i)(?:word|seed|mnemonic|phrase)[ _#-]{0,2}\d{1,2}(?![0-9])|"
    rb"\"(?:word|index|position|number|pos|n|i|id|w)\" ?:|"
    rb"</?(?:li|td|th|tr|br|b|p|i|code|span|div|word|w|string|item|entry|seed)(?: [^<>]{0,80})?/?>|"
    # The name of the file and the number of the line before each line, as `grep` has them.
    rb"(?m:^)[^\s:]{1,200}:\d{1,4}:"
)
_LABELS_APART = 96
"""Bytes from one label to the next in a row of labelled words, at most."""
_LETTERS = re.compile(rb"[a-z]+")
_MARKS = re.compile("[\u0300-\u036f]")
_TOKENS = re.compile(r"[^\W\d_]+")
_FAR_ONLY = bytes(code if code >= 0x80 else 32 for code in range(256))
_FAR_BLANKS = (b"\xe3\x80\x80", b"\xe3\x80\x81", b"\xe3\x83\xbb", b"\xef\xbc\x8c")
"""The blank, commas and the dot of the Far East in UTF-8."""
_FAR_ROW = LENGTHS[0] - 2
"""Words in a row that call for a closer look: a bracket or an arrow may stand at the first and at
the last."""
_BETWEEN_FAR = re.compile(
    rb"[\xc2-\xcb\xce-\xdf][\x80-\xbf]|[\xe2\xee\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
"""Characters that no word of the Far East has: frames, arrows, quotation marks, pictures."""
_NOT_FAR = bytes(code for code in range(256) if code not in (0xE1, *range(0xE3, 0xEE)))
"""All but the bytes one of which every word of the Far East has."""
_RUN = bytes([1] * LENGTHS[0])


@dataclass(frozen=True, slots=True)
class Words:
    """Word lists, loaded. `tables`: language → word without accents → number in its list. `folded`:
    the words of the Latin ones as the function leaves them, `latin`: all of these; `far`: those of
    the others in UTF-8."""

    tables: Mapping[str, Mapping[str, int]] = field(repr=False)
    folded: Mapping[str, frozenset[bytes]] = field(repr=False)
    latin: frozenset[bytes] = field(repr=False)
    far: frozenset[bytes] = field(repr=False)
    lists: Mapping[str, tuple[str, ...]] = field(repr=False)

    @classmethod
    def load(cls) -> "Words":
        """Read all lists."""
        lists = {language: _list(language) for language in LATIN + OTHER}
        tables = {
            language: {word: n for n, word in enumerate(_bare("\n".join(words)).split("\n"))}
            for language, words in lists.items()
        }
        plain = {
            language: frozenset(folded(_forms(lists[language]).encode()).split())
            for language in LATIN
        }
        latin = frozenset().union(*plain.values())
        far = frozenset(
            word for language in OTHER for word in _forms(lists[language]).encode().split(b"\n")
        )
        return cls(tables, plain, latin, far, lists)

    def may_hold(self, data: bytes, seen: Container[str]) -> bool:
        """Are there twelve words of any list in a row, or labels between them? `seen`: what the
        tests say of `data`."""
        if "label" in seen:
            return True
        return any(True for _ in self.stretches(data)) or ("far" in seen and self.far_run(data))

    def stretches(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Stretches of `data` that hold twelve words of any Latin list in a row."""
        for start in _starts(data):
            stop = start + _SLICE + _OVERLAP
            if self.latin_run(data[start:stop]):
                yield start, stop

    def latin_run(self, data: bytes) -> bool:
        """Are there twelve words of any Latin list in a row?"""
        return _twelve(folded(data).split(), self.latin)

    def far_run(self, data: bytes) -> bool:
        """Are there twelve words of the Far East in a row?"""
        if data.isascii() or len(data.translate(None, _NOT_FAR)) < LENGTHS[0]:
            return False
        return _row(_far(data).split(), self.far, _FAR_ROW)

    def meet(self, left: str, right: str) -> bool:
        """Whether `left` ends in a listed word and `right` begins with one: a run goes across."""
        before = left[-_NEXT:].encode(errors="replace")
        after = right[:_NEXT].encode(errors="replace")
        return self._listed(before, -1) and self._listed(after, 0)

    def _listed(self, data: bytes, at: int) -> bool:
        latin, far = folded(data).split(), _far(data).split()
        return bool(latin and latin[at] in self.latin) or bool(far and far[at] in self.far)

    def findings(
        self,
        data: bytes,
        work: Work,
        *,
        context: bool = False,
        labelled: bool = False,
        far: bool = True,
    ) -> set[str]:
        """Kinds of seed found in `data`. `context`: a telling word stands outside, for example as
        the key of the value. `labelled`: words may have labels with numbers, `word 1: …`, which do
        not belong to the run. `far`: there may be words of the Far East."""
        found = self._latin(data, work, context)
        bare = b""
        if labelled and not found:
            work.spend("labels", len(data))
            bare = _unlabelled(data)
            work.spend("labels", len(bare))
            found = self._latin(bare, work, context)
        if far and not data.isascii():
            found = found | self._far_east(data, work, context)
            if bare and not found:
                found = self._far_east(bare, work, context)
        return found

    def _latin(self, data: bytes, work: Work, context: bool) -> set[str]:
        found: set[str] = set()
        for part in _slices(data):
            work.spend("words", len(part))
            words = folded(part).split()
            if not _twelve(words, self.latin):
                continue
            for language in LATIN:
                if _RUN in bytes(map(self.folded[language].__contains__, words)):
                    found |= self._latin_slice(part, language, work, context)
        return found

    def _latin_slice(self, data: bytes, language: str, work: Work, context: bool) -> set[str]:
        work.spend("words", 2 * len(data))
        if not data.isascii():
            bare = unicodedata.normalize("NFKD", data.decode(errors="replace"))
            data = _MARKS.sub("", bare).encode(errors="replace")
        tokens = [(token[0].decode(), *token.span()) for token in _LETTERS.finditer(data.lower())]
        found: set[str] = set()
        for run, at in _runs(tokens, self.tables[language]):
            near = context or _CONTEXT.search(data, max(0, at - _NEAR), at + 40) is not None
            found.add(judge(language, run, self.lists[language], work, near=near))
        return found - {""}

    def _far_east(self, data: bytes, work: Work, context: bool) -> set[str]:
        work.spend("words", len(data))
        if not _row(_far(data).split(), self.far, _FAR_ROW):
            return set()
        work.spend("words", 4 * len(data))
        found: set[str] = set()
        composed = normal("NFC", data.decode(errors="replace"))
        tokens = [(_bare(token[0]), *token.span()) for token in _TOKENS.finditer(composed)]
        near = context or _CONTEXT.search(data) is not None
        for language in OTHER:
            for run, at in _runs(tokens, self.tables[language]):
                # Lists of the commonest characters, which stand in rows for many reasons.
                whole = language.startswith("chinese") and not near
                if whole and not _bare_run(composed, at, run):
                    continue
                words = self.lists[language]
                found.add(judge(language, run, words, work, near=near, whole=whole))
        return found - {""}


def _list(language: str) -> tuple[str, ...]:
    if language not in OWN:
        return tuple(Mnemonic(language).wordlist)
    file = resources.files("policies.screening").joinpath("lists", f"{language}.txt")
    return tuple(file.read_text("utf-8").split())


def _forms(words: Sequence[str]) -> str:
    """Words composed and decomposed, a line for each: a list at once takes a fraction of the time
    that its words take."""
    text = "\n".join(words)
    return "\n".join(unicodedata.normalize(form, text) for form in ("NFC", "NFKD"))


def _starts(data: bytes) -> range:
    return range(0, max(1, len(data) - _OVERLAP), _SLICE)


def _slices(data: bytes) -> Iterator[bytes]:
    for start in _starts(data):
        yield data[start : start + _SLICE + _OVERLAP]


def folded(data: bytes) -> bytes:
    """Lower case, accents told from their letters no more, everything but letters a blank."""
    return data.translate(_LOWER, _MARK_BYTES)


def _unlabelled(data: bytes) -> bytes:
    """The stretches of `data` in which label follows label, without them."""
    rows: list[bytes] = []
    start = end = count = 0
    for label in _LABEL.finditer(data):
        if label.start() - end > _LABELS_APART:
            if count >= LENGTHS[0] - 1:
                rows.append(data[max(0, start - _NEAR) : end + _NEXT])
            start, count = label.start(), 0
        end, count = label.end(), count + 1
    if count >= LENGTHS[0] - 1:
        rows.append(data[max(0, start - _NEAR) : end + _NEXT])
    return b"\n".join(_LABEL.sub(b" ", row) for row in rows)


def _bare_run(text: str, start: int, run: Sequence[int]) -> bool:
    """A row of single characters, as many as a seed has, with nothing between them that belongs to
    prose: blanks, numbers, quotation marks."""
    row = rf"(?:[^\W\d_][\0-@\[-`{{-~\u3000\u2192]{{1,{GAP}}}){{{len(run) - 1}}}[^\W\d_]"
    return len(run) in LENGTHS and re.match(row, text[start:]) is not None


def _far(data: bytes) -> bytes:
    """Words of the Far East with blanks between them."""
    for blank in _FAR_BLANKS:
        data = data.replace(blank, b" ")
    return _BETWEEN_FAR.sub(b" ", data).translate(_FAR_ONLY)


def _twelve(words: Sequence[bytes], listed: Container[bytes]) -> bool:
    """Are there twelve listed words in a row?"""
    return _row(words, listed, 12)


def _row(words: Sequence[bytes], listed: Container[bytes], least: int) -> bool:
    """Are there so many listed words in a row? Such a run has one at every place of as many, so
    that only one word in `least` is looked up, and the neighbours of the few that fit."""
    last, wide = len(words) - 1, least - 1
    every = range(wide, len(words), least)
    for at in compress(every, map(listed.__contains__, words[wide::least])):
        left = right = at
        while left > 0 and at - left < wide and words[left - 1] in listed:
            left -= 1
        while right < last and right - left < wide and words[right + 1] in listed:
            right += 1
        if right - left == wide:
            return True
    return False


def _bare(word: str) -> str:
    """Lower case without accents; kana and jamo keep their marks, which change the word."""
    return _MARKS.sub("", normal("NFKD", word)).lower()


def _runs(
    tokens: Iterable[tuple[str, int, int]], table: Mapping[str, int]
) -> Iterator[tuple[list[int], int]]:
    """Numbers of twelve or more words in a row that are in the list and near each other, and
    where they start."""
    run: list[int] = []
    first = behind = 0
    for token, start, end in tokens:
        number = table.get(token)
        if (number is None or start - behind > GAP) and run:
            if len(run) >= LENGTHS[0]:
                yield run, first
            run = []
        if number is not None:
            first = first if run else start
            run.append(number)
            behind = end
    if len(run) >= LENGTHS[0]:
        yield run, first
