"""The contract of everything that Transom remembers, and its errors.

Owns `Store` and the key of all digests. It must not know what a digest stands for: identities are
the ledger's. One suite (`tests/contract/test_stores.py`) holds for every implementation.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from policies.decision import FrameRow

KEY_BYTES = 32

Clock = Callable[[], float]
"""Seconds since 1970."""

Claim = tuple[bytes, FrameRow]
"""Digest of a framed unit, and the row that is to hold for it unless there is one already."""


class StateError(Exception):
    """State cannot be read or written right now. The words name the operation, never a value."""


class StateRefused(Exception):
    """State cannot be used at all: start is refused. The words name the path and the way out."""


class Store(Protocol):
    """What is remembered. All methods raise `StateError` when it cannot be done in time."""

    @property
    def key(self) -> bytes:
        """The state key, `KEY_BYTES` long: it keys every digest. Never logged."""
        ...

    async def frames(self, digests: Sequence[bytes]) -> Mapping[bytes, FrameRow]:
        """The rows that are known; digests without a row are absent. One read."""
        ...

    async def claim_frames(self, claims: Sequence[Claim]) -> Mapping[bytes, FrameRow]:
        """Write each row unless its digest has one; one transaction. Returns, for every digest,
        the row that holds: the first that was ever written, by whichever process."""
        ...

    async def close(self) -> None:
        """Finish what was begun and let go of all files and threads. May be called twice."""
        ...
