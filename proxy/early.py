"""What a start does beside the rest of it: the rules of the screen are compiled in a thread.

Owns that thread, and what has to be settled before any thread starts. It must not import more of
the node than the screen: the gain is that the rest is read meanwhile. The engine that compiles
leaves the interpreter to others, so that a start takes as long as the longer of the two.
"""

import ctypes
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from policies.screening import Screen
from policies.screening.screen import shipped

_M_ARENA_MAX: Final = -8  # malloc.h


class Early:
    """Begins when it is made. The thread ends with its work, which an end of the process awaits."""

    def __init__(self) -> None:
        share_memory()
        pool = ThreadPoolExecutor(1, "early")
        self._compiled: Future[object] = pool.submit(shipped)
        pool.shutdown(wait=False)

    def screen(self, deny: Mapping[str, bytes]) -> Screen:
        """`Screen.build` once the rules are compiled. Raises what that raised."""
        self._compiled.result()
        return Screen.build(deny)


def share_memory() -> None:
    """Before any thread starts: all of them take memory from one pool, so that what one has freed
    the others use. glibc gives each a pool of its own, which matters little to threads that take
    turns anyway. Measured with tool results of 1 MB: 245 MB with many pools, 211 MB with one."""
    if hasattr(c := ctypes.CDLL(None), "mallopt"):  # glibc alone
        c.mallopt(_M_ARENA_MAX, 1)
