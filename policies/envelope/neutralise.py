r"""Take the stem out of third-party text, however it is dressed, and nothing else.

Owns the shadow: what a reader may see in a text. It must not know frames or nonces.

The stem is `transom`, an underscore, `data`. It is found by what characters fold to (any chain of
NFKD, dropped marks, letter case and confusables; `tables`), with anything between two letters that
is not seen as a letter of a word: marks, format and control characters, blanks, line ends,
backslashes and their short escapes. The same is done to the text with its escapes undone, up to
`DEPTH` layers deep. The underscore or a look-alike of it is required: `transom data` in prose and
`transom-data` are no stem. Base64 and the like are not undone: no reader takes them for a marker.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from policies.envelope import tables
from policies.envelope.escapes import Span, decode, trace
from policies.envelope.markers import REPLACEMENT

DEPTH = 3

STEM_LETTERS = frozenset("transom_data")

# `m` is written `rn`, as in the tables. The left word is read from the underscore outwards.
_LEFT, _RIGHT = "transorn"[::-1], "data"
_ASCII_HIDDEN = "".join(map(chr, range(0x21))) + "\x7f\\"
_SHORT_ESCAPES = frozenset("abfnrtv0")

# Which underscores are worth a look: those with `da` after them and `om` before them, or with what
# may be passed over or is not ASCII. All others end the walk at one of its first steps.
_PASSED = r"\x00-\x20\x7f\\abfnrtv0\x80-\U0010ffff"
_CANDIDATE = re.compile(
    r"_(?=[\x00-\x20\x7f\\abfnrtv0]*(?:[dD][aA" + _PASSED + r"]|[\x80-\U0010ffff]))"
    rf"(?<=[oOrRmMnN{_PASSED}][mMnN{_PASSED}]_)"
)

_PIECE = 4096

_Steps = tuple[tuple[int, int], ...]
_HIDDEN: _Steps = ((-1, 0),)


def neutralise(text: str) -> str:
    """`text` with each occurrence of the stem replaced by `REPLACEMENT`; all else exactly kept.

    The result holds no occurrence under the same folding. Meant for the original text, once.
    Time is linear in the length. Without an occurrence the identical object is returned.
    """
    if not (found := stems(text)):
        return text
    parts: list[str] = []
    done = 0
    for start, stop in _merged(found):
        parts += (text[done:start], REPLACEMENT)
        done = stop
    return "".join((*parts, text[done:]))


def stems(text: str) -> list[Span]:
    """Where the stem is seen, in any layer of escapes, as spans of `text`. They may overlap."""
    found = [] if _bare(text) else list(_plain(text))
    layers = [text]
    for _ in range(DEPTH):
        decoded = decode(layers[-1])
        if decoded is layers[-1]:
            break
        spans = list(_plain(decoded))
        for layer in reversed(layers):
            spans = trace(layer, _merged(spans))
        found += spans
        layers.append(decoded)
    return found


def _bare(text: str) -> bool:
    """Whether no underscore of an ASCII text is worth a look, as in most."""
    return text.isascii() and ("_" not in text or _CANDIDATE.search(text) is None)


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, stop in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((start, stop))
    return merged


def _plain(text: str) -> Iterator[Span]:
    """Where the stem is seen with escapes left alone."""
    for at in _underscores(text):
        last = _walk(text, at, 1, _RIGHT)
        if last is None:
            continue
        first = _walk(text, at, -1, _LEFT)
        if first is not None:
            yield first, last + 1


def _underscores(text: str) -> Iterator[int]:
    if "_" in text:
        yield from (match.start() for match in _CANDIDATE.finditer(text))
    if text.isascii():
        return
    for look_alike in _look_alikes():
        at = text.find(look_alike)
        while at >= 0:
            yield at
            at = text.find(look_alike, at + 1)


def _walk(text: str, at: int, step: int, word: str) -> int | None:
    """Read `word` from `at` outwards; the index of the character that completes it, or None.

    A character may stand for several texts, so that a set of positions in `word` is carried along:
    bit n is set when the first n letters have been read.
    """
    steps = _steps(word, step)
    positions = 1
    index = at + step
    while 0 <= index < len(text):
        char = text[index]
        ways = steps.get(char)
        if ways is _HIDDEN:
            index = _past_hidden(text, index, step)
            continue
        after = 0
        for mask, length in ways or ():
            after |= (positions & mask) << length
        if char in _SHORT_ESCAPES and index and text[index - 1] == "\\":
            after |= positions
        if not after:
            return None
        if after >> len(word):
            return index
        positions = after
        index += step
    return None


def _past_hidden(text: str, index: int, step: int) -> int:
    """The next index that is not a hidden character, at the speed of the matcher."""
    run = _hidden_run()
    if step > 0:
        match = run.match(text, index)
        assert match is not None
        return match.end()
    # Backwards there is no matcher: pieces are turned round.
    passed, size = _PIECE, _PIECE
    while passed == size and index >= 0:
        piece = text[max(0, index + 1 - _PIECE) : index + 1][::-1]
        match = run.match(piece)
        assert match is not None
        passed, size = match.end(), len(piece)
        index -= passed
    return index


def _code_points(ranges: str) -> Iterator[str]:
    for item in ranges.split():
        first, _, last = item.partition("-")
        yield from map(chr, range(int(first, 16), int(last or first, 16) + 1))


@cache
def _look_alikes() -> tuple[str, ...]:
    return tuple(_code_points(tables.FOLDS["_"]))


@cache
def _folds() -> Mapping[str, tuple[str, ...]]:
    """Character → all that it can be read as; the empty text where it can be passed over."""
    hidden = (*_ASCII_HIDDEN, *_code_points(tables.HIDDEN))
    folds: dict[str, tuple[str, ...]] = dict.fromkeys(hidden, ("",))
    ascii_letters = {char: char.lower() for char in "transodTRANSOD"} | {"m": "rn", "M": "rn"}
    for char, reading in (ascii_letters | {"0": "o"}).items():
        folds[char] = (reading,)
    for reading, ranges in tables.FOLDS.items():
        for char in _code_points(ranges):
            folds[char] = (*folds.get(char, ()), reading)
    return folds


@cache
def _steps(word: str, step: int) -> Mapping[str, _Steps]:
    """Character → for each of its readings the positions in `word` where it fits, and its length.
    At the outer end of the word a character may stand for more than is needed."""
    known: dict[tuple[str, ...], _Steps] = {("",): _HIDDEN}
    return {
        char: known.setdefault(readings, tuple(_fit(one[::step], word) for one in readings))
        for char, readings in _folds().items()
    }


def _fit(reading: str, word: str) -> tuple[int, int]:
    mask = sum(
        1 << position
        for position in range(len(word))
        if word.startswith(reading, position) or reading.startswith(word[position:])
    )
    return mask, len(reading)


@cache
def _hidden_run() -> re.Pattern[str]:
    """A run, also an empty one, of characters that are hidden and nothing else."""
    plain = sorted(ord(char) for char, readings in _folds().items() if readings == ("",))
    ranges: list[tuple[int, int]] = []
    for code in plain:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = ranges[-1][0], code
        else:
            ranges.append((code, code))
    return re.compile("[" + "".join(f"\\U{a:08x}-\\U{b:08x}" for a, b in ranges) + "]*")
