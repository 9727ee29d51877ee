"""Unicode normalisation that costs no more than its text is long.

Owns the slices. The interpreter sorts every run of combining marks by insertion: a run of 60 000,
which a web page may hold, takes seconds, ten times as many a hundred times as long, and no other
thread runs meanwhile. It must not know what the text is read for.
"""

import unicodedata
from collections.abc import Iterator
from typing import Literal

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]

_SLICE = 1024
_BACK = 64  # characters in which a place is looked for where nothing joins


def normal(form: Form, text: str) -> str:
    """`text` in `form`: what the standard says, but for runs of marks that no writing has."""
    if len(text) <= _SLICE:
        return unicodedata.normalize(form, text)
    return "".join(unicodedata.normalize(form, part) for part in _slices(form, text))


def _slices(form: Form, text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        # SECURITY: never longer, whatever stands there, or one text holds up the whole node.
        end = min(start + _SLICE, len(text))
        if end < len(text):
            places = range(end, end - _BACK, -1)
            end = next((at for at in places if _apart(form, text[at - 1], text[at])), end)
        yield text[start:end]
        start = end


def _apart(form: Form, left: str, right: str) -> bool:
    """Whether the two neither join nor change places."""
    if right.isascii():
        return True
    alone = unicodedata.normalize(form, right)
    both = unicodedata.normalize(form, left) + alone
    return not unicodedata.combining(alone[0]) and unicodedata.normalize(form, left + right) == both
