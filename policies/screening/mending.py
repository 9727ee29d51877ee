"""A value that goes on behind the end of a line, or of a string that code puts together.

Owns what is taken for such a break. It must not know what is looked for.
"""

import re

from policies.screening.work import Work

_NUMBER = rb"(?:\d{1,7}(?:\t|\xe2\x86\x92|[ ]?\xe2\x94\x82|[ ]?\||[:)])[ ]?)?"
_LINE = rb"[ \t]{0,80}[=\\]?\r?\n[ \t>]{0,80}" + _NUMBER
_BREAK = re.compile(
    rb"[\"'`][ \t]{0,80}(?:[+.,&][ \t]{0,80})?(?:"
    + _LINE
    + rb")?(?:[+.,&][ \t]{0,80})?[\"'`]|"
    + _LINE
)
_TOKEN = re.compile(rb"[!#-&(-_a-~]{4,}")
_LONGEST = 1024
"""Bytes of a value; longer ones come in lines of their own, which is another view."""
_SPARE = 256
"""Bytes that breaks may add to a value."""


def mended(data: bytes, anchor: int, back: int, reach: int, work: Work) -> tuple[bytes, int] | None:
    """What stands round `anchor`, in one piece, and where the anchor is in it; None where nothing
    breaks off what begins there."""
    if reach > _LONGEST:
        return None
    token = _TOKEN.match(data, anchor, anchor + reach)
    work.spend("spellings", token.end() - anchor if token else 0)
    if token is None or not _BREAK.match(data, token.end()):
        return None
    start = max(0, anchor - back - 2)
    end = min(len(data), anchor + reach + _SPARE)
    work.spend("spellings", end - start)
    return data[start:anchor] + _BREAK.sub(b"", data[anchor:end]), anchor - start
