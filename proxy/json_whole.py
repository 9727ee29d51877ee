"""JSON parsed whole and strictly, into values or into the strings that are in it.

Owns what becomes of numbers and the order of strands. It must not know where a text lies in a body.
"""

from decimal import Decimal, InvalidOperation
from typing import Final

from policies.conversation import Address, Strand
from proxy.json_faults import Fault, parser

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
