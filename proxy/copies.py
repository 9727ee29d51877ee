"""Copies of an answer for those who only watch, so that they can neither delay nor spoil it.

Owns what waits for the observers of one answer until enough of it came. It must not know what
observers look for. What an observer raises ends that observer alone and is reported, never the
answer.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol

ENOUGH: Final = 8 * 1024
"""Bytes that observers are shown at once, or what there is at the end: to look at every event of a
stream as it comes takes a fifth of all that is done about it."""


class Observer(Protocol):
    """Reads a copy of one answer; made anew for each."""

    def chunk(self, data: bytes) -> None:
        """The next bytes of the answer, cut anywhere."""
        ...

    def end(self) -> None:
        """No more will come, for whatever reason."""
        ...


Failed = Callable[[Observer, BaseException], None]


class Copies:
    """The observers of one answer. They are called when the loop turns, by whoever has handed out
    enough: a call for all of them."""

    __slots__ = ("_failed", "_loop", "_news", "_size", "_watching")

    def __init__(self, observers: Sequence[Observer], failed: Failed | None) -> None:
        self._watching = [*observers]
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._news: list[bytes] = []
        self._size = 0

    def chunk(self, data: bytes) -> None:
        """Hand a copy to everyone who still watches."""
        if not self._watching:
            return
        self._news.append(data)
        self._size += len(data)
        if self._size >= ENOUGH:
            self._tell(ended=False)

    def end(self) -> None:
        """Tell everyone that it is over. Once, and nothing follows."""
        if self._watching:
            self._tell(ended=True)

    def _tell(self, *, ended: bool) -> None:
        news, self._news, self._size = b"".join(self._news), [], 0
        self._loop.call_soon(self._show, news, ended)

    def _show(self, news: bytes, ended: bool) -> None:
        for observer in [*self._watching]:
            try:
                if news:
                    observer.chunk(news)
                if ended:
                    observer.end()
            except Exception as error:
                # One of three places: whatever is wrong with who only watches, the answer goes on.
                self._watching.remove(observer)
                if self._failed is not None:
                    self._failed(observer, error)
