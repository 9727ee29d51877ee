"""Other ways to read a text: what a program or a person would see through to.

Owns cleaning and the derived views: without line numbers, diff marks, escapes, joints, hex-dump
columns. It must not know what is looked for. Every view is linear in its text and comes only
where a cheap test says that it would differ.
"""

import html
import json
import re
from collections.abc import Container, Iterable, Iterator, Sequence
from urllib.parse import unquote_to_bytes

from policies.screening.engine import linear
from policies.screening.mending import JOINED
from policies.screening.normal import normal
from policies.screening.signs import DUMP_HEAD
from policies.screening.work import Work

_CONTROL = re.compile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]{0,512}(?:\x07|\x1b\\\\)|[@-Z^_])")
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_MIXED = re.compile("[A-Za-z0-9][\u0370-\u052f]|[\u0370-\u052f][A-Za-z0-9]")
_ALIKE = str.maketrans(
    "АВЕКМНОРСТХавеокрсухіјѕԁһӏԛԝпΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαινκρτυχω",
    "ABEKMHOPCTXaBeokpcyxijsdhlqwnABEZHIKMNOPTYXoaivkptuxw",
)


_NUMBER = (
    rb"(?:[^\s:]{1,200}[:-])?\d{1,7}(?::\d{1,4})?"
    rb"(?:\t|\xe2\x86\x92|[ ]?\xe2\x94\x82|[ ]?\||[:)-])[ ]?"
)
_HEX_GROUP = rb"(?:[0-9a-fA-F]{2}|[0-9a-fA-F]{4})"
_NUMBERED = linear(rb"(?:^|\n)[ \t]*" + _NUMBER + rb"[ \t]{0,40}[A-Za-z0-9+/=_-]{24,}[ \t]*\r?\n")
_RUN = rb"[ \t]{0,40}[A-Za-z0-9+/]{24,}={0,2}[ \t]*\r?\n"
_MARKED = linear(
    # Between others with a mark: plus is a character of base64, too.
    rb"(?:^|\n)[> ]" + _RUN + rb"|(?:^|\n)[+> -][^\n]*\n[+-]" + _RUN + rb"[+> -]"
)
_LINE = 48
_CODED = bytes(code for code in range(128) if chr(code).isalnum()) + b"+/_-"
_SPACED_HEX = linear(rb"(?:(?:0x)?[0-9a-fA-F]{2}[: ,-][ \t\r\n]*){15,}(?:0x)?[0-9a-fA-F]{2}")
_NUMBERS = re.compile(rb"(?m)^[ \t]{0,12}" + _NUMBER)
_MARKS = re.compile(rb"(?m)^(?:[+-]|[> ] ?)")
_BESIDE = 512
"""Bytes on each side of a joint that may be a part of what is joined."""
_BLANK = re.compile(r"[\s,]*")
_JOINT = re.compile(JOINED)
_CONTINUED = re.compile(rb"\\\r?\n[ \t]{0,80}")
_DUMP_LINE = re.compile(
    rb"(?m)^" + DUMP_HEAD + rb"((?:" + _HEX_GROUP + rb"(?:[ \t]{1,2}|$)){1,16})"
)
_HEX_NOISE = re.compile(rb"0x|[^0-9a-fA-F]")
_SIGNED = bytes.maketrans(b"%&", b"\\\\")
"""Every sign that an escape begins with, as one of them."""
_PERCENT = re.compile(rb"%[0-9a-fA-F]{2}")
_REFERENCE = re.compile(rb"&(?:#|[A-Za-z]{2,8};)")
_ESCAPE = re.compile(
    rb"\\(?:([nrt\"'/\\])|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|U([0-9a-fA-F]{8})|u\{([0-9a-fA-F]{1,6})\}|"
    rb"([0-3][0-7]{2})|(e))"
)
_UTF8 = re.compile(rb"\\x[c-fC-F][0-9a-fA-F](?:\\x[89abAB][0-9a-fA-F]){1,3}")
"""Bytes of UTF-8 one by one: by itself each would be a character of Latin-1."""
_PLAIN = {
    b"n": b"\n", b"r": b"\r", b"t": b"\t", b'"': b'"', b"'": b"'", b"/": b"/", b"\\": b"\\",
    b"e": b"\x1b",
}  # fmt: skip


def clean(text: str) -> str:
    """Without terminal control sequences and characters that nobody sees, and in NFKC."""
    if text.isascii() and "\x1b" not in text:
        return text
    return normal("NFKC", _IGNORABLE.sub("", _CONTROL.sub("", text)))


def alike(text: str) -> str:
    """Lines that mix Cyrillic or Greek letters with Latin ones, with all read as the Latin ones
    that they look like."""
    lines = [line for line in text.split("\n") if _MIXED.search(line)]
    return "\n".join(lines).translate(_ALIKE)


def lines(data: bytes, seen: Container[str], work: Work) -> Iterator[bytes]:
    """Without line numbers; without diff and quotation marks. For what spans lines."""
    if "lines" not in seen:
        return
    work.spend("lines", len(data))
    if _NUMBERED.search(data):
        work.spend("lines", 2 * len(data))
        yield _NUMBERS.sub(b"", data)
    if _MARKED.search(data):
        work.spend("lines", 2 * len(data))
        yield _MARKS.sub(b"", data)


def wrapped(data: bytes, work: Work) -> tuple[bytes, bytes]:
    """Wrapped base64 or hex in one piece each: lines of one width, 48 and more, that are nothing
    else, what stands at the end of the line before them and a shorter last one. And the lines
    without all that."""
    work.spend("wrapped", 2 * len(data))
    runs: list[bytes] = []
    rest: list[bytes] = []
    width = 0  # of the lines in the piece under way; -1 before the first whole one
    for line in data.split(b"\n"):
        bare = line.strip()
        after = bare.lstrip(_CODED)
        lead = len(bare) - len(after)
        if width and lead and (width < 0 or lead <= width):
            runs.append(bare[:lead])
            if not after and lead >= _LINE and (width in (-1, lead)):
                width = lead
                continue
            bare = bare if lead >= _LINE else after
        if width:
            runs.append(b"\n")
        before = bare.rstrip(_CODED)
        run = bare[len(before) :]
        width = 0
        if len(run) >= _LINE:
            runs.append(run)
            bare, width = before, -1 if before else len(run)
        if bare:
            rest.append(bare)
    return b"".join(runs), b"\n".join(rest)


def joined(data: bytes, joints: Sequence[int], work: Work) -> Iterator[bytes]:
    """Strings that code puts together, lines that go on behind a backslash, and what stands near
    them. `joints`: offsets behind the end of each joint, in order."""
    spans: list[tuple[int, int]] = []
    for joint in joints:
        first = max(0, joint - _BESIDE)
        if spans and first <= spans[-1][1]:
            first = spans.pop()[0]
        spans.append((first, joint + _BESIDE))
    if spans:
        near = b"\n".join(data[first:last] for first, last in spans)
        work.spend("joined", 2 * len(near))
        yield _CONTINUED.sub(b"", _JOINT.sub(b"", near))


def unescaped(data: bytes, work: Work) -> tuple[bytes, bool]:
    """The strings of a JSON text; of any other the lines that hold backslash, percent or character
    escapes, undone once, or nothing where that makes no difference. And whether that is all of the
    text. JSON inside strings is escaped once more at each level: that is for the next reading."""
    work.spend("unescaped", len(data))
    if data[:1] in b"{[" and (strings := _strings(data)) is not None:
        return strings, True
    found: list[bytes] = []
    if data.startswith((b"{", b"[")) or b"\n{" in data or b"\n[" in data:
        data = b"\n".join(_without_json(data, found))
    signs = data.translate(_SIGNED)
    whole = signs.count(b"\\") * 4 >= data.count(b"\n")
    lines = data if whole else b"\n".join(_escaped_lines(data, signs))
    plain = _undone(lines)
    if plain == lines and not found:
        return b"", False
    return b"\n".join((*found, plain)), whole


def _without_json(data: bytes, found: list[bytes]) -> Iterator[bytes]:
    """The lines that are not JSON; the strings of those that are go to `found`."""
    for line in data.split(b"\n"):
        strings = _strings(line) if line[:1] in (b"{", b"[") else None
        if strings is None:
            yield line
        else:
            found.append(strings)


def _strings(data: bytes) -> bytes | None:
    """All keys and strings of JSON texts that follow each other, each on lines of its own."""
    text, at = data.decode(errors="replace"), 0
    found: list[object] = []
    try:
        while at < len(text):
            value, at = _JSON(text, at)
            found.append(value)
            blank = _BLANK.match(text, at)
            at = blank.end() if blank else at
        return "\n".join(_flat(found)).encode(errors="replace")
    except (ValueError, RecursionError):
        return None


def _pairs(pairs: list[tuple[str, object]]) -> tuple[object, ...]:
    """Both of two equal keys."""
    return tuple(part for pair in pairs for part in pair if part.__class__ in _KEPT)


def _flat(values: Iterable[object]) -> Iterator[str]:
    """Every string by itself, and those of a list of short ones as one, too."""
    short: list[str] = []
    for value in values:
        if isinstance(value, str):
            yield value
            if len(value) < _CHUNK:
                short.append(value)
        elif isinstance(value, list | tuple):
            yield from _flat(value)
    if len(short) > 1 and isinstance(values, list):
        yield "".join(short)


_CHUNK = 48
_KEPT = (str, list, tuple)
# Numbers of any length stay unread.
_JSON = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=bool, parse_float=bool, strict=False
).raw_decode


def _escaped_lines(data: bytes, signs: bytes) -> Iterator[bytes]:
    """Those of the lines in which there are `signs`."""
    end, at = 0, signs.find(b"\\")
    while at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        if end < 0:
            end = len(data)
        yield data[start:end]
        at = signs.find(b"\\", end)


def _undone(data: bytes) -> bytes:
    if b"\\" in data:
        if b"\\x" in data:
            data = _UTF8.sub(_of_bytes, data)
        data = _ESCAPE.sub(_character, data)
    if _PERCENT.search(data):
        data = unquote_to_bytes(data)
    if _REFERENCE.search(data):
        data = html.unescape(data.decode(errors="replace")).encode(errors="replace")
    return data


def _of_bytes(match: re.Match[bytes]) -> bytes:
    return bytes.fromhex(match[0].replace(b"\\x", b"").decode())


def _character(match: re.Match[bytes]) -> bytes:
    which = match.lastindex or 0
    if which in (1, 7):
        return _PLAIN[match[which]]
    code = int(match[which], 8 if which == 6 else 16)
    if which == 6:
        return bytes((code,))
    return chr(code).encode(errors="replace") if code < 0x110000 else b"?"


def dumped(data: bytes, seen: Container[str], work: Work) -> Iterator[bytes]:
    """Bytes that hex dumps and spaced hex stand for."""
    if "dump" in seen:
        groups = [line[1].split() for line in _DUMP_LINE.finditer(data)]
        work.spend("dumped", len(data))
        yield _unhexed(groups, swap=False)
        if groups and len(groups[0][0]) == 4:
            yield _unhexed(groups, swap=True)
    if "spaced" in seen:
        spaced = [_HEX_NOISE.sub(b"", match[0]) for match in _SPACED_HEX.finditer(data)]
        work.spend("dumped", sum(map(len, spaced)))
        yield b"\n".join(bytes.fromhex(run.decode()) for run in spaced if len(run) % 2 == 0)


def _unhexed(lines: list[list[bytes]], *, swap: bool) -> bytes:
    """Sixteen bytes a line at most; a text column that looks like hex is beyond them."""
    out = []
    for groups in lines:
        ordered = [group[2:] + group[:2] for group in groups] if swap else groups
        out.append(bytes.fromhex(b"".join(ordered)[:32].decode()))
    return b"".join(out)
