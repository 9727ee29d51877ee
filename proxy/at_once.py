"""The event loop as a connection of aiohttp's server sees it: a handler begins at once.

Owns one difference: what the server would start as a task of its own runs in the task of its
connection. It must not know a request. Facts about aiohttp are those of 3.14: `start` of its
connection awaits each handler in a new task, which begins in the next turn of the loop and tells of
its end in another one. From Python 3.12 on it starts that task eagerly; here Python 3.11 is spared
the turns as well. Whoever cancels the connection's task cancels its handler, as before.
"""

import asyncio
import sys
from collections.abc import Awaitable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class _AtOnce:
    """A loop, but for `create_task`."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        # What every request asks for is looked up once.
        self.time, self.create_future, self.call_at = loop.time, loop.create_future, loop.call_at
        self._loop = loop

    def create_task(self, work: Awaitable[T]) -> Awaitable[T]:
        """`work` itself, for who awaits it right away."""
        return work

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


def at_once(loop: asyncio.AbstractEventLoop) -> asyncio.AbstractEventLoop:
    """`loop` for a connection whose own task was started."""
    eager = sys.version_info >= (3, 12)
    return loop if eager else cast(asyncio.AbstractEventLoop, _AtOnce(loop))
