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

import msgspec

from policies.screening.engine import linear
from proxy.lazyjson import dump
from proxy.local.talk import Talk

PICTURE: Final = 2_048
"""For a picture, whatever its size; local models take 256 to 1,600 for an ordinary one."""

_MESSAGE: Final = 12
"""For what a template writes round a message, a call or a tool."""

_OPENING: Final = 64
"""For what a template writes at the head."""

_DIGITS: Final = b"0123456789"
_PLAIN: Final = bytes(code for code in range(128) if chr(code).isalpha() or chr(code).isspace())
_RUN: Final = linear(rb"[A-Za-z0-9+/]{20,}")
_FAR: Final = bytes(range(0xF0, 0xF5))
"""First bytes of characters beyond the first plane."""


def tokens(talk: Talk) -> int:
    """How many tokens the request takes at most; pictures are counted flat."""
    calls = [call for said in talk.messages for call in said.calls]
    parts = len(talk.messages) + len(calls) + len(talk.tools)
    pictures = sum(len(said.images) for said in talk.messages)
    texts = "\n".join(_texts(talk)).encode(errors="surrogatepass")
    values = [talk.form, *(tool.parameters for tool in talk.tools)]
    values += [call.arguments for call in calls]
    # All of it in one piece: a long history is many short texts.
    found = _thirds(b"%b\n%b" % (texts, written(values)))
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
    digits, plain = _count(raw, _DIGITS), _count(raw, _PLAIN)
    far = 0 if raw.isascii() else _count(raw, _FAR)
    thirds = 4 * digits + plain + 2 * (len(raw) - digits - plain) + 4 * far
    return thirds + sum(map(len, _RUN.findall(raw)))


def _count(raw: bytes, some: bytes) -> int:
    return len(raw) - len(raw.translate(None, some))
