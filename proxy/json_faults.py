"""What is wrong with a JSON text, and where: strict parsing, depth, the way to a byte.

Owns `Malformed` and our words for it. It must not know a dialect, a node or an edit. Everything but
`parser` and `check_depth` runs only when a text is already known to be bad.
"""

import json
import re
from collections.abc import Callable
from typing import Final

from policies.conversation import Address

MAX_DEPTH: Final = 100
"""Levels of arrays and objects, the outermost included. DESIGN 3.1."""

_SEARCHED: Final = 2_000_000  # bytes before an error that are read once more to name its place
_SAFE_KEY: Final = re.compile(r"[a-z_]{1,24}\Z")
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{},:]', re.DOTALL)
_LONE: Final = re.compile("[\ud800-\udfff]")


class Malformed(ValueError):
    """A text that is not strict JSON, or that two readers could read differently.

    `offset` counts bytes from the start of the body. `str()` names no value, and no key but plain
    lower-case words: a key can be the secret.
    """

    def __init__(self, reason: str, address: Address, offset: int) -> None:
        super().__init__(reason, address, offset)
        self.reason = reason
        self.address = address
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.reason} at {_place(self.address)}, byte {self.offset}"


def _place(address: Address) -> str:
    place = ""
    for step in address:
        if isinstance(step, int):
            place += f"[{step}]"
        else:
            place += f".{step}" if _SAFE_KEY.match(step) else ".*"
    return place.removeprefix(".")[:120] or "the top level"


class Fault(ValueError):
    """A value that JSON allows in form and we do not."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    # SECURITY: readers disagree on which of two equal keys counts, so none may be let through.
    if len(members) != len(pairs):
        raise Fault("a key appears twice in one object")
    return members


def _refuse_constant(name: str) -> object:
    raise Fault(f"{name} is not JSON")


def parser(number: Callable[[str], object]) -> Callable[[str], object]:
    """A strict whole-text parser; `number` turns the text of each number into a value.

    It raises `Fault`, `json.JSONDecodeError` or `RecursionError`.
    """
    return json.JSONDecoder(
        object_pairs_hook=_unique,
        parse_constant=_refuse_constant,
        parse_int=number,
        parse_float=number,
    ).decode


_check = parser(bool)


def has_lone_surrogate(text: str) -> bool:
    """Whether `text` holds half of a surrogate pair, which no UTF-8 can hold."""
    return not text.isascii() and _LONE.search(text) is not None


def syntax_fault(body: bytes, address: Address = (), start: int = 0) -> Malformed:
    """Say in our words what a strict reader objects to in the UTF-8 text `body`.

    `start` is added to offsets; `address` is the way to this text in the whole body.
    """
    text = body.decode()
    try:
        _check(text)
    except json.JSONDecodeError as error:
        offset = len(text[: error.pos].encode())
        reason = "JSON ends too early" if error.pos >= len(text.rstrip()) else "not valid JSON"
        if error.msg.startswith("Unterminated"):
            reason = "a string that does not end"
        elif error.msg.startswith("Extra"):
            reason = "something follows the JSON value"
        return Malformed(reason, address + address_at(body, offset), start + offset)
    except Fault as fault:
        return Malformed(str(fault), address, start)
    except RecursionError:
        return Malformed(f"nested deeper than {MAX_DEPTH} levels", address, start)
    return Malformed("JSON that cannot be accounted for", address, start)


def address_at(body: bytes, offset: int) -> Address:
    """The way to the innermost value begun before byte `offset`; `()` if that would take long."""
    if offset > _SEARCHED:
        return ()
    stack: list[str | int | None] = []
    key: bytes | None = None
    for match in _TOKEN.finditer(body, 0, offset):
        token = match[0]
        match token[:1]:
            case b"{":
                stack.append(None)
            case b"[":
                stack.append(0)
            case b"}" | b"]":
                if stack:
                    stack.pop()
            case b",":
                if stack:
                    last = stack[-1]
                    stack[-1] = last + 1 if isinstance(last, int) else None
            case b":":
                if stack and not isinstance(stack[-1], int):
                    stack[-1] = decoded_key(key)
            case _:
                key = token
    return tuple(step for step in stack if step is not None)


def decoded_key(literal: bytes | None) -> str:
    """A key as it reads, from its literal with quotes; empty where that is no string."""
    try:
        key = json.loads(literal or b'""')
    except ValueError:
        return ""
    return str(key)


_BRACKETS: Final = bytes.maketrans(b"[{]}", b"(())")
_OTHERS: Final = bytes(set(range(256)) - set(b"[]{}"))


def check_depth(body: bytes) -> None:
    """Raise `Malformed` where arrays and objects are nested deeper than `MAX_DEPTH`."""
    bare = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = b"".join(bare.split(b'"')[::2]).translate(_BRACKETS, _OTHERS)
    for _ in range(MAX_DEPTH):
        inner = outside.replace(b"()", b"")
        if len(inner) == len(outside):
            return
        outside = inner
    if outside:
        raise _too_deep(body)


def _too_deep(body: bytes) -> Malformed:
    depth = 0
    for match in _TOKEN.finditer(body):
        if match[0] in (b"[", b"{"):
            depth += 1
            if depth > MAX_DEPTH:
                where = address_at(body, match.start())
                return Malformed(f"nested deeper than {MAX_DEPTH} levels", where, match.start())
        elif match[0] in (b"]", b"}"):
            depth -= 1
    return Malformed(f"nested deeper than {MAX_DEPTH} levels", (), 0)
