"""Texts spelled in other ways than in letters side by side: with something between any two, as
numbers, as quoted-printable, in characters that nobody sees, with quotation marks doubled.

Owns these views. It must not know what is looked for. Each is linear in its text and comes only
where a cheap test says that it would differ.
"""

import binascii
import re
from collections.abc import Container, Iterator
from typing import Final

from policies.screening.engine import linear
from policies.screening.views import alike, clean
from policies.screening.work import Work

_SPELLED = re.compile(
    rb"(?<![A-Za-z0-9])[ -~]("
    rb"[ ]{1,4}|\t|\r?\n|[-_.,:;|/*]|, ?|\\n|[\"'], ?[\"']|[\"'],?\r?\n[ \t]{0,16}[\"']"
    rb")(?:[ -~]\1){14,}[ -~]"
)
_BYTE = rb"(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})"
_NUMBERS = linear(rb"(?:" + _BYTE + rb"[ \t\r\n,;]+){15,}" + _BYTE)
_QUOTED = linear(rb"(?:[^\n]*=\r?\n)+[^\n]*|[^\n]*=[2-7][0-9A-F][^\n]*")
_APART = linear(rb"(?:[A-Za-z0-9][^A-Za-z0-9]+){15,}[A-Za-z0-9]")
BETWEEN_ROWS = b"\n\0\n"
_BETWEEN: Final = bytes.maketrans(b",;", b"  ")
_TAGS = re.compile("[\U000e0020-\U000e007e]+")
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{8,}")


def spellings(name: str, data: bytes, seen: Container[str], work: Work) -> Iterator[bytes]:
    """The view called `name` of `data`, of which the tests have `seen` something; mostly none."""
    match name:
        case "cleaned" if "unseen" in seen or "compatible" in seen:
            made = _cleaned(data)
        case "alike" if "alike" in seen:
            made = iter((alike(data.decode(errors="replace")).encode(errors="replace"),))
        case "spelled" if "spelled" in seen:
            made = iter((b"\n".join(_spelled(data)),))
        case "numbered" if "bytes" in seen:
            made = iter((BETWEEN_ROWS.join(_numbered(data)),))
        case "quoted" if "quoted" in seen:
            made = iter((binascii.a2b_qp(b"\n".join(_QUOTED.findall(data))),))
        case "halved" if "doubled" in seen:
            made = iter((_halved(data),))
        case "nuls" if "nul" in seen:
            made = iter((data.replace(b"\0", b""),))
        case _:
            return
    work.spend(name, len(data))
    yield from made


def _cleaned(data: bytes) -> Iterator[bytes]:
    """What a reader sees where characters hide or look like others, and what those that nobody
    sees say: tags are a second ASCII, and selectors number bytes. The text as it came is read as
    well: what cleaning takes away may be a part of a secret."""
    text = data.decode(errors="replace")
    cleaned = clean(text)
    if cleaned != text:
        yield cleaned.encode(errors="replace")
    hidden = [run.translate(_AS_ASCII) for run in _TAGS.findall(text)]
    hidden += [run.translate(_AS_BYTES) for run in _SELECTORS.findall(text)]
    if hidden:
        yield "".join(hidden).encode("latin-1")


_AS_ASCII: Final = {0xE0000 + code: code for code in range(0x20, 0x7F)}
_AS_BYTES: Final = {
    **{0xFE00 + code: code for code in range(16)},
    **{0xE0100 + code: code + 16 for code in range(240)},
}


def _halved(data: bytes) -> bytes:
    """The lines in which quotation marks are doubled, as CSV and SQL do it inside of a value."""
    lines = [line for line in data.split(b"\n") if b'""' in line or b"''" in line]
    return b"\n".join(lines).replace(b'""', b'"').replace(b"''", b"'")


def _spelled(data: bytes) -> Iterator[bytes]:
    """Rows of single characters with the same thing between any two, without it."""
    for apart in _APART.finditer(data):
        for row in _SPELLED.finditer(data, max(0, apart.start() - 2), apart.end() + 2):
            yield row[0][:: 1 + len(row[1])]


def _numbered(data: bytes) -> Iterator[bytes]:
    """The bytes that rows of numbers below 256 stand for."""
    for row in _NUMBERS.finditer(data):
        yield bytes(map(int, row[0].translate(_BETWEEN).split()))
