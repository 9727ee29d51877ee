"""Write `policies/envelope/tables.py`: which characters can stand for a piece of the stem.

Run by hand when Unicode moves on, in an environment of its own:

    pip install disarm regex confusable-homoglyphs
    python tools/stem_tables.py > policies/envelope/tables.py

Then raise `VERSION` in the output if the data has changed. disarm brings NFKD and the confusables
of its Unicode version, confusable-homoglyphs the confusables of many-to-one kinds that a plain
fold leaves out, regex the character properties, the interpreter the character names.
"""

import json
import re
import sys
import textwrap
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

import confusable_homoglyphs
import disarm
import regex

STEM = "transorn_data"
GRAPH = json.loads(Path(confusable_homoglyphs.__file__).with_name("confusables.json").read_text())
HIDDEN = regex.compile(r"[\p{Mn}\p{Me}\p{Cf}\p{DI}\p{White_Space}\p{Cc}\p{Cs}\u2800]")
# Ideographs, Hangul, cuneiform, Tangut, what is unassigned: slow to walk, and no look-alikes there.
SKIPPED = regex.compile(
    r"[\p{Cn}\p{Co}\p{Cs}\u3400-\u9fff\uac00-\ud7a3"
    r"\U00012000-\U0001467f\U00017000-\U00018cff\U00020000-\U0003ffff]"
)
BY_NAME = regex.compile(
    r"(?:LATIN (?:SMALL|CAPITAL) LETTER (?P<x>[A-Z])(?: WITH .*)?"
    r"|LATIN LETTER SMALL CAPITAL (?P<x>[A-Z])"
    r"|.*(?:CIRCLED|SQUARED|PARENTHESIZED|CROSSED) (?:NEGATIVE )?LATIN"
    r" (?:SMALL|CAPITAL) LETTER (?P<x>[A-Z])"
    r"|REGIONAL INDICATOR SYMBOL LETTER (?P<x>[A-Z])"
    r"|(?:COMBINING|MODIFIER) (?:LETTER )?(?:LATIN )?(?:LETTER )?"
    r"(?:SMALL|CAPITAL)(?: LETTER)? (?P<x>[A-Z])(?: WITH .*)?)"
)
# Low lines that no table of confusables lists.
LOW_LINES = dict.fromkeys("\u02cd\u2017\u2581\u23bd\u2423", "_")


def is_hidden(char: str) -> bool:
    """Marks of any Unicode version at hand: some have moved out of Mn."""
    return bool(HIDDEN.match(char)) or unicodedata.category(char) in ("Mn", "Me", "Cf")


def steps(text: str) -> Iterator[str]:
    """All that `text` may be taken for, one operation away."""
    yield disarm.normalize(text, form="NFKD")
    yield from (text.casefold(), text.lower(), text.upper())
    yield "".join(char for char in text if not is_hidden(char))
    yield disarm.normalize_confusables(text)
    for at, char in enumerate(text):
        for other in look_alikes(char):
            yield text[:at] + other + text[at + 1 :]


def look_alikes(char: str) -> Iterator[str]:
    yield from (entry["c"] for entry in GRAPH.get(char, ()) if entry["c"].isascii())
    if match := BY_NAME.fullmatch(unicodedata.name(char, "")):
        yield match["x"].lower()
    if char in LOW_LINES:
        yield LOW_LINES[char]
    if 0xE0020 <= ord(char) <= 0xE007E:
        yield chr(ord(char) - 0xE0000)


def is_useful(reading: str) -> bool:
    """True if `reading` can be part of the stem or reach over one of its ends."""
    cuts = range(1, len(reading))
    return (
        reading in STEM
        or any(STEM.startswith(reading[cut:]) for cut in cuts)
        or any(STEM.endswith(reading[:cut]) for cut in cuts)
    )


def readings(char: str) -> set[str]:
    """Every useful ASCII text that a chain of steps leads to."""
    seen, waiting, found = {char}, [char], set()
    while waiting:
        for text in steps(waiting.pop()):
            if not text or text in seen or len(text) > 12:
                continue
            seen.add(text)
            if not text.isascii():
                waiting.append(text)
                continue
            reading = text.casefold().replace("m", "rn").replace("0", "o").replace(" ", "")
            if reading and is_useful(reading):
                found.add(reading)
    # Over its ends only where it cannot do inside.
    return {one for one in found if one in STEM} or found


def ranges(codes: Iterable[int]) -> str:
    joined: list[list[int]] = []
    for code in sorted(set(codes)):
        if joined and joined[-1][1] == code - 1:
            joined[-1][1] = code
        else:
            joined.append([code, code])
    return " ".join(f"{a:X}" if a == b else f"{a:X}-{b:X}" for a, b in joined)


def literal(text: str, indent: int) -> str:
    lines = textwrap.wrap(text, 92 - indent)
    if len(lines) == 1:
        return f'"{lines[0]}"'
    spaced = [f"{line} " for line in lines[:-1]] + lines[-1:]
    body = "\n".join(f'{" " * indent}"{line}"' for line in spaced)
    return f"(\n{body}\n{' ' * (indent - 4)})"


def main() -> None:
    hidden = [code for code in range(0x80, sys.maxunicode + 1) if is_hidden(chr(code))]
    folds: dict[str, list[int]] = defaultdict(list)
    for code in range(0x80, sys.maxunicode + 1):
        if not SKIPPED.match(chr(code)):
            for reading in readings(chr(code)):
                folds[reading].append(code)
    template = Path(__file__).with_name("stem_tables.txt").read_text()
    fills = {
        "unicode": disarm.UNICODE_VERSION,
        "disarm": version("disarm"),
        "regex": version("regex"),
        "graph": version("confusable-homoglyphs"),
        "names": unicodedata.unidata_version,
        "hidden": literal(ranges(hidden), 4),
        "folds": "\n".join(
            f"    {json.dumps(reading)}: {literal(ranges(folds[reading]), 8)},"
            for reading in sorted(folds)
        ),
    }
    sys.stdout.write(re.sub(r"<(\w+)>", lambda match: fills[match[1]], template))


if __name__ == "__main__":
    main()
