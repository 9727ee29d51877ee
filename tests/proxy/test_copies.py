"""Copies reach their observers without holding anything up."""

import asyncio

from proxy.copies import ENOUGH, Copies


class Watcher:
    def __init__(self, *, prompt: bool = False) -> None:
        self.prompt = prompt
        self.seen: list[bytes | None] = []

    def chunk(self, data: bytes) -> None:
        self.seen.append(data)

    def end(self) -> None:
        self.seen.append(None)


async def test_copies_are_handed_over_when_there_is_enough_and_at_the_end() -> None:
    """In as few calls as that takes, and when the loop turns: `chunk` itself calls nobody, so an
    observer cannot delay whoever hands out."""
    watcher = Watcher()
    copies = Copies([watcher], None)
    for data in (b"a", b"b"):
        copies.chunk(data)
        await asyncio.sleep(0)
    assert watcher.seen == []
    copies.chunk(b"c" * ENOUGH)
    assert watcher.seen == []
    copies.chunk(b"d")
    copies.end()
    assert watcher.seen == []
    await asyncio.sleep(0)
    assert watcher.seen == [b"ab" + b"c" * ENOUGH, b"d", None]


async def test_who_needs_it_at_once_is_shown_every_piece() -> None:
    """When the loop turns, and the others no sooner for it."""
    prompt, patient = Watcher(prompt=True), Watcher()
    copies = Copies([patient, prompt], None)
    copies.chunk(b"a")
    assert prompt.seen == []
    await asyncio.sleep(0)
    assert (prompt.seen, patient.seen) == ([b"a"], [])
    copies.end()
    await asyncio.sleep(0)
    assert (prompt.seen, patient.seen) == ([b"a", None], [b"a", None])


async def test_without_observers_there_is_nothing_to_do() -> None:
    """No task, no queue."""
    tasks = len(asyncio.all_tasks())
    copies = Copies([], None)
    copies.chunk(b"a")
    copies.end()
    assert len(asyncio.all_tasks()) == tasks


class Failing(Watcher):
    def chunk(self, data: bytes) -> None:
        super().chunk(data)
        raise KeyError("a bug")


async def test_who_fails_is_told_of_once_and_shown_nothing_more() -> None:
    """The others see everything, and in order; nobody needs to be told."""
    bad, good, told = Failing(), Watcher(), list[object]()
    copies = Copies([bad, good], lambda who, error: told.append((who, type(error))))
    first, second = b"a" * ENOUGH, b"b" * ENOUGH
    for data in (first, second):
        copies.chunk(data)
        await asyncio.sleep(0)
    copies.end()
    await asyncio.sleep(0)
    assert (bad.seen, good.seen, told) == ([first], [first, second, None], [(bad, KeyError)])
    copies = Copies([Failing()], None)
    copies.chunk(first)
    await asyncio.sleep(0)
    copies.end()


async def test_observers_need_no_task() -> None:
    """A task for each would be woken by every event of every stream."""
    tasks = len(asyncio.all_tasks())
    copies = Copies([Watcher(), Watcher()], None)
    copies.chunk(b"a")
    assert len(asyncio.all_tasks()) == tasks
    copies.end()
    await asyncio.sleep(0)
