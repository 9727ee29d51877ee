"""Limits on waiting that cost nothing while nobody waits too long.

Owns one timer per stream, looked at only when it is due. It must not know what is waited for.
"""

import asyncio
from collections.abc import Callable


class Patience:
    """Calls `lost` once when a single wait, from `begin()` to `done()`, has lasted `limit` seconds.

    Waits begin inside a running loop; it ends with `stop()`. `begin` costs a look at the clock, so
    it may stand round every chunk, and one that never begins costs nothing.
    """

    __slots__ = ("_limit", "_loop", "_lost", "_since", "_timer")

    def __init__(self, limit: float, lost: Callable[[], None]) -> None:
        self._limit = limit
        self._lost = lost
        self._since: float | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """A wait begins."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._since = self._loop.time()
            self._timer = self._loop.call_at(self._since + self._limit, self._look, self._loop)
        else:
            self._since = self._loop.time()

    def done(self) -> None:
        """The wait is over."""
        self._since = None

    def stop(self) -> None:
        """No wait will follow. Whoever was to be told is let go: it mostly holds this as well, and
        what it holds of an answer would else wait for the collector."""
        if self._timer is not None:
            self._timer.cancel()
        self._lost = _nobody

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        due = now + self._limit if self._since is None else self._since + self._limit
        if due <= now:
            self._lost()
        else:
            self._timer = loop.call_at(due, self._look, loop)


def _nobody() -> None:
    """Nobody is told any more."""
