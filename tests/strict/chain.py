"""A hash chain over the parts of a request, and seals that bind an answer to what came before it.

Owns the arithmetic that the strict upstreams share. It must not know a dialect.
"""

import base64
import hashlib
from collections.abc import Iterable
from typing import Any

import msgspec

_KEY = b"the upstream's own key"


def plain(value: object) -> bytes:
    """JSON without white space; key order counts, as it does for prompt caches (wire.md 4.4)."""
    return msgspec.json.encode(value)


def copied(value: Any) -> Any:
    """A deep copy of JSON."""
    return msgspec.json.decode(msgspec.json.encode(value))


def bare(value: Any) -> Any:
    """`value` without any `cache_control`."""
    if isinstance(value, dict):
        return {key: bare(inner) for key, inner in value.items() if key != "cache_control"}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


def unmarked(value: object) -> bytes:
    """`value` without any `cache_control`, as JSON."""
    raw = plain(value)
    return plain(bare(value)) if b'"cache_control"' in raw else raw


def linked(before: bytes, part: object) -> bytes:
    """The chain one part longer; cache marks do not count."""
    return hashlib.sha256(before + unmarked(part)).digest()


def chain(parts: Iterable[object], before: bytes = b"") -> bytes:
    """The chain over all `parts`."""
    for part in parts:
        before = linked(before, part)
    return before


def seal(before: bytes, text: str, size: int = 4) -> str:
    """Opaque to everyone else: base64 of `size` digests over the chain and `text`."""
    raw = b"".join(
        hashlib.sha512(b"%d" % number + _KEY + before + text.encode()).digest()
        for number in range(size)
    )
    return base64.b64encode(raw).decode()


def name(before: bytes, kind: str, number: int = 0, length: int = 24) -> str:
    """An id that is a function of the history, shaped as vendors shape theirs."""
    digest = hashlib.sha512(before + f"{kind} {number}".encode()).digest()
    text = base64.b64encode(digest, altchars=b"aZ").decode()
    return kind + "".join(char for char in text if char.isalnum())[:length]
