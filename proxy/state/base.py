"""The contract of everything that Transom remembers, and its errors.

Owns `Store` and the key of all digests. It must not know what a digest stands for: identities are
the ledger's. One suite (`tests/contract/test_stores.py`) holds for every implementation.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from policies.decision import FrameRow

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


@dataclass(frozen=True, slots=True)
class Rows:
    """What was found: digest → row of a frame, digest → text of a note."""

    frames: Mapping[bytes, FrameRow] = field(default_factory=dict)
    notes: Mapping[bytes, str] = field(default_factory=dict, repr=False)


class Store(Protocol):
    """What is remembered. All methods raise `StateError` when it cannot be done in time."""

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
        """Forget all rows that were last seen more than `keep` seconds ago, a bounded number in one
        transaction. Returns how many went; call again until none does."""
        ...

    async def close(self) -> None:
        """Finish what was begun and let go of all files and threads. May be called twice."""
        ...
