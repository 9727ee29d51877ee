"""Copies of an answer for those who only watch, so that they can neither delay nor spoil it.

Owns what waits for each observer, and one task for each. It must not know what observers look for.
What an observer raises ends that observer alone and is reported, never the answer.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
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
    """The observers of one answer. Copies wait only until the loop turns."""

    def __init__(self, observers: Sequence[Observer], failed: Failed | None) -> None:
        self._shows = [_Show(observer, failed) for observer in observers]

    def chunk(self, data: bytes) -> None:
        """Hand a copy to everyone who still watches."""
        for show in self._shows:
            show.tell(data)

    def end(self) -> None:
        """Tell everyone that it is over; their tasks end by themselves."""
        for show in self._shows:
            show.tell(None)


class _Show:
    """One observer. A queue of asyncio's costs three times as much, for every event of a stream."""

    __slots__ = ("_idle", "_news", "_task")

    def __init__(self, observer: Observer, failed: Failed | None) -> None:
        self._news: list[bytes | None] = []
        self._idle: asyncio.Future[None] | None = None
        self._task = asyncio.create_task(self._show(observer))
        self._task.add_done_callback(partial(_report, observer, failed))

    def tell(self, data: bytes | None) -> None:
        """The next copy; None behind the last."""
        if self._task.done():
            return
        self._news.append(data)
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    async def _show(self, observer: Observer) -> None:
        loop = asyncio.get_running_loop()
        while True:
            news, self._news = self._news, []
            for data in news:
                if data is None:
                    observer.end()
                    return
                observer.chunk(data)
            self._idle = loop.create_future()
            await self._idle


def _report(observer: Observer, failed: Failed | None, task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None and failed is not None:
        failed(observer, error)
