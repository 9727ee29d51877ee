"""State that lives as long as the process: `memory:`.

Owns bounded tables. It must not outlive the process, so after a restart everything is unknown
again.
"""

import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from policies.decision import FrameRow
from proxy.state.base import KEY_BYTES, Claim, Clock, NoteClaim, Rows, StateError
from proxy.state.book import (
    AuditRow,
    EventRow,
    NoticeRow,
    Page,
    SessionRow,
    Taken,
    Written,
)
from proxy.state.memory_book import MemoryBook

MOST = 200_000
"""Rows that are kept in each table, some 60 MB; beyond it the oldest go."""

Value = TypeVar("Value")


class _Table(Generic[Value]):
    """Digest → value and when it was last seen."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: dict[bytes, tuple[Value, float]] = {}

    def read(self, digests: Iterable[bytes], now: float, refresh: float) -> dict[bytes, Value]:
        found = {digest: self._rows[digest] for digest in digests if digest in self._rows}
        for digest, (value, seen) in found.items():
            if refresh and seen < now - refresh:
                self._rows[digest] = value, now
        return {digest: value for digest, (value, _) in found.items()}

    def claim(self, claims: Iterable[tuple[bytes, Value]], now: float) -> Mapping[bytes, Value]:
        winners: dict[bytes, Value] = {}
        for digest, value in claims:
            winners[digest] = self._rows.get(digest, (value, now))[0]
            self._rows[digest] = winners[digest], now
        while len(self._rows) > self._most:
            del self._rows[next(iter(self._rows))]
        return winners

    def expire(self, before: float) -> int:
        old = [digest for digest, (_, seen) in self._rows.items() if seen < before]
        for digest in old:
            del self._rows[digest]
        return len(old)


class MemoryStore:
    """`Store` without a file; the key is new for every instance."""

    def __init__(self, *, clock: Clock = time.time, most: int = MOST) -> None:
        self._key = secrets.token_bytes(KEY_BYTES)
        self._clock = clock
        self._frames: _Table[FrameRow] = _Table(most)
        self._notes: _Table[str] = _Table(most)
        self._book = MemoryBook()
        self._home: dict[bytes, dict[str, float]] = {}
        self._most = most
        self._open = True

    @property
    def key(self) -> bytes:
        return self._key

    async def read(
        self, frames: Sequence[bytes], notes: Sequence[bytes] = (), *, refresh: float = 0.0
    ) -> Rows:
        now = self._now()
        return Rows(self._frames.read(frames, now, refresh), self._notes.read(notes, now, refresh))

    async def claim(self, frames: Iterable[Claim], notes: Iterable[NoteClaim] = ()) -> Rows:
        now = self._now()
        new_frames, new_notes = tuple(frames), dict(notes)
        known = self._notes.read(new_notes, now, 0.0)
        if any(new_notes[digest] != text for digest, text in known.items()):
            return Rows(self._frames.read([digest for digest, _ in new_frames], now, 0.0), known)
        return Rows(self._frames.claim(new_frames, now), self._notes.claim(new_notes.items(), now))

    async def expire(self, keep: float) -> int:
        before = self._now() - keep
        gone = self._frames.expire(before) + self._notes.expire(before)
        return gone + self._book.delete(before) + self._forget(lambda _, seen: seen < before)

    async def mark(self, digests: Sequence[bytes], session: str) -> None:
        now = self._now()
        # SECURITY: the oldest mark must not go for a new one; what it marks could leave.
        if len(self._home) + len(digests) > self._most:
            raise StateError("no more marks of what stays at home can be kept in memory")
        for digest in digests:
            self._home.setdefault(digest, {})[session] = now

    async def marked(self, digests: Sequence[bytes]) -> frozenset[bytes]:
        now = self._now()
        found = frozenset(digest for digest in digests if digest in self._home)
        for digest in found:
            self._home[digest] = dict.fromkeys(self._home[digest], now)
        return found

    async def marks(self) -> bool:
        self._now()
        return bool(self._home)

    async def release(self, session: str) -> int:
        self._now()
        return self._forget(lambda whose, _: whose == session)

    async def take(
        self, key: str, now: float, capacity: float, refill: float, count: int = 1
    ) -> Taken:
        self._now()
        return self._book.take(key, now, capacity, refill, count)

    async def record(self, page: Page) -> Written:
        return self._book.write(page, self._now())

    async def events(self, since: float = 0.0, limit: int = 1000) -> tuple[EventRow, ...]:
        self._now()
        return self._book.events(since, limit)

    async def notices(self, *, acked: bool = False, limit: int = 1000) -> tuple[NoticeRow, ...]:
        self._now()
        return self._book.notices(acked, limit)

    async def counters(self) -> Mapping[str, int]:
        self._now()
        return self._book.counters()

    async def audit(
        self, *, after: int = 0, since: float = 0.0, limit: int = 1000
    ) -> tuple[AuditRow, ...]:
        self._now()
        return self._book.audit(after, since, limit)

    async def sessions(self, limit: int = 1000) -> tuple[SessionRow, ...]:
        self._now()
        return self._book.sessions(limit)

    async def ack(self, number: int) -> bool:
        self._now()
        return self._book.ack(number)

    async def close(self) -> None:
        self._open = False
        self._frames, self._notes, self._home = _Table(0), _Table(0), {}
        self._book = MemoryBook()

    def _forget(self, goes: Callable[[str, float], bool]) -> int:
        gone = 0
        for digest, sessions in tuple(self._home.items()):
            for session in [each for each, seen in sessions.items() if goes(each, seen)]:
                del sessions[session]
                gone += 1
            if not sessions:
                del self._home[digest]
        return gone

    def _now(self) -> float:
        if not self._open:
            raise StateError("the state is closed")
        return self._clock()
