"""JSON parsed whole and strictly, into values or into the strings that are in it.

Owns what becomes of numbers and the order of strands. It must not know where a text lies in a body.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final

import msgspec

from policies.conversation import Address, Strand
from policies.screening.parts import ROW
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
_compact: Final = msgspec.json.Encoder(decimal_format="number").encode

SLOWLY: Final = object()
"""What `parse_quickly` gives for a text that has to be parsed by `parse_value`."""

Writer = Callable[[object], bytes]
"""A value as JSON, written in one of the usual ways."""


def _spaced(value: object) -> bytes:
    return msgspec.json.format(_compact(value), indent=0)


def writer_of(raw: bytes) -> Writer:
    """Writes as `raw` seems to be written: compactly, or with the blanks of Python's writer."""
    return _spaced if b'": ' in raw[:_BEGINNING] else _compact


def parse_quickly(raw: bytes, write: Writer) -> object:
    """The same value as `parse_value` gives, of a text that `write` would write: in two thirds of
    the time. What `write` makes of any part of the value is then what stands in the text. `SLOWLY`
    for all else, good or bad."""
    try:
        value = _quick(raw)
        again = write(value)
    except (msgspec.MsgspecError, ArithmeticError, ValueError, RecursionError):
        return SLOWLY
    # SECURITY: of two equal keys this reader keeps one and says nothing; what comes out again as it
    # went in had no second one.
    return value if again == raw else SLOWLY


def parse_together(raws: Sequence[bytes], write: Writer) -> list[object] | None:
    """`parse_quickly` of many texts at once, which costs less than one by one. None if one of them
    has to be parsed by `parse_value`."""
    between = b", " if write is _spaced else b","
    values = parse_quickly(b"[%b]" % between.join(raws), write)
    # SECURITY: each text must be one value, and not the end of one and the beginning of the next.
    return values if isinstance(values, list) and len(values) == len(raws) else None


def deeper(values: Sequence[object], room: int) -> bool:
    """Whether containers nest deeper than `room` levels in one of the `values`."""
    level = [value for value in values if type(value) is dict or type(value) is list]
    for _ in range(room):
        if not level:
            return False
        level = [
            value
            for outer in level
            for value in (outer.values() if type(outer) is dict else outer)
            if type(value) is dict or type(value) is list
        ]
    return bool(level)


# There are hundreds of them, and a named tuple's own way leads through a function of Python.
_made = tuple.__new__


def gather(value: object, address: Address, found: list[Strand]) -> bool:
    """Add every key and string of the parsed `value`, which stands at `address`, to `found`.
    Whether a list in it has `ROW` items or more."""
    long = False
    if isinstance(value, str):
        found.append(_made(Strand, (address, value, False)))
    elif isinstance(value, dict):
        for key, member in value.items():
            inner = (*address, key)
            found.append(_made(Strand, (inner, key, True)))
            if type(member) is str:  # as gather would find it; most are
                found.append(_made(Strand, (inner, member, False)))
            elif type(member) is dict or type(member) is list:
                long |= gather(member, inner, found)
    elif isinstance(value, list):
        long = len(value) >= ROW
        for index, item in enumerate(value):
            long |= gather(item, (*address, index), found)
    return long
