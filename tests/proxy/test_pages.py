"""Memory on large pages: which of it, when, and that nothing else comes of it."""

import asyncio
import ctypes
import mmap
import re
import threading
from pathlib import Path

import pytest

from proxy import pages
from proxy.pages import LARGE, collapse, enlarge, places

OWN = "7f0000100000-7f0000900000 rw-p 00000000 00:00 0 \n"
HEAP = "560000200000-560000600000 rw-p 00000000 00:00 0                          [heap]\n"
OTHERS = {
    "of a file": "7f0000000000-7f0000800000 rw-p 00001000 fe:00 4711   /usr/lib/libc.so.6\n",
    "shared": "7f0000000000-7f0000800000 rw-s 00000000 00:00 0 \n",
    "code": "7f0000000000-7f0000800000 r-xp 00000000 00:00 0 \n",
    "a stack": "7f0000000000-7f0000800000 rw-p 00000000 00:00 0   [stack]\n",
    "too small": "7f0000100000-7f00002ff000 rw-p 00000000 00:00 0 \n",
}


def test_whole_large_pages_of_own_memory_are_asked_for() -> None:
    """From the first place where one may begin to the last one where one still ends."""
    assert [*places(OWN)] == [0x7F0000200000, 0x7F0000400000, 0x7F0000600000]
    assert [*places(HEAP + OWN)][:2] == [0x560000200000, 0x560000400000]


@pytest.mark.parametrize("line", OTHERS.values(), ids=OTHERS)
def test_no_other_memory_is(line: str) -> None:
    """What others share, what is of a file, and what has no room for one."""
    assert [*places(line + OWN)] == [*places(OWN)]


def on_large_pages(place: int) -> int:
    """Bytes of the memory at `place` that the system says are on large pages."""
    found, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if span := re.match(r"([0-9a-f]+)-([0-9a-f]+) ", line):
            inside = int(span[1], 16) < place + 4 * LARGE and place < int(span[2], 16)
        elif inside and line.startswith("AnonHugePages:"):
            found += int(line.split()[1]) * 1024
    return found


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="the system does not tell")
def test_what_stands_in_memory_stays() -> None:
    """Wherever it is put; and as many pages are told of as the system has given, if any."""
    with mmap.mmap(-1, 4 * LARGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        told = bytes(range(256)) * (len(memory) // 256)
        memory[:] = told
        start = ctypes.c_char.from_buffer(memory)
        place = ctypes.addressof(start)
        row = f"{place:x}-{place + 4 * LARGE:x} rw-p 00000000 00:00 0 \n"
        given = [*map(collapse, places(row))]
        assert len(given) in (3, 4)
        assert given.count(True) * LARGE == on_large_pages(place)
        assert memory[:] == told
        del start


def test_what_is_no_memory_any_more_is_not_put_anywhere() -> None:
    """It may be gone since the system has told of it."""
    assert collapse(LARGE) is False


async def test_where_nobody_tells_of_memory_nothing_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As on systems that have no such file; nor is it asked for again."""
    monkeypatch.setattr(pages, "collapse", lambda place: pytest.fail("it was asked for"))
    await asyncio.wait_for(enlarge((0.0, 3600.0), 0.0, tmp_path / "nothing"), 5)


async def test_it_is_asked_for_again_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As memory is taken while a node serves; each page in a thread."""
    asked: list[int] = []

    def put(place: int) -> bool:
        assert threading.current_thread() is not threading.main_thread()
        asked.append(place)
        return True

    monkeypatch.setattr(pages, "collapse", put)
    maps = tmp_path / "maps"
    maps.write_text(OWN)
    await asyncio.wait_for(enlarge((0.0, 0.001), 0.0, maps), 5)
    assert asked == [*places(OWN)] * 2
