"""Other ways to read a text: what a program or a person would see through to.

Owns cleaning and the derived views: without line numbers, diff marks, escapes, joints, hex-dump
columns. It must not know what is looked for. Every view is linear in its text and comes only
where a cheap test says that it would differ.
"""

import html
import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

import re2  # type: ignore[import-untyped]

from policies.screening.work import Work

_CONTROL = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]{0,512}(?:\x07|\x1b\\\\)|[@-Z^_])")
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_ALIKE_LETTERS = re.compile("[\u0370-\u03ff\u0400-\u052f]")
_ALIKE = str.maketrans(
    "АВЕКМНОРСТХавеокрсухіјѕԁһӏԛԝпΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαινκρτυχω",
    "ABEKMHOPCTXaBeokpcyxijsdhlqwnABEZHIKMNOPTYXoaivkptuxw",
)


def _linear(pattern: bytes) -> "re2._Regexp":
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    return re2.compile(pattern, options)


_NUMBER = rb"[ \t]*(?:[^\s:]{1,200}[:-])?\d{1,7}(?:\t|\xe2\x86\x92|[ ]?\xe2\x94\x82|[:|)-])"
_NUMBERED = _linear(rb"(?:^|\n)" + _NUMBER + rb"[^\n]*\n" + _NUMBER)
_NUMBERS = re.compile(
    rb"(?m)^[ \t]{0,12}(?:[^\s:]{1,200}[:-])?\d{1,7}(?:\t|\xe2\x86\x92|[ ]?\xe2\x94\x82|[:|)-])[ ]?"
)
_MARKED = _linear(rb"(?:^|\n)[+> -][ ]?[A-Za-z0-9+/]{24,}={0,2}\r?(?:\n|$)")
_MARKS = re.compile(rb"(?m)^(?:[+-]|[> ] ?)")
_WRAPPED = _linear(rb"(?:[A-Za-z0-9+/_-]{40,}[ \t]*\r?\n[ \t]*)+[A-Za-z0-9+/_-]+={0,2}")
_BLANKS = re.compile(rb"\s+")
_JOINT = _linear(rb"[\"'`][ \t]*(?:\+[ \t]*(?:\\?\r?\n[ \t]*)?|\\?\r?\n[ \t]*(?:\+[ \t]*)?)[\"'`]")
_DUMP = _linear(rb"(?:^|\n)[0-9a-fA-F]{4,16}:?[ \t]+(?:[0-9a-fA-F]{2}|[0-9a-fA-F]{4})[ \t]")
_DUMP_LINE = re.compile(
    rb"(?m)^[0-9a-fA-F]{4,16}:?[ \t]+((?:(?:[0-9a-fA-F]{2}|[0-9a-fA-F]{4})(?:[ \t]{1,2}|$)){1,16})"
)
_SPACED_HEX = _linear(rb"(?:(?:0x)?[0-9a-fA-F]{2}[:, -][ \n]?){15,}(?:0x)?[0-9a-fA-F]{2}")
_HEX_NOISE = re.compile(rb"0x|[^0-9a-fA-F]")
_ESCAPE = re.compile(
    rb"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|u\{([0-9a-fA-F]{1,6})\})"
)
_PLAIN_ESCAPES = tuple(
    (escaped.encode(), plain.encode())
    for escaped, plain in (
        ("\\\\", "\0\1"), ("\\n", "\n"), ("\\r", "\r"), ("\\t", "\t"), ('\\"', '"'),
        ("\\'", "'"), ("\\/", "/"), ("\0\1", "\\"),
    )
)  # fmt: skip


def clean(text: str) -> str:
    """Without terminal control sequences and characters that nobody sees, and in NFKC."""
    if text.isascii() and "\x1b" not in text:
        return text
    return unicodedata.normalize("NFKC", _IGNORABLE.sub("", _CONTROL.sub("", text)))


def alike(text: str) -> str | None:
    """With Cyrillic and Greek letters read as the Latin ones they look like, where there are any
    beside Latin letters."""
    return text.translate(_ALIKE) if _ALIKE_LETTERS.search(text) else None


def lines(data: bytes, work: Work) -> Iterator[bytes]:
    """Without line numbers; without diff and quotation marks. For what spans lines."""
    if _NUMBERED.search(data):
        work.spend("views", 2 * len(data))
        yield _NUMBERS.sub(b"", data)
    if _MARKED.search(data):
        work.spend("views", 2 * len(data))
        yield _MARKS.sub(b"", data)


def joined(data: bytes, work: Work) -> Iterator[bytes]:
    """Wrapped base64 or hex in one piece each; strings that code puts together."""
    wrapped = [_BLANKS.sub(b"", match[0]) for match in _WRAPPED.finditer(data)]
    if wrapped:
        work.spend("views", sum(map(len, wrapped)))
        yield b"\n".join(wrapped)
    if _JOINT.search(data):
        work.spend("views", 2 * len(data))
        yield _JOINT.sub(b"", data)


def unescaped(data: bytes, work: Work) -> Iterator[bytes]:
    """The lines that hold backslash, percent or character escapes, undone once, twice, thrice:
    JSON inside strings is escaped once more at each level."""
    for _ in range(3):
        if not (b"\\" in data or b"%" in data or b"&" in data):
            return
        data = b"\n".join(
            line for line in data.split(b"\n") if b"\\" in line or b"%" in line or b"&" in line
        )
        work.spend("views", 2 * len(data))
        plain = _undone(data)
        if plain == data:
            return
        yield plain
        data = plain


def _undone(data: bytes) -> bytes:
    if b"\\" in data:
        if b"\\u" in data or b"\\x" in data or b"\\U" in data:
            data = _ESCAPE.sub(_character, data)
        for escaped, plain in _PLAIN_ESCAPES:
            data = data.replace(escaped, plain)
    if b"%" in data:
        data = unquote_to_bytes(data)
    if b"&" in data and b";" in data:
        data = html.unescape(data.decode(errors="replace")).encode(errors="replace")
    return data


def _character(match: re.Match[bytes]) -> bytes:
    code = int(next(group for group in match.groups() if group), 16)
    return chr(code).encode(errors="replace") if code < 0x110000 else b"?"


def dumped(data: bytes, work: Work) -> Iterator[bytes]:
    """Bytes that hex dumps and spaced hex stand for."""
    if _DUMP.search(data):
        groups = [line[1].split() for line in _DUMP_LINE.finditer(data)]
        work.spend("views", len(data))
        yield _unhexed(groups, swap=False)
        if any(len(group) == 4 for group in groups[0][:1]):
            yield _unhexed(groups, swap=True)
    spaced = [_HEX_NOISE.sub(b"", match[0]) for match in _SPACED_HEX.finditer(data)]
    if spaced:
        work.spend("views", sum(map(len, spaced)))
        yield b"\n".join(bytes.fromhex(run.decode()) for run in spaced if len(run) % 2 == 0)


def _unhexed(lines: list[list[bytes]], *, swap: bool) -> bytes:
    """Sixteen bytes a line at most; a text column that looks like hex is beyond them."""
    out = []
    for groups in lines:
        ordered = [group[2:] + group[:2] for group in groups] if swap else groups
        out.append(bytes.fromhex(b"".join(ordered)[:32].decode()))
    return b"".join(out)
