"""How many tokens a request takes, from above and without a vocabulary.

Owns the estimate, which is the same for every model. It must not know a model.

Too low an estimate would be a prompt that does not fit, which the server then refuses; too high a
one costs memory. What is counted was measured against the vocabulary of Qwen (152,000 pieces,
each digit its own): a third of a token for an ASCII letter or blank, one and a third for a digit,
so that the signs between numbers are paid for, two thirds for any other sign and for each byte of
other scripts, four for a character beyond the first plane, and a third more for each character of
a long run, as in keys, hashes and base64. Over code, JSON, tables, logs, hashes and prose in
nineteen languages that came to 1.0 to 3.7 times as many as there were, 1.4 to 1.7 for code and
English; below are Finnish with 0.99 and Swahili with 0.85. Smaller vocabularies take more of prose
and code.
"""

from collections.abc import Iterator
from typing import Final
from zlib import adler32

import msgspec

from proxy.lazyjson import dump
from proxy.local.talk import Talk

PICTURE: Final = 2_048
"""For a picture, whatever its size; local models take 256 to 1,600 for an ordinary one."""

_MESSAGE: Final = 12
"""For what a template writes round a message, a call or a tool."""

_OPENING: Final = 64
"""For what a template writes at the head."""

_DIGITS: Final = b"0123456789"
_LETTERS: Final = bytes(code for code in range(128) if chr(code).isalpha())
_BLANKS: Final = bytes(code for code in range(128) if chr(code).isspace())
_FAR: Final = bytes(range(0xF0, 0xF5))
"""First bytes of characters beyond the first plane."""

_RUN: Final = 20
"""Letters, digits and `+/` in a row that make a long run."""

_AT_ONCE: Final = 8_192
"""Bytes whose weights, 6 at most, come to less than 65,521, from which on Adler-32 counts anew."""


def _each(*marked: tuple[bytes, int], other: int) -> bytes:
    """A table for `bytes.translate`: these bytes become those numbers."""
    table = bytearray([other]) * 256
    for some, number in marked:
        for code in some:
            table[code] = number
    return bytes(table)


_THIRDS: Final = _each((_DIGITS, 4), (_LETTERS + _BLANKS, 1), (_FAR, 6), other=2)
_RUNS: Final = _each((_DIGITS + _LETTERS + b"+/", 1), other=0)
_LONG: Final = b"\1" * _RUN


def tokens(talk: Talk) -> int:
    """How many tokens the request takes at most; pictures are counted flat."""
    calls = [call for said in talk.messages for call in said.calls]
    parts = len(talk.messages) + len(calls) + len(talk.tools)
    pictures = sum(len(said.images) for said in talk.messages)
    texts = "\n".join(_texts(talk)).encode(errors="surrogatepass")
    values = [talk.form, *(tool.parameters for tool in talk.tools)]
    values += [call.arguments for call in calls]
    # All of it in one piece: a long history is many short texts.
    found = _thirds(texts) + _thirds(written(values))
    return _OPENING + _MESSAGE * parts + PICTURE * pictures - (-found // 3)


def tokens_of(body: bytes) -> int:
    """The same of a body that nobody has read: its keys and its signs count as well."""
    return _OPENING - (-_thirds(body) // 3)


def written(value: object) -> bytes:
    """Compact JSON, as `lazyjson.dump` writes it."""
    try:
        return msgspec.json.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return dump(value)  # half a surrogate pair, a number of twenty digits: slower, but it can


def _texts(talk: Talk) -> Iterator[str]:
    for said in talk.messages:
        yield said.text
        yield said.thinking
        yield said.tool
        for call in said.calls:
            yield call.id
            yield call.name
    for tool in talk.tools:
        yield tool.name
        yield tool.description


def _thirds(raw: bytes) -> int:
    # The low half of Adler-32 that began at 0 is the sum of the bytes (RFC 1950, 8.2).
    return _in_runs(raw) + sum(
        adler32(raw[at : at + _AT_ONCE].translate(_THIRDS), 0) & 0xFFFF
        for at in range(0, len(raw), _AT_ONCE)
    )


def _in_runs(raw: bytes) -> int:
    """How many characters stand in long runs."""
    kinds = raw.translate(_RUNS)
    count, at = 0, kinds.find(_LONG)
    while at >= 0:
        end = kinds.find(b"\0", at + _RUN)
        end = len(kinds) if end < 0 else end
        count += end - at
        at = kinds.find(_LONG, end)
    return count
