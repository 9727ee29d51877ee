"""The contract of everything that Transom remembers, and its errors.

Owns `Store` and the key of all digests. It must not know what a digest stands for: identities are
the ledger's. One suite (`tests/contract/test_stores.py`) holds for every implementation.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field

from policies.decision import FrameRow
from proxy.state.book import (
    AuditRow,
    EventRow,
    NoticeRow,
    Page,
    SessionRow,
    Taken,
    Written,
)

KEY_BYTES = 32

Clock = Callable[[], float]
"""Seconds since 1970."""

Claim = tuple[bytes, FrameRow]
"""Digest of a framed unit, and the row that is to hold for it unless there is one already."""

NoteClaim = tuple[bytes, str]
"""Digest of what a note is about, and its text, likewise."""


class StateError(Exception):
    """State cannot be read or written right now. The words name the operation, never a value."""


class StateRefused(Exception):
    """State cannot be used at all: start is refused. The words name the path and the way out."""


class Rows(Struct, frozen=True):
    """What was found: digest → row of a frame, digest → text of a note."""

    frames: Mapping[bytes, FrameRow] = field(default_factory=dict)
    notes: Mapping[bytes, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<{len(self.frames)} rows, {len(self.notes)} notes>"  # what they say is in no repr


class FrameStore(Protocol):
    """What must read the same next turn. All methods raise `StateError` when it cannot be done in
    time."""

    @property
    def key(self) -> bytes:
        """The state key, `KEY_BYTES` long: it keys every digest. Never logged."""
        ...

    async def read(
        self, frames: Sequence[bytes], notes: Sequence[bytes] = (), *, refresh: float = 0.0
    ) -> Rows:
        """What is known; digests without a row are absent. One read. Rows that were last seen more
        than `refresh` seconds ago count as seen now; with 0 that is left alone. Nobody waits for
        it to be written down."""
        ...

    async def claim(self, frames: Iterable[Claim], notes: Iterable[NoteClaim] = ()) -> Rows:
        """Write each row unless its digest has one; one transaction. Returns, for every digest,
        the row that holds: the first that was ever written, by whichever process. It counts as
        seen now.

        Where a note says something else already, nothing is written, frames neither: whoever claims
        has decided by what does not hold. What there is comes back."""
        ...

    async def expire(self, keep: float) -> int:
        """Forget all rows that were last seen more than `keep` seconds ago, notices that nobody has
        acknowledged aside, and the oldest of a table that holds too many; a bounded number in one
        transaction. Returns how many went; call again until none does."""
        ...

    async def close(self) -> None:
        """Finish what was begun and let go of all files and threads. May be called twice."""
        ...


class Book(Protocol):
    """What is written down for the owner. All methods raise `StateError`, likewise."""

    async def take(
        self, key: str, now: float, capacity: float, refill: float, count: int = 1
    ) -> Taken:
        """Take `count` tokens, all or none, from the bucket `key`, which holds `capacity` at most,
        was full before its first use and gets `refill` a second. `now`: seconds since 1970. Exact
        among all who share the state."""
        ...

    async def record(self, page: Page) -> Written:
        """Write down what happened, in one transaction; once this returns it is not lost."""
        ...

    async def events(self, since: float = 0.0, limit: int = 1000) -> tuple[EventRow, ...]:
        """The newest events that were seen since a time, the newest last; likewise below."""
        ...

    async def notices(self, *, acked: bool = False, limit: int = 1000) -> tuple[NoticeRow, ...]:
        """Notices that nobody has acknowledged; with `acked` all of them."""
        ...

    async def counters(self) -> Mapping[str, int]:
        """Every counter that is not nought, by name."""
        ...

    async def audit(
        self, *, after: int = 0, since: float = 0.0, limit: int = 1000
    ) -> tuple[AuditRow, ...]:
        """Rows of the audit with a higher number than `after`."""
        ...

    async def sessions(self, limit: int = 1000) -> tuple[SessionRow, ...]:
        """Sessions."""
        ...

    async def ack(self, number: int) -> bool:
        """Acknowledge the notice with this `id`; False where there is none that was not."""
        ...


class HomeStore(Protocol):
    """What must stay at home. All methods raise `StateError`, likewise."""

    async def mark(self, digests: Sequence[bytes], session: str) -> None:
        """Mark `digests` for a session; once this returns they are not lost. Marks expire as frames
        do, and count as seen when they are found."""
        ...

    async def marked(self, digests: Sequence[bytes]) -> frozenset[bytes]:
        """Those of `digests` that are marked, for whichever session."""
        ...

    async def marks(self) -> bool:
        """Whether there are any marks."""
        ...

    async def release(self, session: str) -> int:
        """Take the marks of a session away; how many there were."""
        ...


class Store(FrameStore, Book, HomeStore, Protocol):
    """All that is remembered."""
