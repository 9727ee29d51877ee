"""Copies of an answer for those who only watch, so that they can neither delay nor spoil it.

Owns one queue and one task per observer. It must not know what observers look for. What an observer
raises ends that observer alone and is reported, never the answer.
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
    """The observers of one answer. Copies wait in a queue only until the loop turns."""

    def __init__(self, observers: Sequence[Observer], failed: Failed | None) -> None:
        self._queues: list[asyncio.Queue[bytes | None]] = []
        self._tasks: list[asyncio.Task[None]] = []
        for observer in observers:
            queue: asyncio.Queue[bytes | None] = asyncio.Queue()
            task = asyncio.create_task(_show(observer, queue))
            task.add_done_callback(partial(_report, observer, failed))
            self._queues.append(queue)
            self._tasks.append(task)

    def chunk(self, data: bytes) -> None:
        """Hand a copy to everyone who still watches."""
        for queue, task in zip(self._queues, self._tasks, strict=True):
            if not task.done():
                queue.put_nowait(data)

    def end(self) -> None:
        """Tell everyone that it is over; their tasks end by themselves."""
        for queue in self._queues:
            queue.put_nowait(None)


async def _show(observer: Observer, queue: asyncio.Queue[bytes | None]) -> None:
    while (data := await queue.get()) is not None:
        observer.chunk(data)
    observer.end()


def _report(observer: Observer, failed: Failed | None, task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None and failed is not None:
        failed(observer, error)
