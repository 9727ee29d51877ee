"""The memory of a node on large pages, where the system gives them.

Owns which memory, and when. It must not know what stands in it. A request looks at some megabytes,
a little here and a little there, and to find each small page costs as much as to read from it.
Measured beside the same node on small pages: a request of 2 or 50 kB in a long conversation takes 6
to 8 % less of the processor, and memory grows by 1 to 2 MB. Linux alone can be asked for it, from
6.1 on; anywhere else, and where it says no, nothing is different.
"""

import asyncio
import ctypes
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

AFTER: Final = (1.0, 10.0, 100.0, 1000.0)
"""Seconds of rest before each time that it is asked for: most is taken soon after the start."""

BETWEEN: Final = 0.05
"""Seconds between two pages: while one is put together, some milliseconds, whoever takes memory
waits."""

LARGE: Final = 2 * 1024 * 1024

_COLLAPSE: Final = 25  # MADV_COLLAPSE
_MAPS: Final = Path("/proc/self/maps")
_OWN: Final = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ 00:00 0 *(?:\[heap\])?$", re.MULTILINE)


async def enlarge(
    after: Sequence[float] = AFTER, between: float = BETWEEN, maps: Path = _MAPS
) -> None:
    """Ask for large pages now and then, each in a thread, until it is known that nobody tells which
    memory there is. `maps`: a file as /proc/PID/maps."""
    for seconds in after:
        await asyncio.sleep(seconds)
        if not (told := await asyncio.to_thread(_told, maps)):
            return
        for place in places(told):
            await asyncio.to_thread(collapse, place)
            await asyncio.sleep(between)


def _told(maps: Path) -> str:
    """What the system tells of memory; nothing where it does not."""
    try:
        return maps.read_text("ascii", "replace")
    except OSError:
        return ""


def collapse(place: int) -> bool:
    """Put what stands in small pages from `place` on, the beginning of a large one, into that.
    Whether it stands there now; what is no memory any more stays nothing."""
    advise = ctypes.CDLL(None).madvise
    return bool(advise(ctypes.c_void_p(place), ctypes.c_size_t(LARGE), _COLLAPSE) == 0)


def places(maps: str) -> Iterator[int]:
    """Where large pages begin in memory that is a process's own and of no file. `maps`: as in
    /proc/PID/maps."""
    for begin, end in _OWN.findall(maps):
        first = -(-int(begin, 16) // LARGE) * LARGE
        yield from range(first, int(end, 16) - LARGE + 1, LARGE)
