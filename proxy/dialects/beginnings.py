"""How far a list of messages is the one of last time: then its beginning is not split or hashed.

Owns the memory of lists, the comparison of their bytes, and nothing of what they say. A client
sends its whole history with every turn, and all but the end of it is the same, byte for byte.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from proxy.dialects.facts import Facts
from proxy.lazyjson import Node
from proxy.memory import Memory

LEAST: Final = 16 * 1024
"""Bytes of a list below which splitting and hashing it costs less than remembering it."""

_HEAD: Final = 512  # bytes by which the list of last time is found
_CHUNK: Final = 64 * 1024
_ITEM: Final = 300  # bytes that one item takes beside its own


class Beginning(Struct, frozen=True, eq=False):
    """A list as it was: its bytes up to the end of the last item, and for each item where it lies
    in them, its digest and facts."""

    raw: bytes
    spans: tuple[tuple[int, int], ...]
    ends: tuple[int, ...]
    digests: tuple[bytes, ...]
    facts: tuple[Facts, ...]


Beginnings = Memory[bytes, Beginning]


class Shared(Struct, frozen=True, eq=False):
    """The first items of a list that are known: where they lie in the body at hand."""

    spans: Sequence[tuple[int, int]] = ()
    digests: Sequence[bytes] = ()
    facts: Sequence[Facts] = ()


def shared(node: Node, beginnings: Beginnings) -> Shared:
    """What the list `node` has in common with the one that began alike last time."""
    old = beginnings.get(_key(node)) if _worth_it(node) else None
    if old is None:
        return Shared()
    start, end = node.span
    same = _common(old.raw, node.source.body, start, end)
    count = bisect_right(old.ends, same)
    # SECURITY: only what ends itself is known by its bytes; the number 1 may go on as 12.
    while count and old.raw[old.ends[count - 1] - 1] not in b'}]"':
        count -= 1
    spans = [(start + s, start + e) for s, e in old.spans[:count]]
    return Shared(spans, old.digests[:count], old.facts[:count])


def remember(
    node: Node, digests: Sequence[bytes], facts: Sequence[Facts], beginnings: Beginnings
) -> None:
    """Keep the list `node` with the digests and facts of all its items for next time."""
    here = node.item_spans() if _worth_it(node) else []
    if not here:
        return
    start = node.offset
    spans = tuple([(s - start, e - start) for s, e in here])
    ends = tuple([end for _, end in spans])
    raw = node.source.body[start : start + ends[-1]]
    old = Beginning(raw, spans, ends, tuple(digests), tuple(facts))
    # The facts are in their own memory as well; here they are held on to, so they count.
    beginnings.renew(_key(node), old, 3 * len(raw) + _ITEM * len(here))


def _worth_it(node: Node) -> bool:
    start, end = node.span
    # A body with a shadow is rare, and its items are not where its bytes say alone.
    return end - start >= LEAST and node.source.scan is node.source.body


def _key(node: Node) -> bytes:
    return node.source.body[node.offset : node.offset + _HEAD]


def _common(old: bytes, body: bytes, start: int, end: int) -> int:
    """How many bytes `old` and `body[start:end]` begin with alike."""
    most = min(len(old), end - start)
    at, step = 0, _CHUNK
    while at < most and step:
        stop = min(at + step, most)
        if old[at:stop] == body[start + at : start + stop]:
            at = stop
        else:
            step //= 2
    return at
