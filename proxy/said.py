"""What a message says, apart from how it is packed: the stuff that identities are made of.

Owns one digest per part of a message. Clients repack what they resend: a string becomes a list with
one text block, two messages become one, cache marks move (wire.md 1.1.6, 6.1). None of that changes
the digests here. It must not know one dialect from another, nor a key.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final

from policies.conversation import Strand

Said = tuple[bytes, ...]
"""One SHA-256 per part that says something, in order; parts of two messages simply follow."""

MARKS: Final = frozenset({"cache_control", "prompt_cache_breakpoint"})
"""Fields that say where an upstream may cache, and nothing to the model."""

_TEXTS: Final = ("text", "input_text")
_CONTENTS: Final = ("content", "output", "images")


def said(value: object) -> Said:
    """What a parsed message, or a plain string in place of messages, says. Empty texts say nothing;
    of anything but text the whole value counts, cache marks left out."""
    if not isinstance(value, dict):
        return tuple(_parts(value))
    return tuple(part for name in _CONTENTS for part in _parts(value.get(name, "")))


def words_of(value: object) -> tuple[Strand, ...]:
    """The texts of a parsed message of a user, with the ways to them from the message down. Texts
    within results are not among them."""
    content = value.get("content") if isinstance(value, dict) else None
    match content:
        case str():
            found = [Strand(("content",), content)]
        case list():
            found = [
                Strand(("content", index, "text"), item["text"])
                for index, item in enumerate(content)
                if isinstance(item, dict)
                and item.get("type") in _TEXTS
                and isinstance(item.get("text"), str)
            ]
        case _:
            found = []
    return tuple(strand for strand in found if strand.text)


def text_digest(text: str) -> bytes:
    """The digest of one text, the same wherever it stands. Lone surrogates have one too."""
    return sha256(b"text\0" + text.encode("utf-8", "surrogatepass")).digest()


def _parts(value: object) -> Iterator[bytes]:
    match value:
        case str():
            if value:
                yield text_digest(value)
        case list():
            for item in value:
                # Most are plain texts, and a message may have a hundred thousand.
                text = item.get("text") if type(item) is dict else None
                if type(text) is str and item.get("type") in _TEXTS:
                    if text:
                        yield text_digest(text)
                else:
                    yield from _part(item)
        case None:
            return
        case _:
            yield sha256(b"value\0" + b"".join(_spelled(value))).digest()


def _part(item: Any) -> Iterator[bytes]:
    match item:
        case {"type": str(kind), "text": str(text)} if kind in _TEXTS:
            yield from _parts(text)
        case {"type": "tool_result"}:
            yield from _parts(item.get("content"))
        case _:
            yield from _parts(item)


def _spelled(value: object) -> Iterator[bytes]:
    """A value in bytes that no other value has; lengths keep neighbours apart."""
    match value:
        case dict():
            kept = [(key, inner) for key, inner in value.items() if key not in MARKS]
            yield b"{%d" % len(kept)
            for key, inner in kept:
                yield from _spelled(key)
                yield from _spelled(inner)
        case list():
            yield b"[%d" % len(value)
            for inner in value:
                yield from _spelled(inner)
        case str():
            raw = _bytes(value)
            yield b'"%d:' % len(raw)
            yield raw
        case _:
            yield b"=%b;" % str(value).encode()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
