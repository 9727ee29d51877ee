"""The next item of something that is read slowly, awaited by several in turn without being lost.

Owns the one task that waits for it. It must not know what is read.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Generic, TypeVar

from proxy.errors import Refused

T = TypeVar("T")


class Coming(Generic[T]):
    """Reads `items`, which nobody else may."""

    def __init__(self, items: AsyncIterator[T]) -> None:
        self._items = items
        self._task: asyncio.Task[T | None] | None = None

    async def _next(self) -> T | None:
        return await anext(self._items, None)

    def task(self) -> "asyncio.Task[T | None]":
        """The task that waits for the next item."""
        if self._task is None:
            self._task = asyncio.create_task(self._next())
        return self._task

    async def item(self) -> T | None:
        """The next item, None behind the last."""
        if self._task is None:
            return await self._next()
        task, self._task = self._task, None
        return await task

    async def within(self, seconds: float) -> bool:
        """Wait for the next item, but not longer; whether it is there, or what was raised is."""
        done, _ = await asyncio.wait({self.task()}, timeout=seconds)
        return bool(done)

    def drop(self) -> None:
        """Await nothing any more, and do not wait for the end of that."""
        # How a task was cancelled leads back to what it read: kept here, that would be a ring.
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            task.add_done_callback(_seen)

    async def give_up(self) -> None:
        """Await nothing any more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError, Refused):
                await task


def _seen(task: "asyncio.Task[T]") -> None:
    """What a task raised that nobody waits for is nobody's concern."""
    if not task.cancelled():
        task.exception()
