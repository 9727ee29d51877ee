"""JSON parsed whole and strictly, into values or into the strings that are in it.

Owns what becomes of numbers and the order of strands. It must not know where a text lies in a body.
"""

from decimal import Decimal, InvalidOperation
from typing import Final

import msgspec

from policies.conversation import Address, Strand
from proxy.json_faults import Fault, parser

_BEGINNING: Final = 40  # bytes that tell how a text is written
_LONGEST_INT: Final = 4000  # characters; Python refuses to read integers beyond 4300 digits


def _number(text: str) -> object:
    if len(text) <= _LONGEST_INT and text.lstrip("-").isdigit():
        return int(text)
    try:
        return Decimal(text)
    except InvalidOperation:
        raise Fault("a number beyond every range") from None


parse_value: Final = parser(_number)
"""Integers stay exact, fractions become decimals."""

parse_strings: Final = parser(bool)
"""For who wants the strings alone: numbers become true or false."""


_quick: Final = msgspec.json.Decoder(float_hook=Decimal).decode
_written: Final = msgspec.json.Encoder(decimal_format="number").encode

SLOWLY: Final = object()
"""What `parse_quickly` gives for a text that has to be parsed by `parse_value`."""


def parse_quickly(raw: bytes) -> object:
    """The same value, of JSON written as most clients write it, without white space: in two thirds
    of the time. `SLOWLY` for all else, good or bad."""
    if b"\\u" in raw:  # most likely it would come out without this escape
        return SLOWLY
    try:
        value = _quick(raw)
        again = written(value, raw)
    except (msgspec.MsgspecError, ArithmeticError, ValueError, RecursionError):
        return SLOWLY
    # SECURITY: of two equal keys this reader keeps one and says nothing; what comes out again as it
    # went in had no second one.
    return value if again == raw else SLOWLY


def written(value: object, like: bytes) -> bytes:
    """`value` as JSON, written as `like` is. What `parse_quickly` made of `like` comes out so byte
    for byte, and all of it that is still there comes out so again."""
    raw = _written(value)
    return msgspec.json.format(raw, indent=0) if b'": ' in like[:_BEGINNING] else raw


def gather(value: object, address: Address, found: list[Strand]) -> None:
    """Add every key and string of the parsed `value`, which stands at `address`, to `found`."""
    if isinstance(value, str):
        found.append(Strand(address, value))
    elif isinstance(value, dict):
        for key, member in value.items():
            inner = (*address, key)
            found.append(Strand(inner, key, is_key=True))
            gather(member, inner, found)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            gather(item, (*address, index), found)
