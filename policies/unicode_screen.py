"""Characters that nobody sees, judged in context: a report, never an edit and never a decision.

Owns which characters count as hidden and where writing systems need them. It must not know where
text comes from, and nothing may ask it what to do with a request: texts about attacks, and texts in
other scripts, are text like any other.

Kinds: `tag` (tag characters), `bidi` (controls that turn the order of text), `invisible` (all else
that shows nothing). The contexts are those that were needed on real text. Two of them deviate from
lists that flag by code point alone: a soft hyphen may stand in a long word, and a byte order mark
at the very beginning.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import regex

from policies.conversation import Strand
from policies.decision import Finding
from policies.screening.places import place, place_of_key

KINDS: Final = ("tag", "bidi", "invisible")
FAMILY: Final = "unicode"

_LONG_WORD: Final = 8  # letters from which a word may hold soft hyphens
_STACK: Final = 8  # marks that may stand on one letter
_MARKS: Final = "\u200e\u200f\u061c"
_FLAGS: Final = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in region)
    for region in ("gbeng", "gbsct", "gbwls")
)
# Format characters that are drawn (the Arabic number signs and their like) are not here.
_FLAG: Final = re.compile(f"\U0001f3f4(?:{_FLAGS})\U000e007f")
_TAG: Final = re.compile("[\U000e0000-\U000e007f]")
_HIDDEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_PARAGRAPH: Final = re.compile("[\n\r\x1c-\x1e\x85\u2029]")
_MARK_RUN: Final = re.compile(f"[{_MARKS}]{{3}}")
_TURNS: Final = re.compile("[\u202a-\u202e\u2066-\u2069]")
_ELSEWHERE: Final = re.compile(f"[\u00ad{_MARKS}]|{_TURNS.pattern}|{_TAG.pattern}")
_OVERRIDES: Final = "\u202d\u202e"
_PAIRS: Final = {
    "\u202a": "\u202c", "\u202b": "\u202c", "\u2066": "\u2069", "\u2067": "\u2069",
    "\u2068": "\u2069",
}  # fmt: skip
_PHONE: Final = re.compile(
    r"[\u202a\u2066\u2068][+(]{0,2}[0-9](?:[ \u00a0\u202f().\-/\u2010\u2011]{0,2}[0-9]){4,19}"
    r"[\u202c\u2069]"
)

_INDIC: Final = """
    Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu Kannada Malayalam Sinhala Tibetan
    Balinese Javanese Sundanese Newa Tirhuta Grantha Sharada Khojki Modi Siddham Takri Chakma
    Meetei_Mayek Saurashtra Kaithi Limbu Lepcha Brahmi Kawi Myanmar Khmer
"""
_TATWEEL: Final = "\u0640"  # common to the cursive scripts, and so of none of them
_CURSIVE: Final = """
    Arabic Syriac Mandaic Nko Mongolian Phags_Pa Manichaean Psalter_Pahlavi Adlam
    Hanifi_Rohingya Sogdian Chorasmian Old_Uyghur
"""


def _one(pattern: str) -> Callable[[str], object]:
    fits: Callable[[str], object] = regex.compile(f"(?V1){pattern}").fullmatch
    return fits


def _letters(scripts: str, more: str = "") -> Callable[[str], object]:
    listed = "".join(rf"\p{{Script={script}}}" for script in scripts.split())
    return _one(rf"[[[{listed}]&&[\p{{L}}\p{{M}}]]{more}]")


_joins: Final = _letters(_INDIC + _CURSIVE, _TATWEEL)
_is_cursive: Final = _letters(_CURSIVE, _TATWEEL)
_is_unspaced: Final = _letters("Thai Lao Khmer Myanmar")
_is_hebrew: Final = _letters("Hebrew")
_is_mongolian: Final = _letters("Mongolian")
_is_khmer: Final = _letters("Khmer")
_is_han: Final = _one(r"\p{Script=Han}")
_has_variants: Final = _one(
    r"[\p{Sm}0\U0001d400-\U0001d7ff\p{Script=Han}\p{Script=Myanmar}\p{Script=Phags_Pa}\p{Script=Manichaean}"
    r"\p{Script=Egyptian_Hieroglyphs}\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f]"
)
_is_picture: Final = _one(r"\p{Extended_Pictographic}")
_is_emoji: Final = _one(r"[[\p{Emoji}\p{Extended_Pictographic}\u20e3]--[0-9#*]]")
_follows_picture: Final = _one(r"[\p{Extended_Pictographic}\p{Emoji_Modifier}]")
_is_sign: Final = _one(r"[\p{P}\p{S}]")
_is_floating: Final = _one(
    r"[[\p{Script=Inherited}&&\p{M}]--[\u034f\ufe00-\ufe0f\U000e0100-\U000e01ef]]"
)
_is_shorthand: Final = _one(r"\p{Script=Duployan}")
_is_hieroglyph: Final = _one(r"\p{Script=Egyptian_Hieroglyphs}")
_is_music: Final = _one(r"[\U0001d100-\U0001d1ff]")
_TURNING: Final = regex.compile(r"(?V1)[[\p{bc=R}\p{bc=AL}]&&\p{L}]|\p{bc=AN}")
_TURNING_LETTER: Final = regex.compile(r"(?V1)[[\p{bc=R}\p{bc=AL}]&&\p{L}]")
_SOFT_WORD: Final = regex.compile(
    r"(?<![\p{L}\p{M}'’-])[\p{L}\p{M}'’-]++(?:\u00ad(?:\r?\n)?[\p{L}\p{M}'’-]++)+"
)
_LETTER: Final = regex.compile(r"\p{L}")
_OPERAND_BEFORE: Final = regex.compile(r"(?:[\p{N}\p{Pe}\p{Sm}|]|(?<!\p{L})\p{L}\p{M}*)\Z")
_OPERAND_AFTER: Final = regex.compile(
    r"[\p{N}\p{Ps}\p{Sm}|]|\p{L}{1,2}\p{M}*(?!\p{L})|\p{L}{2,8}[\u2061(]"
)
_FUNCTION: Final = regex.compile(r"(?<!\p{L})\p{L}{1,8}[\p{M}\p{N}\u2032\u2033]*\Z")


def report(strands: Iterable[Strand]) -> tuple[Finding, ...]:
    """What is hidden in `strands`: one finding for each kind in each string, in order."""
    odd = [strand for strand in strands if not strand.text.isascii()]
    return tuple(
        Finding(kind, (place_of_key if strand.is_key else place)(strand.address), FAMILY)
        for strand in odd
        for kind in hidden(strand.text)
    )


def hidden(text: str) -> tuple[str, ...]:
    """The kinds of `text`, in the order of `KINDS`: empty for all that a writing system needs."""
    if text.isascii():
        return ()
    there = "".join(set(_HIDDEN.findall(text)))
    if not there:
        return ()
    judged = {"tag": _tagged, "bidi": _turned, "invisible": _blind}
    return tuple(kind for kind in KINDS if judged[kind](text, there))


def _tagged(text: str, there: str) -> bool:
    return bool(_TAG.search(there) and _TAG.search(_FLAG.sub("", text)))


def _turned(text: str, there: str) -> bool:
    return bool(_TURNS.search(there)) and not all(map(_straight, _PARAGRAPH.split(text)))


def _blind(text: str, there: str) -> bool:
    """Whether something shows nothing and is not needed, tags and what turns text aside."""
    if "\u00ad" in there and not _hyphenated(text):
        return True
    if any(mark in there for mark in _MARKS) and not _marks_needed(text):
        return True
    others = [char for char in there if not _ELSEWHERE.match(char)]
    if not all(char in _RULES for char in others):
        return True
    hits = re.finditer(f"[{''.join(others)}]", text) if others else ()
    return not all(_RULES[hit[0]](text, hit.start()) for hit in hits)


def _straight(paragraph: str) -> bool:
    """Whether what turns text in a paragraph is closed in it and has something to turn."""
    controls = _TURNS.findall(paragraph)
    awaited: list[str] = []
    for control in controls:
        if control in _OVERRIDES:
            return False
        if control in _PAIRS:
            awaited.append(_PAIRS[control])
        elif not awaited or awaited.pop() != control:
            return False
    if awaited:
        return False
    if not controls or _TURNING_LETTER.search(paragraph):
        return True
    return len(controls) == 2 and _PHONE.search(paragraph) is not None


def _marks_needed(text: str) -> bool:
    # Of the whole text: a line of numbers under lines of Hebrew needs them too.
    return bool(_TURNING.search(text)) and not _MARK_RUN.search(text)


def _hyphenated(text: str) -> bool:
    """Whether each soft hyphen stands in a long word, between parts of two letters or more."""
    rest = text.count("\u00ad")
    for word in _SOFT_WORD.finditer(text):
        sizes = [len(_LETTER.findall(part)) for part in word[0].split("\u00ad")]
        if min(sizes) < 2 or sum(sizes) < _LONG_WORD:
            return False
        rest -= len(sizes) - 1
    return not rest


def _coloured(text: str, at: int) -> bool:
    """A selector between text and emoji stands after an emoji, or in a keycap."""
    before = text[at - 1 : at]
    return bool(_is_emoji(before)) or (
        before in {*"0123456789#*"} and text[at + 1 : at + 2] == "\u20e3"
    )


def _base(text: str, at: int) -> str:
    """The character before `at`; marks that belong to no script are passed over."""
    near = text[max(0, at - _STACK) : at]
    while len(near) > 1 and _is_floating(near[-1]):
        near = near[:-1]
    return near[-1:]


def _joiner(text: str, at: int) -> bool:
    before = text[max(0, at - 2) : at]
    pictured = _follows_picture(before[-1:]) or (before[1:] == "\ufe0f" and _is_emoji(before[:1]))
    if pictured and _is_picture(text[at + 1 : at + 2]):
        return True
    if _joins(_base(text, at)):
        return text[at + 1 : at + 2] != "\u200d"
    # A letter that is shown alone takes the form that it has within a word.
    return (not before or before[-1:].isspace()) and bool(_is_cursive(text[at + 1 : at + 2]))


def _non_joiner(text: str, at: int) -> bool:
    if _joins(_base(text, at)):
        return True
    # A suffix may follow a foreign word or a number.
    return text[at - 1 : at] not in {"\u200c", "\u200d"} and bool(_joins(text[at + 1 : at + 2]))


def _breaks(text: str, at: int) -> bool:
    return bool(_is_unspaced(text[at - 1 : at]) or _is_unspaced(text[at + 1 : at + 2]))


def _glues(text: str, at: int) -> bool:
    """A word joiner keeps a sign on its line; between letters it only hides."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    return bool(before and after and (_is_sign(before) or _is_sign(after)))


def _applies(text: str, at: int) -> bool:
    before, after = text[max(0, at - 12) : at], text[at + 1 : at + 12].removeprefix(" ")
    return bool(_FUNCTION.search(before) and _OPERAND_AFTER.match(after))


def _operates(text: str, at: int) -> bool:
    before, after = text[max(0, at - 12) : at], text[at + 1 : at + 12]
    return bool(_OPERAND_BEFORE.search(before) and _OPERAND_AFTER.match(after))


def _after(is_fit: Callable[[str], object]) -> Callable[[str, int], bool]:
    return lambda text, at: bool(is_fit(text[at - 1 : at]))


def _beside_music(text: str, at: int) -> bool:
    return bool(_is_music(text[at - 1 : at]) or _is_music(text[at + 1 : at + 2]))


# Whatever has no rule here is needed nowhere: fillers, the blank of Braille, deprecated controls.
_RULES: Final[Mapping[str, Callable[[str, int], bool]]] = {
    "\u200b": _breaks,
    "\u200c": _non_joiner,
    "\u200d": _joiner,
    "\u2060": _glues,
    "\u2061": _applies,
    **dict.fromkeys("\u2062\u2063\u2064", _operates),
    **dict.fromkeys(map(chr, range(0xFE00, 0xFE0E)), _after(_has_variants)),
    **dict.fromkeys("\ufe0e\ufe0f", _coloured),
    **dict.fromkeys(map(chr, range(0xE0100, 0xE01F0)), _after(_is_han)),
    "\u034f": lambda text, at: bool(_is_hebrew(_base(text, at))),
    "\ufeff": lambda text, at: at == 0,
    **dict.fromkeys("\u17b4\u17b5", _after(_is_khmer)),
    **dict.fromkeys("\u180b\u180c\u180d\u180e\u180f", _after(_is_mongolian)),
    **dict.fromkeys(map(chr, range(0x1BCA0, 0x1BCA4)), _after(_is_shorthand)),
    **dict.fromkeys(map(chr, range(0x13430, 0x13440)), _after(_is_hieroglyph)),
    **dict.fromkeys(map(chr, range(0x1D173, 0x1D17B)), _beside_music),
}
