"""Other ways to read a text: what a program or a person would see through to.

Owns cleaning and the derived views: without line numbers, diff marks, escapes, joints, hex-dump
columns. It must not know what is looked for. Every view is linear in its text and comes only
where a cheap test says that it would differ.
"""

import html
import re
import unicodedata
from collections.abc import Container, Iterator
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
    options.log_errors = False
    return re2.compile(pattern, options)


_NUMBER = rb"(?:[^\s:]{1,200}[:-])?\d{1,7}(?:\t|\xe2\x86\x92|[ ]?\xe2\x94\x82|[ ]?\||[:)-])[ ]?"
_BASE64 = rb"[A-Za-z0-9+/_-]"
_HEX_GROUP = rb"(?:[0-9a-fA-F]{2}|[0-9a-fA-F]{4})"
_DUMP_HEAD = rb"(?:[ \t]{0,12}\d{1,7}(?:\t|\xe2\x86\x92))?[0-9a-fA-F]{4,16}:?[ \t]{1,4}"
GATES = {
    "run": _BASE64 + rb"{24}",
    "escape": rb"\\|%[0-9a-fA-F]{2}|&(?:#|[A-Za-z]{2,8};)",
    "label": rb"(?:[Ww]ord|[Ss]eed|[Mm]nemonic|[Pp]hrase|WORD|SEED)[ _#-]{0,2}0?1[^0-9A-Za-z]",
    "joint": rb"[\"'`][ \t]*(?:\+|\\?\r?\n)[ \t]*(?:\\?\r?\n[ \t]*)?(?:\+[ \t]*)?[\"'`]",
    "dump": rb"(?:^|\n)" + _DUMP_HEAD + _HEX_GROUP + rb"[ \t]",
    "spaced": rb"(?:[0-9a-fA-F]{2}[: ,-][ \n]?(?:0x)?){4}",
}
"""Cheap tests, all answered in one pass: which views may differ from the text at all."""

_NUMBERED = _linear(rb"(?:^|\n)[ \t]*" + _NUMBER + rb"[A-Za-z0-9+/=_-]{24,}[ \t]*\r?\n")
_MARKED = _linear(rb"(?:^|\n)[+> -][ ]?[A-Za-z0-9+/]{24,}={0,2}[ \t]*\r?\n")
_WRAPPED = _linear(rb"(?:" + _BASE64 + rb"{40,}[ \t]*\r?\n[ \t]*)+" + _BASE64 + rb"+={0,2}")
_SPACED_HEX = _linear(rb"(?:(?:0x)?[0-9a-fA-F]{2}[: ,-][ \n]?){15,}(?:0x)?[0-9a-fA-F]{2}")
_NUMBERS = re.compile(rb"(?m)^[ \t]{0,12}" + _NUMBER)
_MARKS = re.compile(rb"(?m)^(?:[+-]|[> ] ?)")
_BLANKS = re.compile(rb"\s+")
_JOINT = re.compile(
    rb"[\"'`][ \t]{0,80}(?:\+[ \t]{0,80}(?:\\?\r?\n[ \t]{0,80})?|"
    rb"\\?\r?\n[ \t]{0,80}(?:\+[ \t]{0,80})?)[\"'`]"
)
_DUMP_LINE = re.compile(
    rb"(?m)^" + _DUMP_HEAD + rb"((?:" + _HEX_GROUP + rb"(?:[ \t]{1,2}|$)){1,16})"
)
_HEX_NOISE = re.compile(rb"0x|[^0-9a-fA-F]")
_ESCAPED = re.compile(rb"[\\%&]")
_ESCAPE = re.compile(
    rb"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|u\{([0-9a-fA-F]{1,6})\})"
)
_BACKSLASH = b"\0\1"  # stands for an escaped backslash while the other escapes are undone
_PLAIN_ESCAPES = tuple(
    (escaped.encode(), plain.encode())
    for escaped, plain in (
        ("\\n", "\n"), ("\\r", "\r"), ("\\t", "\t"), ('\\"', '"'), ("\\'", "'"), ("\\/", "/"),
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


def lines(data: bytes, seen: Container[str], work: Work) -> Iterator[bytes]:
    """Without line numbers; without diff and quotation marks. For what spans lines."""
    if "run" not in seen:
        return
    if _NUMBERED.search(data):
        work.spend("views", 2 * len(data))
        yield _NUMBERS.sub(b"", data)
    if _MARKED.search(data):
        work.spend("views", 2 * len(data))
        yield _MARKS.sub(b"", data)


def joined(data: bytes, seen: Container[str], work: Work) -> Iterator[bytes]:
    """Wrapped base64 or hex in one piece each; strings that code puts together."""
    if "run" in seen:
        wrapped = [_BLANKS.sub(b"", match[0]) for match in _WRAPPED.finditer(data)]
        work.spend("views", sum(map(len, wrapped)))
        yield from filter(None, [b"\n".join(wrapped)])
    if "joint" in seen:
        work.spend("views", 2 * len(data))
        yield _JOINT.sub(b"", data)


def unescaped(data: bytes, seen: Container[str], work: Work) -> Iterator[bytes]:
    """The lines that hold backslash, percent or character escapes, undone once, twice, thrice:
    JSON inside strings is escaped once more at each level."""
    if "escape" not in seen:
        return
    for _ in range(3):
        data = b"\n".join(_escaped_lines(data))
        work.spend("views", 2 * len(data))
        plain = _undone(data)
        if plain == data:
            return
        yield plain
        data = plain


def _escaped_lines(data: bytes) -> Iterator[bytes]:
    found = _ESCAPED.search(data)
    while found:
        start, end = data.rfind(b"\n", 0, found.start()) + 1, data.find(b"\n", found.end())
        yield data[start : end if end >= 0 else len(data)]
        found = _ESCAPED.search(data, end) if end >= 0 else None


def _undone(data: bytes) -> bytes:
    if b"\\" in data:
        data = data.replace(b"\\\\", _BACKSLASH)
        if b"\\u" in data or b"\\x" in data or b"\\U" in data:
            data = _ESCAPE.sub(_character, data)
        for escaped, plain in _PLAIN_ESCAPES:
            data = data.replace(escaped, plain)
        data = data.replace(_BACKSLASH, b"\\")
    if b"%" in data:
        data = unquote_to_bytes(data)
    if b"&" in data and b";" in data:
        data = html.unescape(data.decode(errors="replace")).encode(errors="replace")
    return data


def _character(match: re.Match[bytes]) -> bytes:
    code = int(next(group for group in match.groups() if group), 16)
    return chr(code).encode(errors="replace") if code < 0x110000 else b"?"


def dumped(data: bytes, seen: Container[str], work: Work) -> Iterator[bytes]:
    """Bytes that hex dumps and spaced hex stand for."""
    if "dump" in seen:
        groups = [line[1].split() for line in _DUMP_LINE.finditer(data)]
        work.spend("views", len(data))
        yield _unhexed(groups, swap=False)
        if groups and len(groups[0][0]) == 4:
            yield _unhexed(groups, swap=True)
    if "spaced" in seen:
        spaced = [_HEX_NOISE.sub(b"", match[0]) for match in _SPACED_HEX.finditer(data)]
        work.spend("views", sum(map(len, spaced)))
        yield b"\n".join(bytes.fromhex(run.decode()) for run in spaced if len(run) % 2 == 0)


def _unhexed(lines: list[list[bytes]], *, swap: bool) -> bytes:
    """Sixteen bytes a line at most; a text column that looks like hex is beyond them."""
    out = []
    for groups in lines:
        ordered = [group[2:] + group[:2] for group in groups] if swap else groups
        out.append(bytes.fromhex(b"".join(ordered)[:32].decode()))
    return b"".join(out)
