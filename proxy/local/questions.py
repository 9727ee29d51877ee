"""Questions to a local server that many ask at once: one is sent, all get its answer.

Owns the sharing, and the end of a question that nobody waits for any more. It must not know what is
asked.
"""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class _Question(Generic[T]):
    """One question under way, and how many wait for its answer."""

    task: asyncio.Task[T]
    askers: int = 0


class Questions(Generic[T]):
    """Inside a loop; ends with `close`."""

    def __init__(self) -> None:
        self._asking: dict[Hashable, _Question[T]] = {}

    async def ask(self, key: Hashable, send: Callable[[], Coroutine[None, None, T]]) -> T:
        """The answer of `send`, or what it raises; of the one under way where `key` is asked just
        now."""
        question = self._asking.get(key)
        if question is None:
            question = _Question(asyncio.create_task(send()))
            self._asking[key] = question
            question.task.add_done_callback(partial(self._over, key, question))
        question.askers += 1
        try:
            # A client that leaves must not take the question away from the others.
            return await asyncio.shield(question.task)
        finally:
            question.askers -= 1
            if not question.askers and not question.task.done():
                # Nobody waits for the answer any more; who comes now asks anew.
                question.task.cancel()
                self._forget(key, question)

    def close(self) -> None:
        """No more answers are waited for."""
        for question in self._asking.values():
            question.task.cancel()

    def _over(self, key: Hashable, question: _Question[T], task: asyncio.Task[T]) -> None:
        self._forget(key, question)
        if not task.cancelled():
            task.exception()  # looked at, for when every asker has left

    def _forget(self, key: Hashable, question: _Question[T]) -> None:
        if self._asking.get(key) is question:
            del self._asking[key]
