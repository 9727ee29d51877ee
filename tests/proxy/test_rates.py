"""Rates of a session: soft, hard, re-posts, tokens held in advance, and the store behind."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from policies.conversation import Conversation, Message, Origin
from proxy.config.kinds import Rate
from proxy.rates import REPOSTS, Bounds, Pace, Rates, said
from proxy.state import StateError
from proxy.state.book import Taken
from proxy.state.memory import MemoryStore

TEN = 600.0


class Watched(MemoryStore):
    """Counts what is asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []

    async def take(
        self, key: str, now: float, capacity: float, refill: float, count: int = 1
    ) -> Taken:
        self.asked.append(count)
        await asyncio.sleep(0)
        return await super().take(key, now, capacity, refill, count)


class Clock:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


def conversation(*words: str) -> Conversation:
    messages = tuple(
        Message(index, ("messages", index), "user", Origin.OPERATOR, word.encode())
        for index, word in enumerate(words)
    )
    return Conversation("d", "m", False, messages, (), 0, (), (), ())


def bounds(soft: int, hard: int) -> Bounds:
    return Bounds(Rate(soft, TEN), Rate(hard, TEN))


async def many(
    rates: Rates, count: int, limits: Bounds, name: Callable[[int], str] = str
) -> list[Pace]:
    return [await rates.take("s", conversation(name(n)), limits) for n in range(count)]


async def test_beyond_the_soft_rate_it_is_fast_and_beyond_the_hard_one_it_waits() -> None:
    """Two of five are quiet, three are fast, the sixth waits until the bucket has one again."""
    rates = Rates(MemoryStore(), clock=Clock())
    paces = await many(rates, 6, bounds(2, 5))
    assert [pace.fast for pace in paces] == [False] * 2 + [True] * 3 + [False]
    assert [pace.wait for pace in paces] == [0] * 5 + [pytest.approx(TEN / 5)]


async def test_sessions_are_apart() -> None:
    """One that is at its end disturbs no other."""
    rates = Rates(MemoryStore(), clock=Clock())
    await many(rates, 3, bounds(1, 1))
    assert await rates.take("other", conversation("x"), bounds(1, 1)) == Pace()


async def test_a_repost_takes_nothing_and_not_for_ever() -> None:
    """The same messages again are not counted, some thirty times; then they are."""
    rates = Rates(MemoryStore(), clock=Clock())
    same = await many(rates, 1 + REPOSTS, bounds(2, 2), name=lambda n: "same")
    assert [pace.again for pace in same] == [False] + [True] * REPOSTS
    counted = await many(rates, 2, bounds(2, 2), name=lambda n: "same")
    assert [pace.again for pace in counted] == [False, True]
    assert (await rates.take("s", conversation("new"), bounds(2, 2))).wait


async def test_what_was_refused_does_not_come_in_as_a_repost() -> None:
    """A client that waits and tries again is counted like any."""
    clock = Clock()
    rates = Rates(MemoryStore(), clock=clock)
    await many(rates, 1, bounds(1, 1))
    for _ in range(3):
        assert (await rates.take("s", conversation("later"), bounds(1, 1))).wait
    clock.now += TEN
    assert await rates.take("s", conversation("later"), bounds(1, 1)) == Pace()
    assert (await rates.take("s", conversation("later"), bounds(1, 1))).again


async def test_a_hundred_at_once_get_exactly_what_there_is() -> None:
    """Nobody slips through while the store is asked, and nothing is lost, also in advance."""
    for limit in (37, 64, 90):
        rates = Rates(Watched(), clock=Clock())
        asked = (rates.take("s", conversation(str(n)), bounds(limit, limit)) for n in range(100))
        paces = await asyncio.gather(*asked)
        assert sum(not pace.wait for pace in paces) == limit


async def test_the_limit_is_exact_for_a_long_run() -> None:
    """1200 and not one more, though most were taken in advance: few transactions."""
    store = Watched()
    rates = Rates(store, clock=Clock())
    paces = await many(rates, 1300, bounds(1200, 1200))
    assert sum(not pace.wait for pace in paces) == 1200
    spent = store.asked[: store.asked.index(1, 2)]
    assert max(store.asked) == 1200 // 32
    assert len(spent) < 50, "it was asked for every one"


async def test_what_others_have_left_is_taken_one_by_one() -> None:
    """A node that believes in a full bucket asks for many and gets what there is, and no more."""
    store, limits = MemoryStore(), bounds(64, 64)
    one, other = Rates(store, clock=Clock()), Rates(store, clock=Clock())
    await many(one, 1, limits)
    assert not any(pace.wait for pace in await many(other, 62, limits, name=lambda n: f"o {n}"))
    paces = await many(one, 3, limits, name=lambda n: f"again {n}")
    assert [bool(pace.wait) for pace in paces] == [False, True, True]


async def test_tokens_held_in_advance_are_given_up_when_the_bucket_has_regained_them() -> None:
    """Nobody gathers tokens beside a full bucket."""
    clock = Clock()
    rates = Rates(MemoryStore(), clock=clock)
    limits = bounds(1200, 1200)
    await many(rates, 3, limits)
    clock.now += TEN
    paces = await many(rates, 1300, limits, name=lambda n: f"later {n}")
    assert sum(not pace.wait for pace in paces) == 1200


async def test_a_store_that_fails_is_the_callers_to_judge() -> None:
    """A typed error, and the request counts anew when it comes again."""
    store = MemoryStore()
    rates = Rates(store, clock=Clock())
    await store.close()
    for _ in range(2):
        with pytest.raises(StateError):
            await rates.take("s", conversation("x"), bounds(1, 1))


def test_what_a_client_drops_between_reposts_does_not_count() -> None:
    """Only messages, or the plain text in their place, make a request the same."""
    one = conversation("a", "b")
    assert said(one) == said(conversation("a", "b"))
    assert said(one) != said(conversation("a"))
    prompt = Conversation("d", "m", False, (), (), 0, (), (), (), prompt=(b"a" * 32,))
    assert said(prompt) != said(conversation())


def test_two_processes_share_a_rate_exactly(tmp_path: Path) -> None:
    """Each wants more than half of what there is, most of it in advance; together they get it."""
    script = (
        "import asyncio, sys\n"
        "from policies.conversation import Conversation, Message, Origin\n"
        "from proxy.config.kinds import Rate\n"
        "from proxy.rates import Bounds, Rates\n"
        "from proxy.state import open_store\n"
        "def talk(n):\n"
        "    words = (Message(0, (), 'user', Origin.OPERATOR, str(n).encode()),)\n"
        "    return Conversation('d', 'm', False, words, (), 0, (), (), ())\n"
        "async def main():\n"
        "    store = open_store(sys.argv[1])\n"
        "    rates = Rates(store, clock=lambda: 1000.0)\n"
        "    limits = Bounds(Rate(400, 600.0), Rate(400, 600.0))\n"
        "    print(flush=True)\n"
        "    sys.stdin.readline()\n"
        "    ok = 0\n"
        "    for n in range(400):\n"
        "        ok += not (await rates.take('s', talk(n), limits)).wait\n"
        "        await asyncio.sleep(0.001)\n"
        "    print(ok)\n"
        "    await store.close()\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", script, f"sqlite://{tmp_path}/state/transom.db"]
    both = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)
    ]
    with both[0], both[1]:
        for each in both:
            assert each.stdout
            each.stdout.readline()
        for each in both:
            assert each.stdin
            each.stdin.write(b"\n")
            each.stdin.flush()
        counts = [int(each.communicate()[0]) for each in both]
    assert sum(counts) == 400
    assert all(counts), "only one of them has played"
