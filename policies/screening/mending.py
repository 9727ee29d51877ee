"""A value that goes on behind the end of a line, or of a string that code puts together.

Owns what is taken for such a break. It must not know what is looked for.
"""

import re
from collections.abc import Iterator

from policies.screening.work import Work

BETWEEN_PARTS = "\x01"
"""Stands between strings that are looked at as one, where a value may begin or go on."""
_NUMBER = (
    rb"(?:(?:(?=[^\s:]{0,100}[./])[^\s:]{1,200}[:-])?"
    rb"\d{1,7}(?:\t|\xe2\x86\x92|[ ]?\xe2\x94\x82|[ ]?\||[:)-])[ \t]{0,80})?"
)
_END = rb"[=\\]?\r?\n[ \t>+]{0,80}" + _NUMBER
_LINE = rb"[ \t]{0,80}" + _END
_SIGN = rb"(?:\+\+?|\.\.?|&(?:[ ]_)?|~|<>|\|\|)[ \t]{0,80}"
_MARK = rb"(?:[rbfuRBFUL]{1,2}|u8|@)?"
_QUOTE = rb"[\"'`]"
JOINED = (
    _QUOTE + rb"[ \t]{0,80}(?:" + _SIGN + rb"(?:" + _END + rb")?|" + _END + rb")"
    rb"(?:" + _SIGN + rb")?" + _MARK + _QUOTE +
    # Flags and settings on a command line are several.
    rb"|[\"'][ \t]{0,80}" + _MARK + rb"[\"'](?!-|[A-Za-z_]\w{0,40}=[^\"'=])"
)  # fmt: skip
"""Between two strings that code puts together, in one line or over two: a sign or none, the number
of the line, a mark of the second string, the quotation marks."""
_LISTED = _QUOTE + rb"[ \t]{0,80},[ \t]{0,80}(?:" + _END + rb")?" + _MARK + _QUOTE
_BREAK = re.compile(rb"\x01|" + JOINED + rb"|" + _LISTED + rb"|" + _LINE)
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
    work.spend("mended", token.end() - anchor if token else 0)
    if token is None or not _BREAK.match(data, token.end()):
        return
    start = max(0, anchor - back - 2)
    end = min(len(data), anchor + reach + _SPARE)
    for count in range(1, _MOST + 1):
        work.spend("mended", end - start)
        whole, mends = _BREAK.subn(b"", data[anchor:end], count)
        if mends < count:
            return
        yield data[start:anchor] + whole, anchor - start
