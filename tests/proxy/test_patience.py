"""A limit on one wait at a time."""

import asyncio
import gc
import weakref
from collections.abc import Callable

from proxy.patience import Patience, Waits


async def test_a_wait_that_lasts_too_long_is_told_once() -> None:
    """Not before its limit, however long ago the last one was, and never again."""
    lost: list[float] = []
    loop = asyncio.get_running_loop()
    patience = Patience(0.1, lambda: lost.append(loop.time()))
    patience.begin()
    patience.done()
    await asyncio.sleep(0.15)
    began = loop.time()
    patience.begin()
    await asyncio.sleep(0.3)
    assert len(lost) == 1
    assert 0.1 <= lost[0] - began < 0.2
    patience.stop()


async def test_many_short_waits_are_no_long_one() -> None:
    """Progress starts the clock anew."""
    lost: list[int] = []
    patience = Patience(0.1, lambda: lost.append(1))
    for _ in range(10):
        patience.begin()
        await asyncio.sleep(0.03)
        patience.done()
    patience.stop()
    assert lost == []


async def test_what_was_stopped_is_told_nothing() -> None:
    """Neither a wait under way nor one that never began."""
    lost: list[int] = []
    patience = Patience(0.05, lambda: lost.append(1))
    patience.begin()
    patience.stop()
    Patience(0.05, lambda: lost.append(2)).stop()
    await asyncio.sleep(0.1)
    assert lost == []


async def test_who_was_waited_for_is_let_go_at_once() -> None:
    """Without the collector, though each of the two holds the other: an answer that was given up
    has what it had read still with it."""

    class Reader:
        def __init__(self) -> None:
            self.patience = Patience(1.0, self.lost)

        def lost(self) -> None:
            """Never called."""

    gc.disable()
    try:
        reader = Reader()
        reader.patience.begin()
        reader.patience.stop()
        alive = weakref.ref(reader)
        del reader
        assert alive() is None
    finally:
        gc.enable()


async def test_waits_of_one_length_are_told_each_in_its_time() -> None:
    """One timer looks after all: those that ended are told nothing, each of the others once, not
    before its limit and not much later."""
    loop = asyncio.get_running_loop()
    waits = Waits(0.1, loop)
    lost: dict[int, float] = {}
    began: dict[int, float] = {}

    def begin(number: int) -> Callable[[], None]:
        def told() -> None:
            assert number not in lost
            lost[number] = loop.time()

        began[number] = loop.time()
        waits.begin(told)
        return told

    for number in range(6):
        told = begin(number)
        if number % 2:
            waits.end(told)
        await asyncio.sleep(0.03)
    await asyncio.sleep(0.15)
    assert list(lost) == [0, 2, 4]
    assert all(0.1 <= lost[number] - began[number] < 0.15 for number in lost)
    waits.end(begin(6))
    begin(7)
    await asyncio.sleep(0.25)
    assert list(lost) == [0, 2, 4, 7]


async def test_a_wait_that_another_ends_is_told_nothing() -> None:
    """Also where both are due at once."""
    waits = Waits(0.02, asyncio.get_running_loop())
    lost: list[str] = []

    def second() -> None:
        lost.append("second")

    def first() -> None:
        lost.append("first")
        waits.end(second)

    waits.begin(first)
    waits.begin(second)
    await asyncio.sleep(0.06)
    assert lost == ["first"]
