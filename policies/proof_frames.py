"""The proof's own idea of a frame: what one looks like, and which of the claimed ones were met.

Part of the proof, and as independent: it shares no code with what makes frames. It must not know
where in a body a frame stands.
"""

import html
import json
import re
import unicodedata
from collections import deque
from collections.abc import Container, Iterator, Mapping
from functools import lru_cache
from heapq import nsmallest
from html.entities import html5

from policies.decision import Claimed, FrameRow
from policies.proof_spelled import STEM, Spelled, framed

Met = tuple[tuple[FrameRow, str], ...]
"""Frames of one message, in order: the row, and the client's text inside."""

_REMOVED = "transom-data-marker-removed"
_GAPS = re.compile(f"((?:{_REMOVED})+)")
_LONGEST_STEM = 2048
_STEPS = 1 << 18
_STEPS_A_LETTER = 32
_WAYS = 4
"""Places where the spans so far may have ended that are gone on from: those with stems of the most
ordinary lengths. To give up the others may fail a proof and never makes one."""
_LETTERS = len(STEM)
_LEAST, _ORDINARY, _NESTED = 8, 20, 1024
"""Letters that a stem takes: folded tightly, where each is one, where each is made of escapes."""
_STARTS = ("\\", "&", "%", "\x1b", "\x9b")
_UNSEEN = "\u115f\u1160\u2800\u3164\uffa0\\"
"""Letters and symbols by their category of which nothing is seen: fillers, a braille blank; and the
backslash, which quotes what follows."""
_OCTAL = "01234567"
_BARE_NAMES = "|".join(sorted((n for n in html5 if n[-1] != ";"), key=len, reverse=True))
_ESCAPE = re.compile(
    r"\\+(?:[ux]\{[0-9a-fA-F]{1,10}\}|u+[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|x[0-9a-fA-F]{2}"
    r"|[0-3][0-7]{2})"
    r"|%(?:u[0-9a-fA-F]{4}|[0-7][0-9a-fA-F]|[c-fC-F][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){1,3})"
    r"|&(?:#[0-9]{1,40};?|#[xX][0-9a-fA-F]{1,40};?|[A-Za-z][A-Za-z0-9]{1,31};"
    rf"|{_BARE_NAMES})"
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
)
_SPELLED = (
    r"(?:\[Data envelope \(code-owned\)\]: this message's nonce is (?P<intro>[0-9a-f]{32})\.\n)?"
    r"\[\[TRANSOM_DATA nonce=(?P<nonce>[0-9a-f]{32}) field=(?P<field>[A-Za-z0-9_.:-]{1,48})\]\]\n"
    r"(?P<content>.*{lazy})\n\[\[END_TRANSOM_DATA nonce=(?P=nonce)\]\]"
    r"(?:\n\[truncated by Transom: (?P<kept>[0-9]{1,10}) of (?P<length>[0-9]{1,10}) characters\])?"
)
# With both ends given there is one way to read it at most, and the closing line is soon found.
_FRAME = re.compile(rf"\A{_SPELLED.replace('{lazy}', '')}\Z", re.DOTALL)
_FRAME_WITHIN = re.compile(rf"\n{_SPELLED.replace('{lazy}', '?')}\n", re.DOTALL)


class Frames:
    """The frames that were claimed for this request. Each is met once, and none may be left."""

    def __init__(self, claimed: Claimed, texts: Mapping[int, str]) -> None:
        self._texts = texts
        self._rows = claimed.rows
        self._numbers = sorted(claimed.rows)
        self._first = 0  # all before it were met
        self._gone: set[int] = set()  # of those behind it
        self._waiting: dict[str, deque[int]] | None = None
        self.met: list[tuple[FrameRow, str]] = []

    @property
    def left(self) -> bool:
        """Whether a claimed frame was not met."""
        return len(self.met) < len(self._numbers)

    @property
    def _open(self) -> dict[str, deque[int]]:
        """Nonce → the units that wait for a frame with it."""
        if self._waiting is None:
            self._waiting = {}
            for number, row, _ in self._next():
                self._waiting.setdefault(row.nonce, deque()).append(number)
        return self._waiting

    def _next(self) -> Iterator[tuple[int, FrameRow, str]]:
        """The units that wait, in order, each with its row and its text."""
        numbers, gone = self._numbers, self._gone
        while self._first < len(numbers) and numbers[self._first] in gone:
            gone.remove(numbers[self._first])
            self._first += 1
        for place in range(self._first, len(numbers)):
            if (number := numbers[place]) not in gone:
                yield number, self._rows[number], self._texts.get(number, "")

    def begin_with(self, known: Met, apart: tuple[tuple[FrameRow, ...], tuple[str, ...]]) -> bool:
        """As `meet_again`, for the frames of a whole history: mostly they are the first ones.
        `apart`: the rows of `known`, and the texts."""
        count, rows, texts = len(known), self._rows, self._texts
        if not self.met:
            first = self._numbers[:count]
            # Each row with its own text, as they are claimed now.
            if (tuple(map(rows.get, first)), tuple(map(texts.get, first))) == apart:
                self.met = [*known]
                self._first = count
                return True
        return self.meet_again(known)

    def meet_spelled(self, came: bytes, sent: bytes) -> Spelled | None:
        """How `sent` is `came` with frames that were claimed round texts in it, as far as its
        spelling tells; they are met now."""
        if (found := framed(came, sent, self._next())) is None:
            return None
        if self._waiting is None:
            self.met += [(self._rows[number], self._texts[number]) for number in found.numbers]
            self._gone.update(found.numbers)
            return found
        for number in found.numbers:
            self._take(number)
        return found

    def meet(self, came: str, sent: str) -> bool:
        """`sent` is a frame around `came` that was claimed and not met before; it is met now."""
        frame = _FRAME.match(sent)
        if frame is None:
            return False
        texts, rows = self._texts, self._rows
        for number in self._open.get(frame["nonce"], ()):
            row = rows[number]
            if texts.get(number) == came and _made(frame, row) and _holds(frame, row, came):
                self._take(number)
                return True
        return False

    def within(self, came: str, sent: str) -> bool:
        """`sent` is `came` with claimed frames, each on lines of its own, round spans of it; they
        are met now."""
        at = done = 0
        found: dict[int, str] = {}
        for frame in _FRAME_WITHIN.finditer(sent):
            between = sent[done : frame.start()]
            at += len(between)
            number = self._span(frame, came, at, found)
            if number is None or not came.startswith(between, at - len(between)):
                return False
            at += len(found[number])
            done = frame.end()
        if not found or came[at:] != sent[done:]:
            return False
        for number in found:
            self._take(number)
        return True

    def _span(self, frame: re.Match[str], came: str, at: int, found: dict[int, str]) -> int | None:
        """The unit whose text stands in `came` from `at` on and in `frame`; it joins `found`."""
        for number in self._open.get(frame["nonce"], ()):
            text, row = self._texts.get(number, ""), self._rows[number]
            if number in found or not text or not came.startswith(text, at):
                continue
            if _made(frame, row) and _holds(frame, row, text):
                found[number] = text
                return number
        return None

    def meet_again(self, known: Met) -> bool:
        """All frames of a message that was proved before are claimed now too, for the same texts;
        they are met now. Else none of them is."""
        found: dict[int, None] = {}
        for row, text in known:
            number = self._number(row, text, found)
            if number is None:
                return False
            found[number] = None
        for number in found:
            self._take(number)
        return True

    def _number(self, row: FrameRow, text: str, gone: Container[int] = ()) -> int | None:
        for number in self._open.get(row.nonce, ()):
            if number in gone or self._texts.get(number) != text:
                continue
            if (mine := self._rows[number]) is row or mine == row:
                return number
        return None

    def _take(self, number: int) -> None:
        row = self._rows[number]
        numbers = self._open[row.nonce]
        # Mostly the first of them, so that a message of very many parts costs no more for each.
        numbers.remove(number)
        if not numbers:
            del self._open[row.nonce]
        self._gone.add(number)
        # What was claimed, and not its equal: next time these very objects are claimed again.
        self.met.append((row, self._texts[number]))


def _made(frame: re.Match[str], row: FrameRow) -> bool:
    """Whether the marks of `frame` are those of `row`; none are where the intro names another
    nonce."""
    intro, nonce, field, kept = frame.group("intro", "nonce", "field", "kept")
    if intro not in (None, nonce) or (nonce, field) != (row.nonce, row.field):
        return False
    cut = None if kept is None else int(kept)
    return row.intro == (intro is not None) and row.kept == cut


def _holds(frame: re.Match[str], row: FrameRow, text: str) -> bool:
    """What stands in `frame` is `text`, as `row` says that it is cut and encoded."""
    content = frame["content"]
    if row.nonce in text:
        return False
    if row.kept is not None:
        if not 0 <= row.kept < len(text) or int(frame["length"]) != len(text):
            return False
        text = text[: row.kept]
    if row.encode == "json":
        value = _string(content)
        if value is None or STEM in content.casefold():
            return False
        content = value
    return _neutralised(text, content)


def _string(content: str) -> str | None:
    """The text that `content` spells as one JSON string, in the one way that is ours."""
    try:
        value = json.loads(content)
    except ValueError:
        return None
    same = isinstance(value, str) and json.dumps(value, ensure_ascii=False) == content
    return value if same else None


def _neutralised(text: str, content: str) -> bool:
    """`content` is `text`, but for spans that spelled the stem and were replaced.

    Own rule: what was taken out has at least as many letters as a stem folded tightly. Where each
    span ends is searched for, because the text between may repeat; text made to have very many
    answers has none. Stems that stand side by side are looked for as one.
    """
    if STEM in content.casefold():
        return False
    if content == text:
        return True
    first, *rest = _GAPS.split(content)
    ends = {len(first): 0} if text.startswith(first) else {}
    left = _STEPS + _STEPS_A_LETTER * len(text)
    for place in range(0, len(rest), 2):
        count, part = len(rest[place]) // len(_REMOVED), rest[place + 1]
        only = len(text) - len(part) if place == len(rest) - 2 else None
        tries: dict[int, int] = {}
        for start, so_far in ends.items():
            found, cost = _after_stems(text, start, count, part, only)
            left -= cost
            for end, odd in found:
                _reach(tries, end + len(part), so_far + odd)
        if left < 0:
            return False
        ends = {end: odd for odd, end in nsmallest(_WAYS, zip(tries.values(), tries, strict=True))}
    return len(text) in ends


def _reach(ends: dict[int, int], end: int, odd: int) -> None:
    if odd <= ends.get(end, odd):
        ends[end] = odd


@lru_cache(maxsize=8192)
def _seen(text: str) -> int:
    """Characters of `text` of which something is seen."""
    return sum(
        char not in _UNSEEN
        # One half, written as an escape, of a letter is one, too.
        and (unicodedata.category(char)[0] in "LNPS" or "\ud800" <= char <= "\udbff")
        for char in unicodedata.normalize("NFKD", text)
    )


def _written(escape: str) -> str:
    """What one escape stands for."""
    match escape[0]:
        case "\x1b" | "\x9b":
            return ""
        case "&":
            return html.unescape(escape)
        case "%" if escape[1] == "u":
            return chr(int(escape.strip("%u"), 16))
        case "%":
            return bytes.fromhex(escape.replace("%", "")).decode(errors="replace")
        case _:
            digits = escape.lstrip("\\")
            base = 8 if digits[0] in _OCTAL else 16
            code = int(digits.strip("uUx{}") if base == 16 else digits, base)
            return chr(code) if code <= 0x10FFFF else escape


def _after_stems(
    text: str, start: int, count: int, part: str, only: int | None
) -> tuple[list[tuple[int, int]], int]:
    """Where `count` stems that begin at `start` may end with `part` behind them, at `only` if that
    is given, each with how far it is from the letters that stems have; and how many characters that
    took. An escape is the letter that it stands for; where it stands for the beginning of another
    one, a letter takes several. What looks like a replaced stem may have come so. Tags may be
    letters or stand between them; where one begins they are letters."""
    found: list[tuple[int, int]] = []
    letters, tags, most, begun = 0, 0, _ORDINARY * count, False
    at, stop = start, min(len(text), start + _LONGEST_STEM * count)
    tagged = _is_tag(text[start : start + 1])
    while at < stop:
        escape = _ESCAPE.match(text, at) if text[at] in _STARTS else None
        letter = _written(escape[0]) if escape else text[at]
        if letter[:1] in _STARTS:
            begun, most = True, _NESTED * count if escape and not found else most
        if text.startswith(_REMOVED, at):
            letters, at = letters + _LETTERS, at + len(_REMOVED)
        else:
            letters += _seen(letter)
            tags += _is_tag(letter)
            at = escape.end() if escape else at + 1
        size = letters + (tags if tagged else 0)
        if size > most:
            # A bare backslash begins an escape that is written in escapes itself, or none, as in
            # paths: to find out is worth a long way only where there is no shorter one.
            if found or not begun or most > _ORDINARY * count:
                break
            most = _NESTED * count
        if letters + tags < _LEAST * count or (only or at) != at:
            continue
        if text.startswith(part, at):
            found.append((at, abs(size - _LETTERS * count)))
            # What is longer than a letter or two hardly stands within a stem.
            most = min(most, max(_ORDINARY * count, size * (2 if len(part) > 3 else 16)))
    return found, at - start + 1


def _is_tag(letter: str) -> bool:
    return "\U000e0021" <= letter <= "\U000e007e"
