"""One slow iterator, awaited by several in turn: nothing is lost, nothing goes on unseen."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from proxy.coming import Coming
from proxy.errors import Refused


async def items(*given: int | float | Exception) -> AsyncIterator[int]:
    for step in given:
        match step:
            case int():
                yield step
            case Exception():
                raise step
            case _:
                await asyncio.sleep(step)


async def test_items_come_in_order_then_none() -> None:
    """With and without a wait before."""
    coming = Coming(items(1, 2))
    assert await coming.item() == 1
    assert await coming.within(1)
    assert await coming.item() == 2
    assert await coming.item() is None


async def test_who_waits_too_short_loses_nothing() -> None:
    """The item is there for whoever comes next."""
    coming = Coming(items(0.05, 7))
    assert not await coming.within(0.001)
    assert not await coming.within(0.001)
    assert await coming.item() == 7


async def test_what_is_raised_comes_as_an_item() -> None:
    """`within` says that something is there; `item` raises it."""
    coming = Coming(items(Refused("body-invalid")))
    assert await coming.within(1)
    with pytest.raises(Refused):
        await coming.item()


async def test_dropped_and_given_up_wait_no_longer() -> None:
    """The task is cancelled; what it raised meanwhile is nobody's concern."""
    for end in ("drop", "give_up"):
        for coming in (Coming(items(60.0)), Coming(items(Refused("body-invalid")))):
            task = coming.task()
            await asyncio.sleep(0)
            await (coming.give_up() if end == "give_up" else _dropped(coming))
            await asyncio.wait({task}, timeout=1)
            assert task.done()
    Coming(items()).drop()
    await Coming(items()).give_up()


async def _dropped(coming: Coming[int]) -> None:
    coming.drop()
