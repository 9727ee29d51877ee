"""Long work runs in a thread, short work at once; neither hides what it raises."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from proxy.apart import KNOWN, LARGE, THREADS, Apart, effort


@pytest.fixture
async def apart() -> AsyncIterator[Apart]:
    made = Apart()
    yield made
    made.close()


@pytest.mark.parametrize(("size", "aside"), [(0, False), (LARGE, False), (LARGE + 1, True)])
async def test_only_what_is_large_goes_to_a_thread(apart: Apart, size: int, aside: bool) -> None:
    """Up to the bound there is no change of threads, beyond it the loop is free."""
    where = await apart.run(size, threading.current_thread)
    assert (where is not threading.current_thread()) == aside


@pytest.mark.parametrize(("size", "known", "takes"), [(9, 0, 9), (9, 8, 3), (8, 8, 2), (0, 0, 0)])
def test_what_was_read_before_takes_less(size: int, known: int, takes: int) -> None:
    """Each known byte a part of a new one, so that a body that is all history has a bound, too."""
    assert KNOWN == 4
    assert effort(size, known) == takes


async def test_arguments_and_results_pass(apart: Apart) -> None:
    """The work gets what it was called with, and its result comes back."""
    assert await apart.run(LARGE + 1, int, "11", base=2) == 3
    assert await apart.always(int, "12") == 12


@pytest.mark.parametrize("size", [0, LARGE + 1])
async def test_what_the_work_raises_arrives(apart: Apart, size: int) -> None:
    """A refusal from a thread is the same refusal."""
    with pytest.raises(ValueError, match="invalid literal"):
        await apart.run(size, int, "no number")


async def test_no_more_threads_than_said(apart: Apart) -> None:
    """Many large bodies at once wait for each other, and the loop does not wait for them."""
    free, running, most = threading.Event(), 0, 0
    lock = threading.Lock()

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        assert free.wait(10)
        with lock:
            running -= 1

    tasks = [asyncio.create_task(apart.always(work)) for _ in range(3 * THREADS)]
    await asyncio.sleep(0.05)
    free.set()
    await asyncio.gather(*tasks)
    assert most == THREADS


async def test_closing_begins_nothing_more(apart: Apart) -> None:
    """After the end of a node no work of it starts."""
    apart.close()
    with pytest.raises(RuntimeError):
        await apart.always(int)
