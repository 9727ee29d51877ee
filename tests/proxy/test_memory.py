"""A memory with a bound: what stays, what goes, and that threads do not spoil it."""

from concurrent.futures import ThreadPoolExecutor

from proxy.memory import Memory


def test_what_was_used_least_goes_first() -> None:
    """Reading counts as use; the bound is on the sum of the costs."""
    memory: Memory[str, int] = Memory(20)
    memory.put("a", 1, 10)
    memory.put("b", 2, 10)
    assert memory.get("a") == 1
    memory.put("c", 3, 5)
    assert (memory.get("a"), memory.get("b"), memory.get("c")) == (1, None, 3)
    assert (len(memory), memory.used) == (2, 15)


def test_the_first_under_a_key_stays_and_what_is_too_big_never_comes() -> None:
    """A second value under a key changes nothing, and neither does one beyond the bound."""
    memory: Memory[str, int] = Memory(20)
    memory.put("a", 1, 10)
    memory.put("a", 2, 3)
    memory.put("big", 3, 21)
    assert (memory.get("a"), memory.get("big"), memory.used) == (1, None, 10)


def test_a_value_may_be_renewed() -> None:
    """The new one stands in the place of the old one, with its own cost, also when it is too big:
    then nothing stands there."""
    memory: Memory[str, int] = Memory(20)
    memory.renew("a", 1, 10)
    memory.renew("a", 2, 4)
    assert (memory.get("a"), memory.used) == (2, 4)
    memory.renew("a", 3, 21)
    assert (memory.get("a"), memory.used, len(memory)) == (None, 0, 0)


def test_threads_keep_the_bound() -> None:
    """After many of them the costs add up to what is kept."""
    memory: Memory[int, int] = Memory(50)

    def use(start: int) -> None:
        for number in range(start, start + 400):
            memory.put(number % 97, number, 1 + number % 7)
            memory.get((number * 31) % 97)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(use, range(0, 400, 50)))
    assert 0 < memory.used <= 50
    assert memory.used == sum(cost for _, cost in memory._kept.values())
