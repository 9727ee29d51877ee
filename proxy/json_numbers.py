"""Rows of small numbers in JSON: bytes that somebody wrote as a list, which no string holds.

Owns how they are found. It must not know what they stand for: the screen reads them.
"""

from functools import cache

from policies.screening.engine import Engine, Pattern, build, linear

_NEXT = rb"[0-9]{1,3}[ \t\r\n]*,[ \t\r\n]*"
_ROW = rb"(?:" + _NEXT + rb"){15,}[0-9]{1,3}"


@cache
def _engine() -> Engine:
    return build([Pattern(then=rb"(?:" + _NEXT + rb"){15}[0-9]", once=True)])


def number_rows(raw: bytes) -> str:
    """All rows of sixteen and more numbers of three digits at most, each on a line of its own."""
    if not _engine().anchors(raw):
        return ""
    return b"\n".join(row[0] for row in linear(_ROW).finditer(raw)).decode()
