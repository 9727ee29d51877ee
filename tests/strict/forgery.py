"""Forgeries of frames: the sample templates, and further spellings of the stem.

Owns how a template becomes text (tests/data/README-injection.md) and what a reader would see in a
text. It must not know how the product finds a stem.
"""

import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

STEM = "TRANSOM_DATA"
CLOSING = "[[END_TRANSOM_DATA nonce={nonce}]]"
OPENING = "[[TRANSOM_DATA nonce={nonce} field=x]]"
WRONG = "0" * 32

SAMPLES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "forgery-dev.jsonl").read_text().splitlines()
]


def fullwidth(text: str) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


def escaped(text: str) -> str:
    """Every character as a JSON escape."""
    units = text.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


FILTERS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "fullwidth": fullwidth,
    "zwsp": lambda text: "\u200b".join(text),
    "jsonesc": escaped,
    "dup": lambda text: text[: len(text) // 2] + text + text[len(text) // 2 :],
    "first-half": lambda text: text[: len(text) // 2],
    "second-half": lambda text: text[len(text) // 2 :],
}

_SLOT = re.compile(r"\{\{([A-Z]+)(?::([^|}]+))?(?:\|([a-z0-9-]+))?\}\}")


def expanded(template: str, handed: str, previous: str) -> str:
    """The template with its slots filled; `handed` is the nonce that the text knows, `previous`
    that of an earlier message."""

    def fill(match: re.Match[str]) -> str:
        name, argument, chosen = match.groups()
        nonce = {None: handed, "PREV": previous, "WRONG": WRONG}.get(argument, argument)
        text = {
            "OPEN": lambda: OPENING.format(nonce=nonce),
            "CLOSE": lambda: CLOSING.format(nonce=nonce),
            "STEM": lambda: STEM,
            "NONCE": lambda: nonce,
            "FILL": lambda: "x" * int(argument),
        }[name]()
        return FILTERS[chosen](text) if chosen else text

    return _SLOT.sub(fill, template)


LOOK_ALIKES = str.maketrans("TASOM", "\u0422\u0410\u0405\u041e\u041c")
"""Cyrillic letters that look like Latin ones."""

SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "lower case": str.lower,
    "mixed case": lambda text: "".join(c.lower() if i % 2 else c for i, c in enumerate(text)),
    "full width": fullwidth,
    "look-alikes": lambda text: text.translate(LOOK_ALIKES),
    "mathematical bold": lambda text: "".join(
        chr(0x1D400 + ord(c) - 65) if "A" <= c <= "Z" else c for c in text
    ),
    "circled": lambda text: "".join(
        chr(0x24B6 + ord(c) - 65) if "A" <= c <= "Z" else c for c in text
    ),
    "combining marks": lambda text: "".join(f"{c}\u0301" if c.isalpha() else c for c in text),
    "enclosing marks": lambda text: "".join(f"{c}\u20dd" if c.isalpha() else c for c in text),
    "zero-width spaces": "\u200b".join,
    "zero-width joiners": "\u200d".join,
    "soft hyphens": "\u00ad".join,
    "variation selectors": "\ufe0f".join,
    "variation selectors, second plane": "\U000e0101".join,
    "tag characters": "\U000e0041".join,
    "bidi controls": "\u202e".join,
    "byte order marks": "\ufeff".join,
    "blanks": " ".join,
    "line breaks": "\n".join,
    "long s": lambda text: text.replace("S", "\u017f"),
    "json escapes": escaped,
    "doubled into itself": FILTERS["dup"],
}


UNSEEN_LETTERS = {
    name: char.join
    for name, char in {
        "braille blanks": "\u2800",
        "hangul initial fillers": "\u115f",
        "hangul medial fillers": "\u1160",
        "hangul fillers": "\u3164",
        "half-width hangul fillers": "\uffa0",
    }.items()
}
"""Letters and symbols by their category, but nothing is seen of them."""


def seen(text: str) -> str:
    """What a reader sees, from the interpreter's own Unicode data: no invisible characters, no
    marks, compatibility forms folded, no case."""
    folded = unicodedata.normalize("NFKD", text)
    kept = (c for c in folded if unicodedata.category(c) not in ("Cf", "Mn", "Me"))
    return unicodedata.normalize("NFKC", "".join(kept)).casefold()
