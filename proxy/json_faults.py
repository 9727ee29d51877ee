"""What is wrong with a JSON text, and where: our words, strict parsers, the way to a byte.

Owns `Malformed` and the searches that give it an address and an offset. It must not know a node, an
edit or a dialect. Everything but the parsers runs only when a text is already known to be bad.
"""

import json
import re
from collections.abc import Callable
from typing import Final

from policies.conversation import Address
from policies.screening.places import place

MAX_DEPTH: Final = 100
"""Levels of arrays and objects, the outermost included. DESIGN 3.1."""

TWIN: Final = "a key appears twice in one object"
DISAGREE: Final = "readers of JSON disagree on it"

_SEARCHED: Final = 2_000_000  # bytes before an error that are read once more to name its place
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{},:]', re.DOTALL)
_CONSTANT: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|(NaN|-?Infinity)', re.DOTALL)
_LITERAL: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_LONE: Final = re.compile("[\ud800-\udfff]")


class Malformed(ValueError):
    """A text that is not strict JSON, or that two readers could read differently.

    `reason` is in our words, `offset` counts bytes from the start of the body. `str()` shows no
    value of the body, and of its keys only words of the dialects' schemas.
    """

    def __init__(self, reason: str, address: Address, offset: int) -> None:
        super().__init__(reason, address, offset)
        self.reason = reason
        self.address = address
        self.offset = offset

    def __str__(self) -> str:
        return f"{self.reason} at {place(self.address) or 'the top level'}, byte {self.offset}"


class Fault(ValueError):
    """A value whose form JSON allows and we do not. It knows no place."""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    # SECURITY: readers disagree on which of two equal keys counts, so none may be let through.
    if len(members) != len(pairs):
        raise Fault(TWIN)
    return members


def _refuse_constant(name: str) -> object:
    raise Fault(f"{name} is not JSON")


def parser(number: Callable[[str], object]) -> Callable[[str], object]:
    """A strict parser of a whole text; `number` turns the digits of each number into a value.

    It raises `Fault` or `json.JSONDecodeError`, both of them `ValueError`.
    """
    decoder = json.JSONDecoder(
        object_pairs_hook=_unique,
        parse_constant=_refuse_constant,
        parse_int=number,
        parse_float=number,
    )
    begin, decode = decoder.raw_decode, decoder.decode

    def parse(text: str) -> object:
        # The usual text has no white space around it, and looking for it takes as long as reading.
        try:
            value, end = begin(text)
        except json.JSONDecodeError:
            return decode(text)
        return value if end == len(text) else decode(text)

    return parse


_syntax: Final = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_int=bool, parse_float=bool
).decode


def lone_surrogate(text: str) -> bool:
    """Whether `text` holds half of a surrogate pair, which no UTF-8 can hold."""
    return not text.isascii() and _LONE.search(text) is not None


def syntax_fault(body: bytes) -> Malformed:
    """Say in our words what a strict reader objects to in `body`, UTF-8 of bounded depth."""
    text = body.decode()
    try:
        _syntax(text)
    except json.JSONDecodeError as error:
        offset = len(text[: error.pos].encode())
        reason = "it is not valid JSON"
        if error.msg.startswith("Unterminated"):
            reason = "a string does not end"
        elif error.pos >= len(text.rstrip(" \t\n\r")):
            reason = "the JSON ends too early"
        elif error.msg.startswith("Extra"):
            reason = "something follows the JSON object"
        return Malformed(reason, address_at(body, offset), offset)
    except Fault as fault:
        found = next((m.start(1) for m in _CONSTANT.finditer(body) if m[1]), 0)
        return Malformed(str(fault), address_at(body, found), found)
    except RecursionError:
        return Malformed(f"it is nested deeper than {MAX_DEPTH} levels", (), 0)
    return Malformed(DISAGREE, (), 0)


def twin(body: bytes, offset: int) -> Malformed:
    """The error for the key at byte `offset`, which has an equal in its object."""
    return Malformed(TWIN, (*address_at(body, offset), key_at(body, offset)), offset)


def key_at(body: bytes, offset: int) -> str:
    """The key whose literal begins at byte `offset`; empty where none does."""
    literal = _LITERAL.match(body, offset)
    return decoded_key(literal[0]) if literal else ""


def decoded_key(literal: bytes) -> str:
    """A key as it reads, from its literal with quotes; lone surrogates stay."""
    try:
        return str(json.loads(literal))
    except ValueError:
        return ""


def address_at(body: bytes, offset: int) -> Address:
    """The way to the innermost value that byte `offset` belongs to; `()` if that would take long.

    At a key that is the object; the text before `offset` need not be complete.
    """
    if offset > _SEARCHED:
        return ()
    stack: list[str | int | None] = []
    key = b'""'
    for match in _TOKEN.finditer(body, 0, offset):
        token = match[0]
        match token:
            case b"{":
                stack.append(None)
            case b"[":
                stack.append(0)
            case b"}" | b"]":
                del stack[-1:]
            case b",":
                stack[-1:] = [_following(step) for step in stack[-1:]]
            case b":":
                stack[-1:] = [s if isinstance(s, int) else decoded_key(key) for s in stack[-1:]]
            case _:
                key = token
    return tuple(step for step in stack if step is not None)


def _following(step: str | int | None) -> int | None:
    return step + 1 if isinstance(step, int) else None
