"""The proof's own way to read JSON: strict, exact about numbers, spans of the two upper levels.

Part of the proof, and as independent: it shares no code with what it checks. It must not know what
may stand in a body. Anything that is not strict JSON raises `ValueError`, or
`RecursionError` for depth.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from typing import NoReturn

import msgspec
from msgspec import Struct

WHITE = b" \t\n\r"
_AT_ONCE = 2047
"""Bytes that `hashlib` hashes without letting go of the interpreter (its HASHLIB_GIL_MINSIZE)."""
_BLANK = re.compile(r"[ \t\n\r]*")
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])

Members = tuple[tuple[str, bytes], ...]
"""Key and exact bytes of each member of an object, in order."""


class Opened(Struct, frozen=True):
    """An object with its `members`. `starts`: where the value of each begins, None where that is
    written in an unusual way."""

    members: Members
    starts: list[int] | None


class Number(str):
    """A number as it was written: 1.0 is not 1, and -0 is not 0."""

    __slots__ = ()


def digest(salt: bytes, raw: bytes) -> bytes:
    """SHA-256 over a value's role in the body and its bytes."""
    whole = salt + raw
    found = hashlib.sha256(whole[:_AT_ONCE])
    # Who lets go of it for every message in turn has it back before another thread wakes, and none
    # of them ever asks for it, as it was free a moment ago: the event loop would wait for the end.
    for at in range(_AT_ONCE, len(whole), _AT_ONCE):
        found.update(whole[at : at + _AT_ONCE])
    return found.digest()


def parsed(raw: bytes) -> object:
    """A value whole; numbers as `Number`, keys that stand twice refused."""
    return _READER.decode(raw.decode())


def pair(one: bytes, two: bytes) -> tuple[object, object]:
    """Two values whole, to be compared: numbers as `Number` in both, or as plain integers."""
    quick = _quickly(one), _quickly(two)
    # Only both in the same way: an integer is not the `Number` of the same digits.
    return (parsed(one), parsed(two)) if _SLOWLY in quick else quick


def is_certain(raw: bytes) -> bool:
    """Whether this is one value, and every key in it stands once."""
    try:
        return _quickly(raw) is not _SLOWLY or parsed(raw) is not _SLOWLY
    except (ValueError, RecursionError):
        return False


def elements(raw: bytes) -> list[bytes]:
    """The exact bytes of each element of an array, which `members` has found to be JSON."""
    return [bytes(item) for item in _ARRAY.decode(raw)]


def members(body: bytes) -> Opened:
    """The members of the object that a body is. A key that stands twice is refused."""
    # A look at each byte is cheaper than a string that is as long as the body.
    text = None if body.isascii() else body.decode()
    found = tuple([(key, bytes(raw)) for key, raw in _OBJECT.decode(body).items()])
    bare = body.strip(WHITE)
    # The fast reader passes over a key that stands twice. What it gave must stand in the body one
    # after the other and nothing else; where white space or escapes forbid that, it is read slowly.
    if (starts := _starts(found, bare)) is None:
        found = tuple(_slowly(text or body.decode()))
    if len({key.casefold() for key, _ in found}) != len(found):
        raise ValueError("a key stands twice")
    return Opened(found, starts if len(bare) == len(body) else None)


def _starts(found: Members, body: bytes) -> list[int] | None:
    """Where each value of these members begins in the object `body`; None unless that is they and
    nothing else, with one blank at most behind each comma and colon."""
    at = 1
    starts: list[int] = []
    for key, raw in found:
        if starts:
            if not body.startswith(b",", at):
                return None
            at += 1 + body.startswith(b" ", at + 1)
        name = b'"%b":' % key.encode()
        if not body.startswith(name, at):
            return None
        at += len(name)
        at += body.startswith(b" ", at)
        if not body.startswith(raw, at):
            return None
        starts.append(at)
        at += len(raw)
    return starts if body[at:] == b"}" else None


def identical(one: object, two: object) -> bool:
    """Equal in value, in the order of keys and in the type of every part."""
    if type(one) is not type(two):
        return False
    match one, two:
        case dict(), dict():
            return list(one) == list(two) and all(
                identical(value, two[key]) for key, value in one.items()
            )
        case list(), list():
            return len(one) == len(two) and all(map(identical, one, two))
        case _:
            return one == two


def _refuse_constant(token: str) -> NoReturn:
    raise ValueError(token)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def _refuse_fraction(token: str) -> NoReturn:
    raise ValueError(token)


_SLOWLY = object()
_decoded = msgspec.json.Decoder(float_hook=_refuse_fraction).decode
_encoded = msgspec.json.Encoder().encode


def _quickly(raw: bytes) -> object:
    """The value, where it is written as most clients write; `_SLOWLY` for all else."""
    try:
        value = _decoded(raw)
        again = _encoded(value)
        if b'": ' in raw[:64]:
            again = msgspec.json.format(again, indent=0)
    except (ValueError, RecursionError):
        return _SLOWLY
    # SECURITY: this reader passes over a key that stands twice and over the sign of -0; what comes
    # out again as it went in had neither.
    return value if again == raw else _SLOWLY


_READER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_float=Number,
    parse_int=Number,
    parse_constant=_refuse_constant,
)


def _slowly(text: str) -> Iterator[tuple[str, bytes]]:
    """Members of an object that the fast reader has found to be JSON."""
    at = _skip(text, 0) + 1
    while text[at := _skip(text, at)] != "}":
        key, at = _READER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, at = _READER.raw_decode(text, start)
        yield str(key), text[start:at].encode()
        at = _skip(text, at)
        at += text[at] == ","


def _skip(text: str, at: int) -> int:
    # One match for the whole run: a body may consist of white space.
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at
