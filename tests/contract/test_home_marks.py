"""Marks of what stays at home: what every store must do, whatever it is made of."""

from pathlib import Path

import pytest

from proxy.state import StateError, Store, open_store
from proxy.state.memory import MemoryStore
from tests.contract.standing import Clock

DAY = 86_400.0
ONE, TWO, THREE = (bytes([number]) * 32 for number in (1, 2, 3))


async def test_what_was_marked_is_found_and_nothing_else(store: Store) -> None:
    """Marks are found whoever asks."""
    assert await store.marked([ONE, TWO]) == frozenset()
    assert not await store.marks()
    await store.mark([ONE, TWO], "s")
    assert await store.marks()
    assert await store.marked([ONE, THREE]) == {ONE}
    assert await store.marked([]) == frozenset()


async def test_many_are_asked_about_at_once(store: Store) -> None:
    """More than one statement of SQLite can take."""
    many = [number.to_bytes(32, "big") for number in range(2_500)]
    await store.mark(many[::2], "s")
    assert await store.marked(many) == set(many[::2])


async def test_a_release_takes_the_marks_of_one_session(store: Store) -> None:
    """A mark of two sessions holds until both are released."""
    await store.mark([ONE, TWO], "s")
    await store.mark([ONE], "t")
    assert await store.release("s") == 2
    assert await store.marked([ONE, TWO]) == {ONE}
    assert (await store.release("s"), await store.release("t")) == (0, 1)
    assert await store.marked([ONE, TWO]) == frozenset()


async def test_marks_expire_unless_they_are_found(store: Store, clock: Clock) -> None:
    """Found counts as seen; what was not found for so long goes."""
    await store.mark([ONE, TWO], "s")
    clock.now += 30 * DAY
    assert await store.marked([ONE]) == {ONE}
    await store.release("nobody")  # behind the refreshing, which nobody waits for
    clock.now += 20 * DAY
    assert await store.expire(45 * DAY) == 1
    assert await store.marked([ONE, TWO]) == {ONE}


async def test_a_closed_store_says_so(store: Store) -> None:
    """Marks that cannot be read are an error, never none."""
    await store.close()
    with pytest.raises(StateError):
        await store.marked([ONE])
    with pytest.raises(StateError):
        await store.mark([ONE], "s")


async def test_memory_that_is_full_says_so_and_forgets_nothing() -> None:
    """A mark that went for another would let out what it marks."""
    store = MemoryStore(most=2)
    await store.mark([ONE, TWO], "s")
    with pytest.raises(StateError):
        await store.mark([THREE], "s")
    assert await store.marked([ONE, TWO, THREE]) == {ONE, TWO}


async def test_marks_outlive_the_process(tmp_path: Path) -> None:
    """What was marked before a restart is found behind it."""
    url = f"sqlite://{tmp_path}/transom.db"
    first = open_store(url)
    await first.mark([ONE], "s")
    await first.close()
    second = open_store(url)
    assert await second.marked([ONE, TWO]) == {ONE}
    await second.close()
