"""Pages are written soon, what follows is told, and a state that is down loses nothing."""

import asyncio
import io
import json
from collections.abc import Iterator

import pytest

from proxy import logs
from proxy.recorder import Recorder, Row, Whose
from proxy.state.base import StateError
from proxy.state.book import Page, Seen, Written
from proxy.state.memory import MemoryStore

WHOSE = Whose("laptop", "abcdefabcdef", tainted=True)


class Shaky(MemoryStore):
    """A store that can be down."""

    down = False
    pages = 0

    async def record(self, page: Page) -> Written:
        if self.down:
            raise StateError("down")
        self.pages += 1
        return await super().record(page)


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    logs.set_up(stream, json=True)
    return stream


def lines(log: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


async def until(true: object) -> None:
    async with asyncio.timeout(5):
        while not await true():  # type: ignore[operator]
            await asyncio.sleep(0.005)


async def test_what_is_counted_is_written_soon_and_together() -> None:
    """One page for much, without anybody asking for it."""
    store = Shaky()
    recorder = Recorder(store, interval=0.01)
    recorder.start()
    for _ in range(100):
        recorder.count("frames")

    async def there() -> bool:
        return dict(await store.counters()) == {"frames": 100}

    await until(there)
    assert store.pages == 1
    await recorder.close()


async def test_the_end_of_a_node_writes_what_waits() -> None:
    """Closing, at once after the last thing that happened."""
    store = Shaky()
    recorder = Recorder(store, interval=60)
    recorder.start()
    recorder.open().session(Seen("s", requests=1))
    await recorder.close()
    await recorder.close()
    assert len(await store.sessions()) == 1


async def test_a_state_that_is_down_is_told_once_and_nothing_is_lost(log: io.StringIO) -> None:
    """Counters and events wait; requests go on; when it is back all of it is written."""
    store = Shaky()
    store.down = True
    recorder = Recorder(store, interval=0.001)
    recorder.start()
    recorder.count("frames")
    recorder.happened("marker-leak", b"d", WHOSE, {})
    assert not await recorder.flush()
    assert not await recorder.flush()
    assert [line["problem"] for line in lines(log)] == ["events-not-recorded"]
    store.down = False

    async def there() -> bool:
        return "marker-leak" in await store.counters()

    await until(there)
    assert (await store.counters())["frames"] == 1
    await recorder.close()


async def test_a_new_event_is_counted_told_and_logged_and_an_old_one_is_not(
    log: io.StringIO,
) -> None:
    """Its counter, its notice, one line in the log."""
    store = Shaky()
    recorder = Recorder(store)
    for _ in range(3):
        recorder.happened("marker-leak", b"d", WHOSE, {})
        await recorder.flush()
    assert dict(await store.counters()) == {"marker-leak": 1}
    (notice,) = await store.notices()
    assert (notice.code, notice.client, notice.times) == ("marker-leak", "laptop", 1)
    (line,) = lines(log)
    assert (line["event"], line["level"], line["notice"]) == ("notice", "warning", "marker-leak")
    assert (line["client"], line["session"]) == ("laptop", "abcdefabcdef")


async def test_a_kind_that_is_in_no_table_is_counted_and_told_to_nobody(log: io.StringIO) -> None:
    """A later part may count what it likes."""
    store = Shaky()
    recorder = Recorder(store)
    recorder.happened("something-new", b"d", WHOSE, {})
    await recorder.flush()
    assert dict(await store.counters()) == {"something-new": 1}
    assert (await store.notices(), lines(log)) == ((), [])


async def test_three_long_turns_of_a_session_are_told(log: io.StringIO) -> None:
    """At the third different turn, not at the third request of one."""
    store = Shaky()
    recorder = Recorder(store)

    async def reached(turn: bytes) -> set[str]:
        recorder.happened("turn-limit", turn, WHOSE, {})
        await recorder.flush()
        return {row.code for row in await store.notices()}

    for turn in (b"1", b"1", b"1", b"2", b"2"):
        assert "turn-limit-repeated" not in await reached(turn)
    assert "turn-limit-repeated" in await reached(b"3")
    (row,) = [row for row in await store.notices() if row.code == "turn-limit-repeated"]
    assert dict(row.facts) == {"count": "3"}


async def test_a_kept_row_is_there_when_it_returns_and_counted_beside_afterwards() -> None:
    """The first time costs a transaction; a client that posts six times costs one more."""
    store = Shaky()
    recorder = Recorder(store)
    row = Row(b"d", '{"event": "blocked"}', "egress-blocked", {"kinds": "x"})
    assert [await recorder.keep(row, WHOSE) for _ in range(3)] == [1, 2, 3]
    assert store.pages == 1
    assert [kept.times for kept in await store.audit()] == [1]
    (notice,) = await store.notices()
    assert dict(notice.facts) == {"kinds": "x"}
    await recorder.flush()
    assert [kept.times for kept in await store.audit()] == [3]
    assert await recorder.keep(Row(b"e", "{}"), WHOSE) == 1
    assert len(await store.notices()) == 1


async def test_a_row_that_cannot_be_kept_says_so_and_is_new_the_next_time() -> None:
    """The caller judges; a failed try is none."""
    store = Shaky()
    store.down = True
    recorder = Recorder(store)
    with pytest.raises(StateError):
        await recorder.keep(Row(b"d", "{}"), WHOSE)
    store.down = False
    assert await recorder.keep(Row(b"d", "{}"), WHOSE) == 1
    assert [row.times for row in await store.audit()] == [1]


async def test_a_row_that_nobody_waits_for_is_written_soon() -> None:
    """With its notice, once."""
    store = Shaky()
    recorder = Recorder(store)
    row = Row(b"d", "{}", "client-unknown")
    assert [recorder.note(row, WHOSE) for _ in range(2)] == [1, 2]
    assert await store.audit() == ()
    await recorder.flush()
    assert [kept.times for kept in await store.audit()] == [2]
    assert [kept.code for kept in await store.notices()] == ["client-unknown"]
