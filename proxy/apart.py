"""Long work apart from the event loop, so that one large body does not make every stream wait.

Owns the threads and the size from which work goes there. It must not know what the work is. A few
threads of its own: look-ups of names use the loop's default ones and must not wait behind a body,
and more of them would only take turns with the loop.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

LARGE: Final = 512 * 1024
"""Bytes of a new body up to which reading, rendering and proving it stays on the loop: a few
milliseconds, where the way to a thread and back costs a tenth of one."""

KNOWN: Final = 4
"""Bytes that were read before and take as long as a new one. A body of which all but the newest
turn is known goes to a thread beyond 2 MB: with less, the ways there and back cost a third of all
that is done about it."""

THREADS: Final = 2

P = ParamSpec("P")
R = TypeVar("R")


def effort(size: int, known: int) -> int:
    """New bytes that take as long as a body of `size` bytes, the first `known` of which were read
    before."""
    return size - known + known // KNOWN


class Apart:
    """Runs functions on the loop or in a thread. What they share must bear that. Inside a loop;
    its threads start with the first long work, and end with `close` or with it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, "apart")

    async def run(self, size: int, work: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """`work(*args)` for a body of `size` bytes: at once up to `LARGE`, else in a thread.

        When the task is cancelled the work goes on, and nobody hears of it."""
        if size <= LARGE:
            return work(*args, **kwargs)
        return await self.always(work, *args, **kwargs)

    async def always(self, work: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """The same, in a thread whatever its size."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: work(*args, **kwargs))

    def close(self) -> None:
        """Begin nothing more; what runs is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)
