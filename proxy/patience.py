"""Limits on waiting that cost nothing while nobody waits too long.

Owns one timer per stream, and one for all waits of one kind; they are looked at only when they are
due. It must not know what is waited for.
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


class Waits:
    """Waits of one length, each begun and ended once, in the order in which they began: one timer
    for all of them, which costs the waits nothing. Inside a running loop."""

    __slots__ = ("_loop", "_since", "_timer", "limit")

    def __init__(self, limit: float, loop: asyncio.AbstractEventLoop) -> None:
        self.limit = limit
        self._loop = loop
        self._since: dict[Callable[[], None], float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, lost: Callable[[], None]) -> None:
        """A wait begins; `lost`, its own and no other's, is called once when it has lasted `limit`
        seconds."""
        now = self._since[lost] = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_at(now + self.limit, self._look)

    def end(self, lost: Callable[[], None]) -> None:
        """It is over. Harmless when it was lost."""
        self._since.pop(lost, None)

    def _look(self) -> None:
        """Those that are due stand first; the next look is when the first of the others is."""
        now, self._timer = self._loop.time(), None
        due: list[Callable[[], None]] = []
        for lost, since in self._since.items():
            if now < since + self.limit:
                self._timer = self._loop.call_at(since + self.limit, self._look)
                break
            due.append(lost)
        for lost in due:
            if self._since.pop(lost, None) is not None:  # the one before may have ended it
                lost()
