"""Copies of an answer for those who only watch, so that they can neither delay nor spoil it.

Owns what waits for the observers of one answer until the loop turns. It must not know what
observers look for. What an observer raises ends that observer alone and is reported, never the
answer.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol


class Observer(Protocol):
    """Reads a copy of one answer; made anew for each."""

    def chunk(self, data: bytes) -> None:
        """The next bytes, as they came from the answer."""
        ...

    def end(self) -> None:
        """No more will come, for whatever reason."""
        ...


Failed = Callable[[Observer, BaseException], None]


class Copies:
    """The observers of one answer. Copies wait only until the loop turns: a call for all of them,
    as a task for each costs four times as much, for every event of a stream."""

    __slots__ = ("_failed", "_loop", "_news", "_watching")

    def __init__(self, observers: Sequence[Observer], failed: Failed | None) -> None:
        self._watching = [*observers]
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._news: list[bytes | None] = []

    def chunk(self, data: bytes) -> None:
        """Hand a copy to everyone who still watches."""
        if self._watching:
            self._tell(data)

    def end(self) -> None:
        """Tell everyone that it is over. Once, and nothing follows."""
        if self._watching:
            self._tell(None)

    def _tell(self, data: bytes | None) -> None:
        if not self._news:
            self._loop.call_soon(self._show)
        self._news.append(data)

    def _show(self) -> None:
        news, self._news = self._news, []
        for observer in [*self._watching]:
            try:
                _read(observer, news)
            except Exception as error:
                # One of three places: whatever is wrong with who only watches, the answer goes on.
                self._watching.remove(observer)
                if self._failed is not None:
                    self._failed(observer, error)


def _read(observer: Observer, news: Sequence[bytes | None]) -> None:
    for data in news:
        if data is None:
            observer.end()
        else:
            observer.chunk(data)
