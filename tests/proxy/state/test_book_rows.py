"""The book in a file: a full disk, a lock, the end of the process; nothing acknowledged is lost."""

import asyncio
import contextlib
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proxy.state import StateError, open_store
from proxy.state import schema as schema_module
from proxy.state import sqlite as sqlite_module
from proxy.state.book import Audited, Page, Raised
from proxy.state.book_rows import TABLES
from proxy.state.sqlite import SqliteStore

PAGE = Page(audit=(Audited(b"a", "x" * 500),), notices=(Raised("one"),), counts={"n": 1})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "transom.db"


async def _limit(store: Any, pages: int) -> None:
    """So many pages at most, or as many as there are, for both connections that write."""
    pragma = f"PRAGMA max_page_count = {pages}"
    await store.take("first", 1.0, 5, 1)
    store._inline._connection.execute(pragma).fetchall()
    await store._writer.call(lambda db: db.execute(pragma).fetchall())


async def test_a_full_disk_writes_nothing_and_says_so(path: Path) -> None:
    """A page that does not fit leaves nothing behind; what was written before stays."""
    store = SqliteStore(path)
    await store.record(PAGE)
    await _limit(store, 1)
    big = Page(audit=(Audited(b"b", "y" * 100_000),), counts={"n": 1})
    with pytest.raises(StateError, match="OperationalError"):
        await store.record(big)
    takes = (store.take(f"bucket {number}" * 20, 1.0, 5, 1) for number in range(500))
    outcomes = await asyncio.gather(*takes, return_exceptions=True)
    assert any(isinstance(outcome, StateError) for outcome in outcomes)
    await _limit(store, 100_000)
    assert dict(await store.counters()) == {"n": 1}
    assert (await store.record(big)).audit == (True,)
    await store.close()


async def test_a_lock_is_a_typed_error_and_reading_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process holds the file: nothing is taken or written, and the owner can still look."""
    monkeypatch.setattr(sqlite_module, "BUSY_SECONDS", 0.05)
    store = SqliteStore(path)
    await store.record(PAGE)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateError):
            await store.record(PAGE)
        with pytest.raises(StateError):
            await store.take("a", 1.0, 1, 0)
        assert [row.times for row in await store.audit()] == [1]
        holder.execute("ROLLBACK")
    assert (await store.take("a", 1.0, 1, 0)).ok
    await store.close()


async def test_what_was_acknowledged_outlives_a_kill(path: Path) -> None:
    """A process that is killed the moment it was told: every page that it was told of is there."""
    script = (
        "import asyncio, sys, pathlib\n"
        "from proxy.state.sqlite import SqliteStore\n"
        "from proxy.state.book import *\n"
        "async def main():\n"
        "    store = SqliteStore(pathlib.Path(sys.argv[1]))\n"
        "    for n in range(100000):\n"
        "        await store.record(Page(audit=(Audited(b'%d' % n, str(n)),), counts={'n': 1}))\n"
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
    kept = [int(row.value) for row in await store.audit(limit=100_000)]
    assert kept[: len(told)] == told
    assert (await store.counters())["n"] == len(kept), "a page is written whole"
    await store.close()


async def test_a_database_of_the_second_version_gets_the_new_tables(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step is numbered and keeps what is there."""
    steps = schema_module.MIGRATIONS
    assert steps[2] == tuple(TABLES.split(";"))
    monkeypatch.setattr(schema_module, "MIGRATIONS", steps[:2])
    store = SqliteStore(path)
    await store.claim([], [(b"d", "kept")])
    await store.close()
    monkeypatch.setattr(schema_module, "MIGRATIONS", steps)
    store = SqliteStore(path)
    assert (await store.record(PAGE)).audit == (True,)
    assert dict((await store.read([], [b"d"])).notes) == {b"d": "kept"}
    await store.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_an_open_notice_is_never_too_old(kind: str, tmp_path: Path) -> None:
    """However long ago: only an acknowledged one goes."""
    now = [1_700_000_000.0]
    url = "memory:" if kind == "memory" else f"sqlite://{tmp_path}/t.db"
    store = open_store(url, clock=lambda: now[0])
    await store.record(Page(notices=(Raised("open"), Raised("done"))))
    await store.ack(2)
    now[0] += 1e8
    gone = await store.expire(1.0)
    left = [row.code for row in await store.notices(acked=True)]
    await store.close()
    assert (gone, left) == (1, ["open"])
