"""Work that the server awaits right away is no task of its own."""

import asyncio
import sys

import pytest

from proxy.at_once import at_once


async def work() -> object:
    return asyncio.current_task()


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="aiohttp begins handlers itself there")
async def test_what_is_awaited_runs_in_the_task_that_awaits_it() -> None:
    """And nothing waits for a turn of the loop."""
    turned: list[bool] = []
    loop = at_once(asyncio.get_running_loop())
    loop.call_soon(turned.append, True)
    assert await loop.create_task(work()) is asyncio.current_task()
    assert turned == []


async def test_all_else_is_the_loop() -> None:
    """Its clock, futures and timers, and what is asked for rarely."""
    real = asyncio.get_running_loop()
    loop = at_once(real)
    future = loop.create_future()
    loop.call_at(loop.time(), future.set_result, 1)
    assert await future == 1
    assert future.get_loop() is real
    assert loop.is_running()
