"""The owner's book and the rates: what every store must do, whatever it is made of."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from proxy.state import StateError, Store
from proxy.state import book as book_module
from proxy.state.book import Audited, Happened, Page, Raised, Seen
from tests.contract.standing import NOW, Clock

DAY = 86_400.0


def event(number: int, **more: object) -> Happened:
    return Happened(number.to_bytes(32, "big"), "tool-refused", "s", "c", **more)  # type: ignore[arg-type]


async def test_a_bucket_is_full_at_first_and_gives_what_it_holds(store: Store) -> None:
    """Three of three, then none; the wait is until one has been refilled. Buckets are apart."""
    assert [(await store.take("a", NOW, 3, 0.5)).ok for _ in range(4)] == [True] * 3 + [False]
    refused = await store.take("a", NOW, 3, 0.5)
    assert (refused.ok, refused.left, refused.wait) == (False, 0, 2)
    assert (await store.take("b", NOW, 3, 0.5)).left == 2


async def test_a_bucket_is_refilled_by_time_up_to_its_rim(store: Store) -> None:
    """Half a token in a second, never more than it holds, and never by waiting before."""
    for _ in range(3):
        await store.take("a", NOW, 3, 0.5)
    assert not (await store.take("a", NOW + 1.9, 3, 0.5)).ok
    assert (await store.take("a", NOW + 2, 3, 0.5)).ok
    assert not (await store.take("a", NOW + 2, 3, 0.5)).ok
    assert (await store.take("a", NOW + 10_000, 3, 0.5)).left == 2


async def test_refused_takes_cost_nothing(store: Store) -> None:
    """Who knocks all the time waits no longer than who does not."""
    await store.take("a", NOW, 1, 1)
    for step in range(9):
        assert not (await store.take("a", NOW + step / 10, 1, 1)).ok
    assert (await store.take("a", NOW + 1, 1, 1)).ok


async def test_several_tokens_are_taken_all_or_none(store: Store) -> None:
    """A part is never given."""
    assert (await store.take("a", NOW, 10, 1, 8)).left == 2
    refused = await store.take("a", NOW, 10, 1, 8)
    assert (refused.ok, refused.left, refused.wait) == (False, 2, 6)
    assert (await store.take("a", NOW, 10, 1, 2)).ok


async def test_a_clock_that_is_set_back_gives_nothing_and_takes_nothing(store: Store) -> None:
    """What was taken stays taken; from then on the new clock counts. A few hundred milliseconds
    between two processes are no setting back, and refill nothing twice."""
    for _ in range(2):
        await store.take("a", NOW, 2, 1)
    assert not (await store.take("a", NOW - 0.5, 2, 1)).ok
    assert not (await store.take("a", NOW + 0.4, 2, 1)).ok
    assert not (await store.take("a", NOW - DAY, 2, 1)).ok
    assert (await store.take("a", NOW - DAY + 1, 2, 1)).ok


async def test_a_bucket_that_was_made_smaller_holds_no_more(store: Store) -> None:
    """A reload that lowers a limit holds from the next request on; none at all waits for ever."""
    await store.take("a", NOW, 100, 1)
    assert (await store.take("a", NOW, 5, 1)).left == 4
    await store.take("n", NOW, 1, 0)
    assert (await store.take("n", NOW, 1, 0)).wait == float("inf")


async def test_a_hundred_at_once_get_exactly_what_there_is(store: Store) -> None:
    """Nobody is counted twice, and nobody slips through."""
    answers = await asyncio.gather(*(store.take("a", NOW, 37, 0.5) for _ in range(100)))
    assert sum(answer.ok for answer in answers) == 37


def test_two_processes_share_a_bucket_exactly(tmp_path: Path) -> None:
    """A hundred takes in each of two processes, at the same moment: as many as there are."""
    script = (
        "import asyncio, sys\n"
        "from proxy.state import open_store\n"
        "async def main():\n"
        "    store = open_store(sys.argv[1])\n"
        "    print(flush=True)\n"
        "    sys.stdin.readline()\n"
        "    ok = 0\n"
        "    for _ in range(50):\n"
        "        two = (store.take('a', 1000.0, 70, 0.5) for _ in range(2))\n"
        "        both = await asyncio.gather(*two)\n"
        "        ok += sum(one.ok for one in both)\n"
        "        await asyncio.sleep(0.001)\n"
        "    print(ok)\n"
        "    await store.close()\n"
        "asyncio.run(main())\n"
    )
    url = f"sqlite://{tmp_path}/state/transom.db"
    both = [
        subprocess.Popen(
            [sys.executable, "-c", script, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(2)
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
    assert sum(counts) == 70
    assert all(counts), "only one of them has played"


async def test_an_event_is_recorded_once_and_counted_again(store: Store, clock: Clock) -> None:
    """The same digest raises `times`; what else it says is what was said first."""
    first = await store.record(Page(events=(event(1, facts={"tool": "mail"}),)))
    assert first.events[0].fresh
    clock.now += 5
    again = await store.record(Page(events=(event(1, times=3, facts={"tool": "x"}),)))
    assert not again.events[0].fresh
    (row,) = await store.events()
    assert (row.kind, row.session, row.client, row.times) == ("tool-refused", "s", "c", 4)
    assert (row.first, row.last, dict(row.facts)) == (NOW, NOW + 5, {"tool": "mail"})


async def test_an_event_knows_how_many_others_there_were_lately(store: Store, clock: Clock) -> None:
    """Different ones of the kind and session, within the time asked for; repeats do not count."""
    await store.record(Page(events=(event(1),)))
    clock.now += 300
    await store.record(Page(events=(event(2, tainted=True), event(2))))
    other = Happened(b"o", "tool-refused", "other")
    third = Happened(b"t", "third", "s")
    (two, *_) = (await store.record(Page(events=(event(3, within=600), other, third)))).events
    assert (two.fresh, two.recent, two.tainted) == (True, 3, 1)
    clock.now += 301
    (late,) = (await store.record(Page(events=(event(4, within=600),)))).events
    assert (late.recent, late.tainted) == (3, 1)
    (ever,) = (await store.record(Page(events=(event(5),)))).events
    assert (ever.recent, ever.tainted) == (5, 1)


async def test_taint_that_comes_later_is_kept(store: Store) -> None:
    """An event that was clean at first and is seen again with third-party text counts as such."""
    await store.record(Page(events=(event(1),)))
    (again,) = (await store.record(Page(events=(event(1, tainted=True),)))).events
    assert again.tainted == 1
    assert (await store.events())[0].tainted


async def test_the_audit_is_appended_and_never_changed(store: Store, clock: Clock) -> None:
    """Numbers count up; a row that comes again keeps its words and raises `times`."""
    assert (await store.record(Page(audit=(Audited(b"a", "one"), Audited(b"b", "two"))))).audit == (
        True,
        True,
    )
    clock.now += 5
    assert (await store.record(Page(audit=(Audited(b"a", "changed", 2),)))).audit == (False,)
    one, two = await store.audit()
    assert (one.id, one.value, one.times, one.at, one.last) == (1, "one", 3, NOW, NOW + 5)
    assert (two.id, two.value, two.times) == (2, "two", 1)
    assert [row.id for row in await store.audit(after=1)] == [2]
    assert [row.id for row in await store.audit(since=NOW + 1)] == [1]
    assert [row.id for row in await store.audit(limit=1)] == [2]


async def test_a_row_raises_its_counters_when_it_is_new(store: Store) -> None:
    """Whoever has written it first, and however often it is met again."""
    row = Audited(b"a", "one", 2, ("egress-blocked", "diverted"))
    for _ in range(2):
        await store.record(Page(audit=(row,), counts={"diverted": 1}))
    await store.record(Page(audit=(Audited(b"b", "two", counts=("egress-blocked",)),)))
    assert dict(await store.counters()) == {"diverted": 3, "egress-blocked": 2}


async def test_a_notice_is_latched_and_stays_until_it_is_acknowledged(
    store: Store, clock: Clock
) -> None:
    """One per code and session within an hour, acknowledged or not; then a new one."""
    raised = Raised("rate-soft", "s", "c", {"rate": "300"})
    told = await store.record(Page(notices=(raised, raised, Raised("rate-soft", "other"))))
    assert told.notices == (True, False, True)
    first, other = await store.notices()
    assert (first.id, first.code, first.session, first.client) == (1, "rate-soft", "s", "c")
    assert (first.times, first.acked, dict(first.facts)) == (2, False, {"rate": "300"})
    assert await store.ack(first.id)
    assert not await store.ack(first.id)
    assert not await store.ack(99)
    assert [row.id for row in await store.notices()] == [other.id]
    assert [row.acked for row in await store.notices(acked=True)] == [True, False]
    clock.now += 3599
    assert (await store.record(Page(notices=(raised,)))).notices == (False,)
    clock.now += 2
    assert (await store.record(Page(notices=(raised,)))).notices == (True,)
    assert [row.times for row in await store.notices(acked=True)] == [3, 1, 1]


async def test_counters_add_up(store: Store) -> None:
    """Each by its name; what never happened is not there."""
    assert dict(await store.counters()) == {}
    await store.record(Page(counts={"frames": 3, "adopted": 1}))
    await store.record(Page(counts={"frames": 2}))
    assert dict(await store.counters()) == {"adopted": 1, "frames": 5}


async def test_sessions_are_summed_up(store: Store, clock: Clock) -> None:
    """Requests are added, rounds are the most there were, taint stays; the newest is last."""
    await store.record(Page(sessions=(Seen("a", "c", 2, 7, True), Seen("b", "", 1))))
    clock.now += 9
    await store.record(Page(sessions=(Seen("a", "c", 1, 3),)))
    b, a = await store.sessions()
    assert (a.session, a.client, a.requests, a.rounds, a.tainted) == ("a", "c", 3, 7, True)
    assert (a.first, a.last) == (NOW, NOW + 9)
    assert (b.session, b.requests, b.tainted) == ("b", 1, False)
    assert [row.session for row in await store.sessions(1)] == ["a"]


async def test_what_is_old_is_forgotten_but_for_notices_that_nobody_has_seen(
    store: Store, clock: Clock
) -> None:
    """Events, audit, sessions, buckets and acknowledged notices go; an open notice stays."""
    raised = (Raised("one"), Raised("two"))
    await store.record(
        Page((event(1),), (Audited(b"a", "x"),), raised, {"frames": 1}, (Seen("s"),))
    )
    await store.take("a", NOW, 1, 0)
    await store.ack(1)
    clock.now += 2 * DAY
    assert await store.expire(DAY) == 5
    assert await store.expire(DAY) == 0
    assert (await store.events(), await store.audit(), await store.sessions()) == ((), (), ())
    assert [row.code for row in await store.notices(acked=True)] == ["two"]
    assert dict(await store.counters()) == {"frames": 1}
    assert (await store.take("a", clock.now, 1, 0)).ok


async def test_a_table_holds_a_bounded_number(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond it the oldest go with the next sweep, open notices too: a disk is no bucket."""
    from proxy.state import book_rows, memory_book

    few = {"events": 3, "audit": 4, "notices": 5, "sessions": 6}
    for table, most in few.items():
        monkeypatch.setattr(memory_book, f"MOST_{table.upper()}", most)
        key, _, may = book_rows._KEPT[table]
        monkeypatch.setitem(book_rows._KEPT, table, (key, most, may))
    assert book_module.MOST_AUDIT > 1000
    for number in range(10):
        clock.now += 1
        page = Page(
            (event(number),),
            (Audited(bytes([number]), str(number)),),
            (Raised("one", str(number)),),
            {},
            (Seen(str(number)),),
        )
        await store.record(page)
    while await store.expire(DAY):
        pass
    assert [row.first for row in await store.events()] == [NOW + n for n in (8, 9, 10)]
    assert [row.value for row in await store.audit()] == ["6", "7", "8", "9"]
    assert [row.session for row in await store.notices()] == ["5", "6", "7", "8", "9"]
    assert [row.session for row in await store.sessions()] == ["4", "5", "6", "7", "8", "9"]


async def test_a_closed_store_says_so(store: Store) -> None:
    """After closing, everything is a typed error."""
    await store.close()
    for asked in (
        store.take("a", NOW, 1, 1),
        store.record(Page(counts={"a": 1})),
        store.events(),
        store.notices(),
        store.counters(),
        store.audit(),
        store.sessions(),
        store.ack(1),
    ):
        with pytest.raises(StateError, match="closed"):
            await asked


def test_a_page_with_nothing_on_it_is_none() -> None:
    """Whoever has nothing to write does not ask the disk."""
    assert not Page()
    assert Page(counts={"a": 1})
    assert Page(sessions=(Seen("s"),))
