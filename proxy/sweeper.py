"""What was not used for long is forgotten, bit by bit, beside everything else.

Owns when. It must not know tables or what a row stands for.
"""

import asyncio
from collections.abc import Callable

from proxy import logs
from proxy.state.base import FrameStore, StateError

INTERVAL = 3600.0
"""Seconds between two rounds; `ledger.keep` is at least that long."""

_BREATH = 0.05  # seconds between two transactions of a round, for claims that wait


class Sweeper:
    """Rounds over one store, from `start` to `close`. `keep()`: seconds that rows live after their
    last use, asked anew for each round."""

    def __init__(
        self, store: FrameStore, keep: Callable[[], float], *, interval: float = INTERVAL
    ) -> None:
        self._store = store
        self._keep = keep
        self._interval = interval
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin at once with the first round."""
        self._task = asyncio.create_task(self._rounds(), name="sweeper")

    async def close(self) -> None:
        """Stop, also in the middle of a round."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _rounds(self) -> None:
        while True:
            try:
                gone = await self._store.expire(self._keep())
            except StateError:
                # Nothing is lost by forgetting later.
                logs.get().warning("notice", problem="state-not-swept")
                gone = 0
            await asyncio.sleep(_BREATH if gone else self._interval)
