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

from collections.abc import Iterable
from typing import Final

from policies.screening.engine import linear
from proxy.lazyjson import dump
from proxy.local.talk import Said, Talk

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
    found = sum(_message(said) for said in talk.messages)
    for tool in talk.tools:
        written = dump(tool.parameters).decode()
        found += _MESSAGE + _texts((tool.name, tool.description, written))
    if talk.form is not None:
        found += _texts((dump(talk.form).decode(),))
    return _OPENING + found


def _message(said: Said) -> int:
    found = _MESSAGE + _texts((said.text, said.thinking, said.tool))
    for call in said.calls:
        found += _MESSAGE + _texts((call.id, call.name, dump(call.arguments).decode()))
    return found + PICTURE * len(said.images)


def _texts(texts: Iterable[str]) -> int:
    return sum(_of(text.encode(errors="surrogatepass")) for text in texts if text)


def _of(raw: bytes) -> int:
    digits, plain, far = (_count(raw, some) for some in (_DIGITS, _PLAIN, _FAR))
    thirds = 4 * digits + plain + 2 * (len(raw) - digits - plain) + 4 * far
    thirds += sum(map(len, _RUN.findall(raw)))
    return -(-thirds // 3)


def _count(raw: bytes, some: bytes) -> int:
    return len(raw) - len(raw.translate(None, some))
