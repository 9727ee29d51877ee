"""What nodes are read from: the bytes of a body, and the beginning of it that was read before.

Owns how much of a body is new, and where things lie in it then. It must not know what they mean.

Equal bytes are read alike. So a body that begins like an earlier one, up to where an item of a list
at its top begins, is read without the items before it, and whatever stands behind them is moved.
"""

from dataclasses import dataclass

from msgspec import Struct

from proxy.json_spans import ObjectSpans, Unaccounted, object_spans


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """`raw`: bytes of a body up to where an item begins. `start`: where its list begins. `spans`:
    where the items before it lie."""

    raw: bytes | memoryview
    start: int
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, body: bytes, stop: int, start: int, spans: tuple[tuple[int, int], ...]) -> "Known":
        """Of a `body` up to `stop`, of which no copy is made: all of it is kept."""
        return cls(memoryview(body)[:stop], start, spans)

    def begins(self, body: bytes) -> bool:
        """Whether all of it stands at the beginning of `body`."""
        # SECURITY: only equal bytes are read alike.
        return body.startswith(self.raw)

    def is_of(self, body: bytes) -> bool:
        """Whether it is the beginning of this very object."""
        return isinstance(self.raw, memoryview) and self.raw.obj is body

    def members(self, body: bytes, start: int, end: int) -> ObjectSpans:
        """As `object_spans`, of a `body` that it begins, all of which lies in `start:end`."""
        rest = body[: self.start + 1] + body[len(self.raw) : end]
        moved = end - len(rest)
        found: ObjectSpans = []
        try:
            shorter = object_spans(rest, start, len(rest))
        except Unaccounted:
            return object_spans(body, start, end)  # which says where
        for key, key_start, first, last in shorter:
            if first > self.start:
                found.append((key, key_start + moved, first + moved, last + moved))
            else:
                found.append((key, key_start, first, last + moved * (first == self.start)))
        return found


class Source(Struct, eq=False):
    """What the nodes of one body share.

    `scan` is `body`, save that each lone surrogate escape is `\\u0020` there: as long, and readable
    for the fast reader, which refuses lone surrogates where we must let them pass. `judged`:
    it has been checked that no value lies deeper than allowed. `known`: how it begins, where that
    was read before.
    """

    body: bytes
    scan: bytes
    judged: bool = False
    known: Known | None = None

    def __repr__(self) -> str:
        return f"<Source of {len(self.body)} bytes>"  # what is in it is in no repr
