"""Small writes on the event loop: at once or not at all, and as safe as those in the thread."""

import asyncio
import contextlib
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import pytest

from policies.decision import FrameRow
from proxy.state import sqlite as sqlite_module
from proxy.state.base import StateError
from proxy.state.book import Audited, Page, Raised
from proxy.state.inline import REST, SLOW, Inline
from proxy.state.sqlite import FEW, PUT_BACK, ROWS, SqliteStore

ROW = FrameRow("ab" * 16, "read", intro=True)
OTHER = FrameRow("cd" * 16, "read", intro=False)


def digest(number: int) -> bytes:
    return number.to_bytes(32, "big")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "transom.db"


@pytest.fixture
def table(tmp_path: Path) -> Callable[[], sqlite3.Connection]:
    """Makes connections to a file with one table."""

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(tmp_path / "t.db", isolation_level=None, timeout=0)

    with contextlib.closing(connect()) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x)")
    return connect


def insert(connection: sqlite3.Connection) -> int:
    return connection.execute("INSERT INTO t VALUES (1)").rowcount


def count(connect: Callable[[], sqlite3.Connection]) -> int:
    with contextlib.closing(connect()) as connection:
        found: int = connection.execute("SELECT count(*) FROM t").fetchone()[0]
    return found


class Ticking:
    """A clock that moves by `step` whenever it is looked at."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def test_what_was_answered_has_been_committed(table: Callable[[], sqlite3.Connection]) -> None:
    """Another connection sees it."""
    inline = Inline(table, Ticking(0.0))
    assert inline.attempt(insert) == 1
    assert count(table) == 1
    inline.close()


def test_while_somebody_else_writes_nothing_is_done(
    table: Callable[[], sqlite3.Connection],
) -> None:
    """It is not waited for; later the same is done."""
    inline = Inline(table, Ticking(0.0))
    with contextlib.closing(table()) as holder:
        holder.execute("BEGIN IMMEDIATE")
        assert inline.attempt(insert) is None
        holder.execute("ROLLBACK")
    assert count(table) == 0
    assert inline.attempt(insert) == 1
    inline.close()


@pytest.mark.parametrize("last", ["nonsense", "ROLLBACK; nonsense"])
def test_work_that_fails_leaves_nothing(table: Callable[[], sqlite3.Connection], last: str) -> None:
    """Half of it is not written, whoever has ended the transaction, and the next work is done."""

    def broken(connection: sqlite3.Connection) -> int:
        insert(connection)
        for statement in last.split("; "):
            connection.execute(statement)
        return 1

    inline = Inline(table, Ticking(0.0))
    assert inline.attempt(broken) is None
    assert count(table) == 0
    assert inline.attempt(insert) == 1
    inline.close()


def test_a_connection_that_cannot_be_made_is_tried_again(
    table: Callable[[], sqlite3.Connection],
) -> None:
    """Nothing is done, and the next attempt starts afresh."""
    tries: list[int] = []

    def connect() -> sqlite3.Connection:
        tries.append(1)
        if len(tries) == 1:
            raise sqlite3.OperationalError("unable to open")
        return table()

    inline = Inline(connect, Ticking(0.0))
    assert inline.attempt(insert) is None
    assert inline.attempt(insert) == 1
    inline.close()


def test_a_slow_disk_is_left_alone_for_a_while(table: Callable[[], sqlite3.Connection]) -> None:
    """Two writes in a row that took too long, and the next ones are not tried; later one is again,
    and one that took long among quick ones says nothing."""
    slow = Ticking(SLOW * 1.5)
    inline = Inline(table, slow)
    assert [inline.attempt(insert) for _ in range(4)] == [1, 1, None, None]
    slow.now += REST
    assert [inline.attempt(insert) for _ in range(2)] == [1, None]
    slow.now, slow.step = slow.now + REST, SLOW / 2
    assert [inline.attempt(insert) for _ in range(3)] == [1, 1, 1]
    for step in (SLOW * 1.5, SLOW / 2, SLOW * 1.5, SLOW / 2):
        slow.step = step
        assert inline.attempt(insert) == 1
    inline.close()
    assert count(table) == 10


def test_once_closed_nothing_is_done(table: Callable[[], sqlite3.Connection]) -> None:
    """Closing twice is fine, also where nothing was ever written."""
    unused, inline = Inline(table), Inline(table, Ticking(0.0))
    inline.attempt(insert)
    for one in (unused, inline, inline):
        one.close()
        assert one.attempt(insert) is None


def unhurried(store: Any) -> None:
    """Nothing counts as slow, however busy the machine that runs the test."""
    store._inline._clock = Ticking(0.0)


def test_reading_begins_no_transaction(table: Callable[[], sqlite3.Connection]) -> None:
    """It is done while somebody else writes, sees what was written last, and fails softly."""
    inline = Inline(table)
    size = "SELECT count(*) FROM t"

    def read(connection: sqlite3.Connection) -> int:
        assert not connection.in_transaction
        found: int = connection.execute(size).fetchone()[0]
        return found

    with contextlib.closing(table()) as holder:
        holder.execute("BEGIN IMMEDIATE")
        insert(holder)
        assert inline.bare(read) == 0
        holder.execute("COMMIT")
        assert inline.bare(read) == 1
        holder.execute("DROP TABLE t")
    assert inline.bare(read) is None
    inline.close()
    assert inline.bare(read) is None


async def test_a_small_look_needs_no_thread(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows and notes are found without it; many are not looked for on the loop."""
    store: Any = SqliteStore(path)
    unhurried(store)
    few = [(digest(number), ROW) for number in range(FEW - 1)]
    await store.claim(few, [(digest(1), "pins")])

    def never(work: object) -> NoReturn:
        raise AssertionError("by the thread")

    monkeypatch.setattr(store._reader, "call", never)
    found = await store.read([one for one, _ in few], [digest(1)])
    assert (dict(found.frames), dict(found.notes)) == (dict(few), {digest(1): "pins"})
    with pytest.raises(AssertionError, match="by the thread"):
        await store.read([digest(number) for number in range(FEW + 1)])
    monkeypatch.undo()
    await store.close()


async def test_a_small_claim_needs_no_thread(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows, notes and a token are written without it, and the first one wins as ever."""
    store: Any = SqliteStore(path)
    unhurried(store)

    def never(work: object) -> NoReturn:
        raise AssertionError("by the thread")

    monkeypatch.setattr(store._writer, "call", never)
    few = [(digest(number), ROW) for number in range(FEW - 1)]
    assert dict((await store.claim(few, [(digest(1), "pins")])).frames) == dict(few)
    again = await store.claim([(digest(0), OTHER), (digest(9_999), OTHER), (digest(9_999), ROW)])
    assert dict(again.frames) == {digest(0): ROW, digest(9_999): OTHER}
    assert (await store.take("key", 1.0, 5, 1)).ok
    with pytest.raises(AssertionError, match="by the thread"):
        await store.claim([(digest(number), ROW) for number in range(FEW + 1)])
    monkeypatch.undo()
    await store.close()


async def test_a_row_that_comes_alone_is_one_statement(path: Path) -> None:
    """It is written without a transaction round it; where there is one already, that one is told,
    whoever asks."""
    store: Any = SqliteStore(path)
    unhurried(store)
    await store.claim([(digest(1), ROW)])
    said: list[str] = []
    store._inline._connection.set_trace_callback(said.append)
    assert dict((await store.claim([(digest(2), ROW)])).frames) == {digest(2): ROW}
    assert [line.split()[0] for line in said] == ["INSERT"]
    assert dict((await store.claim([(digest(2), OTHER)])).frames) == {digest(2): ROW}
    found = await store.read([digest(1), digest(2)])
    assert dict(found.frames) == {digest(1): ROW, digest(2): ROW}
    await store.close()


async def test_a_few_marks_need_no_thread(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are written once and found without it, and nobody writes that they were found the same
    day; many are left to it."""
    store: Any = SqliteStore(path)
    unhurried(store)
    few = [digest(number) for number in range(FEW)]

    def never(work: object) -> NoReturn:
        raise AssertionError("by the thread")

    for name in ("call", "post"):
        monkeypatch.setattr(store._writer, name, never)
    monkeypatch.setattr(store._reader, "call", never)
    await store.mark(few, "s")
    asked = [*few[1:], digest(8_888)]
    assert await store.marked(asked) == set(few[1:])
    with pytest.raises(AssertionError, match="by the thread"):
        await store.mark([*few, digest(9_999)], "s")
    with pytest.raises(AssertionError, match="by the thread"):
        await store.marked([*asked, digest(9_999)])
    monkeypatch.undo()
    await store.close()


async def test_a_row_of_the_audit_needs_no_thread(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request waits for it, and for its notice. Pages with more in them are left to it."""
    store: Any = SqliteStore(path)
    unhurried(store)

    def never(work: object) -> NoReturn:
        raise AssertionError("by the thread")

    monkeypatch.setattr(store._writer, "call", never)
    page = Page(audit=(Audited(b"d" * 32, "{}", counts=("diverted",)),), notices=(Raised("x"),))
    written = await store.record(page)
    assert (written.audit, written.notices) == ((True,), (True,))
    with pytest.raises(AssertionError, match="by the thread"):
        await store.record(Page(counts={"requests": 1}))
    monkeypatch.undo()
    assert await store.counters() == {"diverted": 1}
    assert [row.value for row in await store.audit()] == ["{}"]
    await store.close()


async def test_a_claim_waits_in_the_thread_while_the_file_is_locked(path: Path) -> None:
    """What cannot be written at once is written all the same."""
    store = SqliteStore(path)
    await store.claim([(digest(1), ROW)])
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(store.claim([(digest(2), ROW)]))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        holder.execute("COMMIT")
        assert dict((await waiting).frames) == {digest(2): ROW}
    await store.close()


async def test_the_log_is_put_back_without_anybody_who_waits(path: Path) -> None:
    """However much is claimed, the log does not grow beyond what some hundred claims need; the
    connection on the loop never puts it back itself."""
    store: Any = SqliteStore(path)
    unhurried(store)
    for number in range(PUT_BACK * 12):
        await store.claim([(digest(number), ROW)])
        if number % PUT_BACK == 0:
            await store.counters()  # behind it, in the same thread
    pragma = store._inline._connection.execute("PRAGMA wal_autocheckpoint").fetchone()
    size = path.with_name("transom.db-wal").stat().st_size
    with contextlib.closing(sqlite_module._connect(path)) as connection:
        pages = connection.execute("PRAGMA page_size").fetchone()[0]
    await store.close()
    assert pragma == (0,)
    assert size < PUT_BACK * 8 * pages


async def test_nor_does_the_log_grow_by_many_rows_at_once(path: Path) -> None:
    """Rows lie scattered over the file, each on a page of its own."""
    store: Any = SqliteStore(path)
    unhurried(store)
    for number in range(100):
        many = [digest(number * FEW + one) for one in range(FEW)]
        await store.claim([(sha256(one).digest(), ROW) for one in many])
        if number % 10 == 0:
            await store.counters()  # behind it, in the same thread
    size = path.with_name("transom.db-wal").stat().st_size
    await store.close()
    assert size < PUT_BACK * ROWS * 2 * 4096


async def test_what_was_claimed_outlives_a_kill(path: Path) -> None:
    """A process that is killed the moment it was told: every row that it was told of is there."""
    script = (
        "import asyncio, sys, pathlib\n"
        "from policies.decision import FrameRow\n"
        "from proxy.state.sqlite import SqliteStore\n"
        "async def main():\n"
        "    store = SqliteStore(pathlib.Path(sys.argv[1]))\n"
        "    def never(work): raise AssertionError\n"
        "    store._writer.call = never\n"
        "    store._inline._clock = float\n"
        "    for n in range(100000):\n"
        "        row = FrameRow('%032x' % n, 'read', intro=False)\n"
        "        await store.claim([(n.to_bytes(32, 'big'), row)])\n"
        "        print(n, flush=True)\n"
        "asyncio.run(main())\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        told = [int(process.stdout.readline()) for _ in range(50)]
        process.send_signal(signal.SIGKILL)
        told += [int(line) for line in process.stdout.read().split("\n")[:-1]]
    store = SqliteStore(path)
    kept = (await store.read([digest(number) for number in told])).frames
    await store.close()
    assert {number: kept[digest(number)].nonce for number in told} == {
        number: f"{number:032x}" for number in told
    }


async def test_the_loop_waits_for_no_lock_and_no_disk(path: Path) -> None:
    """Its connection gives up at once where another process writes, and syncs nothing: neither at
    the end of a transaction nor by putting the log back."""
    store: Any = SqliteStore(path)
    unhurried(store)
    await store.claim([(digest(1), ROW)])
    connection = store._inline._connection
    names = ("busy_timeout", "wal_autocheckpoint", "synchronous")
    normal = 1
    found = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]
    assert found == [0, 0, normal]
    await store.close()


async def fill(store: SqliteStore, told: list[int]) -> None:
    """Claim until there is no room; `told` gets what was claimed."""
    for first in range(100, 100 + 200 * FEW, FEW):
        await store.claim([(digest(number), ROW) for number in range(first, first + FEW)])
        told += range(first, first + FEW)


@pytest.mark.parametrize("how", ["max_page_count = 1", "query_only = 1"])
async def test_a_disk_that_is_full_or_read_only_is_a_typed_error(
    path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Neither way of writing pretends; what was written before is there, and as soon as there is
    room the next claim is written."""
    real, there = sqlite_module._connect, [""]

    def connect(*more: Any) -> sqlite3.Connection:
        connection = real(*more)
        if there[0]:
            connection.execute(f"PRAGMA {there[0]}").fetchall()
        return connection

    store: Any = SqliteStore(path)
    unhurried(store)
    await store.claim([(digest(1), ROW)])
    monkeypatch.setattr(sqlite_module, "_connect", connect)
    there[0] = how
    store._inline._connection.execute(f"PRAGMA {how}").fetchall()
    told = [1]
    with pytest.raises(StateError):
        await fill(store, told)
    with pytest.raises(StateError):
        await store.claim([(digest(number), ROW) for number in range(9000, 9000 + 40 * FEW)])
    kept = (await store.read([digest(number) for number in range(20_000)])).frames
    assert set(kept) == {digest(number) for number in told}
    await store.close()
    monkeypatch.undo()
    again = SqliteStore(path)
    assert dict((await again.claim([(digest(9000), ROW)])).frames) == {digest(9000): ROW}
    await again.close()


async def test_a_lock_that_is_held_for_long_is_a_typed_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop goes on meanwhile, and afterwards everything is as ever."""
    monkeypatch.setattr(sqlite_module, "BUSY_SECONDS", 0.1)
    store: Any = SqliteStore(path)
    unhurried(store)
    await store.claim([(digest(1), ROW)])
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        waiting = asyncio.create_task(store.claim([(digest(2), ROW)]))
        turns = 0
        while not waiting.done():
            await asyncio.sleep(0.001)
            turns += 1
        with pytest.raises(StateError):
            waiting.result()
        assert turns > 1
        holder.execute("ROLLBACK")
    assert dict((await store.claim([(digest(2), OTHER)])).frames) == {digest(2): OTHER}
    await store.close()
