"""Limits on waiting that cost nothing while nobody waits too long.

Owns one timer per stream, looked at only when it is due. It must not know what is waited for.
"""

import asyncio
from collections.abc import Callable


class Patience:
    """Calls `lost` once when a single wait, from `begin()` to `done()`, has lasted `limit` seconds.

    Made inside a running loop; ends with `stop()`. `begin` costs a look at the clock, so it may
    stand round every chunk.
    """

    def __init__(self, limit: float, lost: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._limit = limit
        self._lost = lost
        self._since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """A wait begins."""
        self._since = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_at(self._since + self._limit, self._look)

    def done(self) -> None:
        """The wait is over."""
        self._since = None

    def stop(self) -> None:
        """No wait will follow."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        now = self._loop.time()
        due = now + self._limit if self._since is None else self._since + self._limit
        if due <= now:
            self._lost()
        else:
            self._timer = self._loop.call_at(due, self._look)
