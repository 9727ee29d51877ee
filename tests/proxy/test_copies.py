"""Copies reach their observers without holding anything up."""

import asyncio

from proxy.copies import Copies


class Watcher:
    def __init__(self) -> None:
        self.seen: list[bytes | None] = []

    def chunk(self, data: bytes) -> None:
        self.seen.append(data)

    def end(self) -> None:
        self.seen.append(None)


async def test_a_copy_is_handed_over_when_the_loop_turns() -> None:
    """`chunk` itself calls nobody, so an observer cannot delay whoever hands out."""
    watcher = Watcher()
    copies = Copies([watcher], None)
    await asyncio.sleep(0)
    copies.chunk(b"a")
    assert watcher.seen == []
    copies.chunk(b"b")
    copies.end()
    await asyncio.sleep(0)
    assert watcher.seen == [b"a", b"b", None]


async def test_without_observers_there_is_nothing_to_do() -> None:
    """No task, no queue."""
    tasks = len(asyncio.all_tasks())
    copies = Copies([], None)
    copies.chunk(b"a")
    copies.end()
    assert len(asyncio.all_tasks()) == tasks
