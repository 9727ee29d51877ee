"""Rows of small numbers in JSON: bytes that somebody wrote as a list, which no string holds.

Owns how they are found. It must not know what they stand for: the screen reads them.
"""

from functools import cache
from typing import TYPE_CHECKING

from policies.screening.engine import linear
from policies.screening.parts import ROW

if TYPE_CHECKING:
    import re2


@cache
def _row() -> "re2._Regexp":
    return linear(rb"(?:[0-9]{1,3}[ \t\r\n]*,[ \t\r\n]*){%d,}[0-9]{1,3}" % (ROW - 1))


def number_rows(raw: bytes) -> str:
    """All rows of `ROW` and more numbers of three digits at most, each on a line of its own."""
    return b"\n".join(row[0] for row in _row().finditer(raw)).decode()
