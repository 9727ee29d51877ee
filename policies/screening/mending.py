"""A value that goes on behind the end of a line, or of a string that code puts together.

Owns what is taken for such a break. It must not know what is looked for.
"""

import re
from collections.abc import Iterator

from policies.screening.work import Work

BETWEEN_PARTS = "\x01"
"""Stands between strings that are looked at as one, where a value may begin or go on."""
_NUMBER = rb"(?:\d{1,7}(?:\t|\xe2\x86\x92|[ ]?\xe2\x94\x82|[ ]?\||[:)])[ ]?)?"
_LINE = rb"[ \t]{0,80}[=\\]?\r?\n[ \t>]{0,80}" + _NUMBER
_BREAK = re.compile(
    rb"\x01|"
    rb"[\"'`][ \t]{0,80}(?:[+.,&][ \t]{0,80})?(?:"
    + _LINE
    + rb")?(?:[+.,&][ \t]{0,80})?[\"'`]|"
    + _LINE
)
_TOKEN = re.compile(rb"[!#-&(-_a-~]{4,}")
_LONGEST = 1024
"""Bytes of a value; longer ones come in lines of their own, which is another view."""
_MOST = 8
"""Breaks in a value."""
_SPARE = 256
"""Bytes that breaks may add to a value."""


def mended(
    data: bytes, anchor: int, back: int, reach: int, work: Work
) -> Iterator[tuple[bytes, int]]:
    """What stands round `anchor`, with the first break behind it mended, with the first two, and so
    on, for nothing says where a value ends; and where the anchor is in it. Nothing where nothing
    breaks off what begins there."""
    if reach > _LONGEST:
        return
    token = _TOKEN.match(data, anchor, anchor + reach)
    work.spend("spellings", token.end() - anchor if token else 0)
    if token is None or not _BREAK.match(data, token.end()):
        return
    start = max(0, anchor - back - 2)
    end = min(len(data), anchor + reach + _SPARE)
    for count in range(1, _MOST + 1):
        work.spend("spellings", end - start)
        whole, mends = _BREAK.subn(b"", data[anchor:end], count)
        if mends < count:
            return
        yield data[start:anchor] + whole, anchor - start
