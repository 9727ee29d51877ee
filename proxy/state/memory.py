"""State that lives as long as the process: `memory:`.

Owns a bounded table. It must not outlive the process, so after a restart every framed result is
unknown again.
"""

import secrets
import time
from collections.abc import Mapping, Sequence

from policies.decision import FrameRow
from proxy.state.base import KEY_BYTES, Claim, Clock, StateError

MOST = 200_000
"""Rows that are kept, some 60 MB; beyond it the oldest go."""


class MemoryStore:
    """`Store` without a file; the key is new for every instance."""

    def __init__(self, *, clock: Clock = time.time, most: int = MOST) -> None:
        self._key = secrets.token_bytes(KEY_BYTES)
        self._clock = clock
        self._most = most
        self._rows: dict[bytes, tuple[FrameRow, float]] = {}
        self._open = True

    @property
    def key(self) -> bytes:
        return self._key

    async def frames(self, digests: Sequence[bytes]) -> Mapping[bytes, FrameRow]:
        self._check()
        return {digest: self._rows[digest][0] for digest in digests if digest in self._rows}

    async def claim_frames(self, claims: Sequence[Claim]) -> Mapping[bytes, FrameRow]:
        self._check()
        now = self._clock()
        winners = {digest: self._rows.setdefault(digest, (row, now))[0] for digest, row in claims}
        while len(self._rows) > self._most:
            del self._rows[next(iter(self._rows))]
        return winners

    async def close(self) -> None:
        self._open = False
        self._rows.clear()

    def _check(self) -> None:
        if not self._open:
            raise StateError("the state is closed")
