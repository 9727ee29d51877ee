"""The deny corpus: what the owner's own secret files hold, in the forms in which it may turn up.

Owns which values of a file count and their forms. It must not know where files lie. Values too
short or too common to tell apart are left out: a denied `true` would keep everything at home.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping

from policies.screening.checks import entropy
from policies.screening.views import clean

SHORTEST = 8
LONGEST_LITERAL = 4096
_SLICE = 32
_MET = 24
"""Bytes from which on a run that stands for a value is long enough to be decoded."""
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_SLICES = 256
_VALUE = re.compile(r"^[\w.\"'/-]{1,128}\s*[=:]\s*(?P<value>.*)$")
_COMMENT = re.compile(r"^\s*(?:#|//|;|--(?!-)|<!--)")
_DULL = re.compile(
    r"[+-]?[\d.,_:]+|0x0+|localhost(?::\d+)?|(?:[a-zA-Z0-9-]+\.)+[a-z]{2,12}(?::\d+)?|(?:https?|wss?)://[\w.:/-]*|"
    r"[~.]{0,2}/?(?:[a-z0-9_.@-]{1,40}/)+[a-z0-9_.@-]{0,40}|-----[A-Z ]+-----|[\W_]+|(.)\1+"
)
_COMMON_WORDS = (
    "password username changeme passphrase production development staging database postgres "
    "administrator localhost internal external default example undefined required optional "
    "anonymous disabled enabled secret123 password1 password123 12345678 qwertyuiop"
)
_COMMON = frozenset(_COMMON_WORDS.split())


MANY = 1000
"""Values above which those that other views meet in every coding are not coded beforehand."""


def literals(files: Mapping[str, bytes]) -> frozenset[bytes]:
    """Everything to look for, of all files: values as they are, reversed, escaped and coded."""
    values = {value for content in files.values() for value in _values(content)}
    met = len(values) > MANY
    return frozenset(form for value in values for form in forms(value, met=met))


def looked_for(content: bytes) -> bool:
    """Whether there is anything in a file that can be told from ordinary text."""
    return any(True for _ in _values(content))


def _values(content: bytes) -> Iterator[bytes]:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        yield from _binary(content)
        return
    if "\0" in text:
        yield from _binary(content)
        return
    whole = text.strip()
    yield from _worth(whole)
    for leaf in _leaves(whole):
        yield from _worth(leaf)


def _binary(content: bytes) -> Iterator[bytes]:
    if len(set(content)) >= SHORTEST:
        yield content[:LONGEST_LITERAL]
        yield from _slices(content)


def _leaves(text: str) -> Iterator[str]:
    """String leaves of a JSON file, else values and lines of a text file."""
    try:
        yield from _strings(json.loads(text))
    except (ValueError, RecursionError):
        for line in text.splitlines():
            if not _COMMENT.match(line):
                yield from _of_line(line.strip())


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            yield from _strings(list(value.values()))
        case _:
            pass


def _of_line(line: str) -> Iterator[str]:
    pair = _VALUE.match(line)
    if _DULL.fullmatch(line):
        return
    if pair is None:
        yield line
    else:
        yield pair["value"].strip()
        yield pair["value"].strip(" \t\"'`,;")
    # Fields of .pgpass, .netrc and the like, where a password is one word of several.
    for field in re.split(r"[\s:,;\"'=]+", line):
        if any(c.isdigit() for c in field) and any(c.isalpha() for c in field):
            yield field


def worthy(value: str) -> bool:
    """Whether a value is long and odd enough to be told apart wherever it stands."""
    if len(value) < SHORTEST or _DULL.fullmatch(value) or value.lower() in _COMMON:
        return False
    return len(value) >= 12 or entropy(value.encode(errors="replace")) >= 2.75


def _worth(value: str) -> Iterator[bytes]:
    value = value.strip()
    if not worthy(value):
        return
    data = value.encode(errors="replace")
    yield data[:LONGEST_LITERAL]
    yield clean(value).encode(errors="replace")[:LONGEST_LITERAL]
    if len(data) > 2 * _SLICE and len(value.split()) == 1:
        yield from _slices(data)


def _slices(data: bytes) -> Iterator[bytes]:
    """Stretches of a long value, so that a part of it is known too."""
    for start in range(0, min(len(data), _SLICE * _SLICES) - _SLICE + 1, _SLICE):
        part = data[start : start + _SLICE]
        if entropy(part) >= 3:
            yield part


def forms(value: bytes, *, met: bool = False) -> Iterator[bytes]:
    """A value as it may turn up: as it is, reversed, escaped, in hex and in base64 at each
    alignment. `met`: not coded where the views decode it wherever it stands."""
    yield value
    yield value[::-1]
    if len(value) > 1024:
        return
    if re.fullmatch(rb"[0-9a-fA-F]+", value):
        yield value.lower()
        yield value.upper()
    if b'"' in value or b"\\" in value or not value.isascii():
        # Percent signs and references call for a view of their own wherever they stand.
        text = value.decode(errors="replace")
        yield json.dumps(text, ensure_ascii=False)[1:-1].encode()
        yield json.dumps(text)[1:-1].encode()
    if not (met and len(value) >= _MET and value.isascii() and value.decode().isprintable()):
        yield from _coded(value)


def _coded(value: bytes) -> Iterator[bytes]:
    yield value.hex().encode()
    yield value.hex().upper().encode()
    for shift in range(3):
        # At each of three alignments, without the characters that neighbours have a share in.
        coded = base64.b64encode(b"\0" * shift + value)
        start, stop = (0, 2, 3)[shift], (len(value) + shift) * 8 // 6
        yield coded[start:stop]
        yield coded[start:stop].translate(_URL_SAFE)
