"""What the store has told lately: the memory in front of it, and one read for all that it lacks.

Owns how long a row counts as known without a look at the store, and how many do. It must not know
what a digest stands for, nor what follows from a row.
"""

from collections import OrderedDict
from collections.abc import Callable, Container, Iterable, Sequence
from typing import TypeVar

from policies.decision import FrameRow
from proxy.errors import Refused
from proxy.state.base import Claim, FrameStore, NoteClaim, Rows, StateError

MOST_HITS = 16_384
"""Rows kept in memory, some 8 MB: a long conversation needs no read."""

DAY = 86_400.0

Value = TypeVar("Value", FrameRow, str)

Absent = set[bytes]
"""Digests that nothing was found under, while one request is decided."""

Digests = tuple[Sequence[bytes], Sequence[bytes]]
"""Those of frames, and those of notes."""

Hit = tuple[FrameRow | str, float]
"""A row or a note, and when the store told it."""


def _nothing() -> Digests:
    return (), ()


class Front:
    """The `most` rows that were used last. `keep`: seconds that rows live after their last use;
    `clock`: seconds, however counted. All failures of the `store` are
    `Refused("state-unavailable")`."""

    def __init__(
        self, store: FrameStore, *, keep: float, most: int, clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._clock = clock
        self._most = most
        self._hits: OrderedDict[bytes, Hit] = OrderedDict()
        self.keep = keep

    def hit(self, digest: bytes) -> Hit | None:
        """What memory holds, however old; it does not count as used."""
        return self._hits.get(digest)

    def note(self, digest: bytes) -> str | None:
        """The note under a digest where memory holds it and it counts; it is used then."""
        hit = self._hits.get(digest)
        if hit is None or hit[1] < self.since() or not isinstance(hit[0], str):
            return None
        self._hits.move_to_end(digest)
        return hit[0]

    def since(self) -> float:
        """When a hit was kept at the earliest, for it to count."""
        return self._clock() - min(DAY, self.keep / 2)

    async def claim(self, frames: Iterable[Claim], notes: Iterable[NoteClaim]) -> Rows:
        """As `FrameStore.claim`; what holds is known from then on."""
        try:
            winners = await self._store.claim(frames, notes)
        except StateError as error:
            raise Refused("state-unavailable") from error
        self._keep(winners)
        return winners

    async def look(
        self,
        frames: Sequence[bytes],
        notes: Sequence[bytes],
        claimed: Callable[[], Container[bytes]] = frozenset,
        *,
        along: Callable[[], Digests] = _nothing,
        absent: Absent | None = None,
    ) -> Rows:
        """What is known under the digests, from memory if it holds them; one read at most, and none
        where it lacks nothing but frames that are `claimed` anyhow. With a read goes what is to be
        looked up next, `along`. What was `absent` lately still is."""
        refresh, since = min(DAY, self.keep / 2), self.since()
        absent = set() if absent is None else absent
        rows: dict[bytes, FrameRow] = {}
        texts: dict[bytes, str] = {}
        unknown_rows = self._found(frames, since, rows, FrameRow, absent)
        unknown_texts = self._found(notes, since, texts, str, absent)
        if unknown_texts or (unknown_rows and not _within(unknown_rows, claimed())):
            more_rows, more_texts = along()
            unknown_rows += self._found(more_rows, since, {}, FrameRow, absent)
            unknown_texts += self._found(more_texts, since, {}, str, absent)
            try:
                found = await self._store.read(unknown_rows, unknown_texts, refresh=refresh)
            except StateError as error:
                raise Refused("state-unavailable") from error
            self._keep(found)
            rows.update(found.frames)
            texts.update(found.notes)
            absent.update(unknown_rows, unknown_texts)
            absent -= found.frames.keys() | found.notes.keys()
        return Rows(rows, texts)

    def _found(
        self,
        digests: Sequence[bytes],
        since: float,
        into: dict[bytes, Value],
        kind: type[Value],
        absent: Absent,
    ) -> list[bytes]:
        """Put what memory holds `into` a table; the digests that it does not hold and that are not
        `absent`. A hit that is older than `since` is none, so that the store sees once a day what
        is still in use."""
        missing: dict[bytes, None] = {}
        hits, used = self._hits.get, self._hits.move_to_end
        for digest in digests:
            hit = hits(digest)
            if hit is not None and hit[1] >= since and isinstance(hit[0], kind):
                used(digest)
                into[digest] = hit[0]
            elif digest not in absent:
                missing[digest] = None
        return [*missing]

    def _keep(self, found: Rows) -> None:
        now, hits = self._clock(), self._hits
        for digest, row in found.frames.items():
            hits[digest] = row, now
            hits.move_to_end(digest)
        for digest, text in found.notes.items():
            hits[digest] = text, now
            hits.move_to_end(digest)
        while len(hits) > self._most:
            hits.popitem(last=False)


def _within(digests: Iterable[bytes], claimed: Container[bytes]) -> bool:
    return all(map(claimed.__contains__, digests))
