"""The file: rights, key, migrations, refusals, other processes."""

import asyncio
import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from policies.decision import FrameRow
from proxy.state import StateError, StateRefused, open_store
from proxy.state import rows as rows_module
from proxy.state import schema as schema_module
from proxy.state import sqlite as sqlite_module
from proxy.state.sqlite import SqliteStore

DIGEST = b"d" * 32
ROW = FrameRow("ab" * 16, "read", intro=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "transom.db"


@contextlib.contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


async def used(path: Path, **options: Path) -> bytes:
    """Open, claim, close; the key."""
    store = SqliteStore(path, **options)
    await store.claim([(DIGEST, ROW)])
    await store.close()
    return store.key


async def test_only_the_owner_can_read_what_is_written(path: Path) -> None:
    """Folder 0700; database, key, -wal and -shm 0600, under a lax umask too."""
    before = os.umask(0)
    try:
        store = SqliteStore(path)
        await store.claim([(DIGEST, ROW)])
        names = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        await store.close()
    finally:
        os.umask(before)
    assert names == dict.fromkeys(
        ["transom.db", "transom.db.key", "transom.db-wal", "transom.db-shm"], 0o600
    )
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_a_database_that_was_opened_up_is_closed_again(path: Path) -> None:
    """Rights that somebody widened are narrowed at the next start."""
    await used(path)
    path.chmod(0o644)
    await used(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_rows_and_key_outlive_the_process(path: Path) -> None:
    """A second opening has the same key and the same rows."""
    key = await used(path)
    store = open_store(f"sqlite://{path}")
    assert store.key == key
    assert dict((await store.read([DIGEST])).frames) == {DIGEST: ROW}
    await store.close()


async def test_the_clock_is_the_one_that_was_given(path: Path) -> None:
    """`seen` is whole seconds of the clock passed in, at the last use."""
    ticks = iter([1000.7, 2000.7])
    store = SqliteStore(path, clock=lambda: next(ticks))
    await store.claim([(DIGEST, ROW)])
    await store.claim([(DIGEST, ROW)])
    await store.close()
    with raw(path) as connection:
        assert connection.execute("SELECT seen FROM frames").fetchall() == [(2000,)]


async def test_wal_and_normal_synchronous(path: Path) -> None:
    """The journal mode is stored in the file; each connection syncs at checkpoints only."""
    await used(path)
    with contextlib.closing(sqlite_module._connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (1,)
        assert connection.execute("PRAGMA busy_timeout").fetchone() == (2000,)


async def test_the_key_may_lie_elsewhere(path: Path, tmp_path: Path) -> None:
    """A named key file is made at the first start and used from then on."""
    key_file = tmp_path / "key"
    key = await used(path, key_file=key_file)
    assert key_file.read_bytes() == key
    assert await used(path, key_file=key_file) == key
    assert not path.with_name("transom.db.key").exists()


async def test_a_key_from_before_the_first_start_is_kept(path: Path, tmp_path: Path) -> None:
    """An owner may bring the key; it is not replaced."""
    key_file = tmp_path / "key"
    key_file.write_bytes(bytes(range(32)))
    key_file.chmod(0o400)
    assert await used(path, key_file=key_file) == bytes(range(32))


async def test_a_missing_key_beside_a_database_stops_the_start(path: Path) -> None:
    """Without its key a database is not opened, and no new key is made."""
    await used(path)
    key_file = path.with_name("transom.db.key")
    key_file.unlink()
    with pytest.raises(StateRefused, match="is missing beside an existing database; put it back"):
        SqliteStore(path)
    assert not key_file.exists()


async def test_a_foreign_key_stops_the_start(path: Path) -> None:
    """A key that the database was not made with is refused, and the words do not show it."""
    key = await used(path)
    key_file = path.with_name("transom.db.key")
    key_file.write_bytes(bytes(reversed(key)))
    with pytest.raises(StateRefused, match="does not belong to") as caught:
        SqliteStore(path)
    assert key.hex() not in str(caught.value)


@pytest.mark.parametrize("size", [0, 31, 33])
async def test_a_key_of_another_length_stops_the_start(path: Path, size: int) -> None:
    """The key is 32 bytes, not one more or less."""
    await used(path)
    path.with_name("transom.db.key").write_bytes(b"k" * size)
    with pytest.raises(StateRefused, match="not 32 bytes"):
        SqliteStore(path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
async def test_a_key_that_others_can_read_or_write_stops_the_start(path: Path, mode: int) -> None:
    """Any right of group or world is too much; the error says the command that helps."""
    await used(path)
    path.with_name("transom.db.key").chmod(mode)
    with pytest.raises(StateRefused, match="chmod 600"):
        SqliteStore(path)


async def test_a_key_that_is_no_file_stops_the_start(path: Path, tmp_path: Path) -> None:
    """A folder or a pipe in the key's place is named, and holds nothing up."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("folder", "pipe"):
        with pytest.raises(StateRefused, match=f"{name} is not a file"):
            SqliteStore(path, key_file=tmp_path / name)


async def test_a_key_that_cannot_be_read_or_written_stops_the_start(path: Path) -> None:
    """Errors of the system come in our words, with the path."""
    with pytest.raises(StateRefused, match="nowhere/key cannot be written"):
        SqliteStore(path, key_file=path.with_name("nowhere") / "key")
    loop = path.with_name("loop")
    loop.symlink_to(loop)
    with pytest.raises(StateRefused, match="loop cannot be"):
        SqliteStore(path, key_file=loop)
    await used(path)
    with pytest.raises(StateRefused, match="loop cannot be read"):
        SqliteStore(path, key_file=loop)


async def test_a_folder_that_cannot_be_made_stops_the_start(tmp_path: Path) -> None:
    """A file in the place of the folder is an error in our words."""
    (tmp_path / "state").write_text("")
    with pytest.raises(StateRefused, match="must belong to the user that runs Transom"):
        SqliteStore(tmp_path / "state" / "transom.db")


async def test_what_is_no_database_stops_the_start(path: Path, tmp_path: Path) -> None:
    """A damaged file is not replaced."""
    await used(path)
    path.write_bytes(b"not a database, not at all" * 100)
    with pytest.raises(StateRefused, match="damaged or no SQLite database"):
        SqliteStore(path)


async def test_a_database_of_another_program_stops_the_start(path: Path) -> None:
    """Tables that are not ours are left alone."""
    key = await used(path)
    path.unlink()
    with raw(path) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    assert key
    with pytest.raises(StateRefused, match="database of another program"):
        SqliteStore(path)
    with raw(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("theirs",)]


async def test_a_database_of_a_newer_version_stops_the_start(path: Path) -> None:
    """An older Transom does not write into tables that it does not know."""
    await used(path)
    with raw(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StateRefused, match="newer version"):
        SqliteStore(path)


async def test_a_migration_runs_once_and_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next version's step is applied to what is there; a broken one leaves everything."""
    await used(path)
    steps = schema_module.MIGRATIONS
    monkeypatch.setattr(
        schema_module, "MIGRATIONS", (*steps, ("CREATE TABLE more (x)", "CREATE TABLE frames (x)"))
    )
    with pytest.raises(StateRefused, match="cannot be opened"):
        SqliteStore(path)
    with raw(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(steps),)
        assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name='more'").fetchall()
    monkeypatch.setattr(schema_module, "MIGRATIONS", (*steps, ("CREATE TABLE more (x)",)))
    for _ in range(2):
        store = SqliteStore(path)
        assert dict((await store.read([DIGEST])).frames) == {DIGEST: ROW}
        await store.close()
    with raw(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(steps) + 1,)


async def test_frames_of_the_first_version_are_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database of the first version is brought up to date: its rows give the whole text, raw."""
    steps = schema_module.MIGRATIONS
    monkeypatch.setattr(schema_module, "MIGRATIONS", steps[:1])
    await SqliteStore(path).close()
    with raw(path) as connection:
        values = (DIGEST, bytes.fromhex(ROW.nonce), ROW.field, ROW.intro, 1)
        connection.execute("INSERT INTO frames VALUES (?, ?, ?, ?, ?)", values)
    monkeypatch.setattr(schema_module, "MIGRATIONS", steps)
    store = SqliteStore(path)
    assert dict((await store.read([DIGEST])).frames) == {DIGEST: ROW}
    await store.close()


async def test_a_row_that_is_used_while_old_ones_are_found_is_left(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who forgets looks first and deletes later: in between a request may have come that needs it.
    No index of rows by their age has to be kept for that, in a file of an older version neither."""
    steps = schema_module.MIGRATIONS
    monkeypatch.setattr(schema_module, "MIGRATIONS", steps[:-1])
    await used(path)
    monkeypatch.setattr(schema_module, "MIGRATIONS", steps)
    now = [4e9]
    store = SqliteStore(path, clock=lambda: now[0])
    found = rows_module.stale

    def look(
        connection: sqlite3.Connection, before: int, part: rows_module.Part
    ) -> rows_module.Stale:
        frames, notes = found(connection, before, part)
        with raw(path) as other:
            rows_module.touch(other, (frames[:1], notes[:1]), int(now[0]))
        return frames, notes

    await store.claim([(b"e" * 32, ROW)], [(DIGEST, "kept"), (b"e" * 32, "old")])
    now[0] += 100
    monkeypatch.setattr(rows_module, "stale", look)
    assert await store.expire(10) == 2
    left = await store.read([DIGEST, b"e" * 32], [DIGEST, b"e" * 32])
    assert ([*left.frames], [*left.notes]) == ([DIGEST], [DIGEST])
    await store.close()
    with raw(path) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    assert "frames" in names
    assert names.isdisjoint({"frames_seen", "conversations_seen"})


async def test_who_reads_waits_behind_a_part_of_what_is_looked_at_for_old_rows(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows are looked at to find the old ones: that takes seconds in a large file that is not
    in memory, and a request that has to read has five."""
    store = SqliteStore(path)
    many = [bytes([number]) * 32 for number in range(256)] + [b"\xff" * 31 + b"\xfe"]
    found, begun, told, looks = rows_module.stale, asyncio.Event(), threading.Event(), []

    def look(
        connection: sqlite3.Connection, before: int, part: rows_module.Part
    ) -> rows_module.Stale:
        looks.append(part)
        if len(looks) == 1:
            loop.call_soon_threadsafe(begun.set)
            assert told.wait(5)
        return found(connection, before, part)

    loop = asyncio.get_running_loop()
    await store.claim([(each, ROW) for each in many], [(each, "note") for each in many])
    monkeypatch.setattr(rows_module, "stale", look)
    forgetting = asyncio.create_task(store.expire(-100))
    await begun.wait()
    reading = asyncio.create_task(store.read(many))
    await asyncio.sleep(0)  # it waits
    told.set()
    assert len((await reading).frames) == len(many)
    assert len(looks) < len(rows_module.PARTS)
    # Every row stands in one of the parts.
    assert await forgetting == 2 * len(many)
    assert len(looks) == len(rows_module.PARTS)
    await store.close()


async def test_a_round_forgets_a_bounded_number(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that no claim waits long behind it; the next round goes on."""
    monkeypatch.setattr(rows_module, "EXPIRED_AT_ONCE", 3)
    store = SqliteStore(path)
    old = [bytes([number]) * 32 for number in range(0, 256, 50)]
    await store.claim([(each, ROW) for each in old], [(old[0], "note")])
    assert [await store.expire(-100) for _ in range(3)] == [4, 3, 0]
    await store.close()


async def test_a_file_system_without_wal_stops_the_start(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where SQLite cannot keep a WAL, two processes and a crash are not safe."""
    monkeypatch.setattr(sqlite_module, "_enter_wal", lambda connection: "delete")
    with pytest.raises(StateRefused, match="local file system"):
        SqliteStore(path)


async def test_a_lock_at_the_start_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entering WAL is tried again while another process holds the file, and not for ever."""
    monkeypatch.setattr(sqlite_module, "BUSY_SECONDS", 0.0)
    path.parent.mkdir()
    path.touch(0o600)
    waits: list[float] = []
    with raw(path) as holder, contextlib.closing(sqlite_module._connect(path)) as connection:
        holder.execute("BEGIN EXCLUSIVE")

        def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 3:
                holder.execute("ROLLBACK")

        monkeypatch.setattr(sqlite_module.time, "sleep", wait)
        assert sqlite_module._enter_wal(connection) == "wal"
    assert len(waits) == 3
    monkeypatch.setattr(sqlite_module.time, "sleep", waits.append)
    other = path.with_name("other.db")
    other.touch(0o600)
    with raw(other) as holder, contextlib.closing(sqlite_module._connect(other)) as connection:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            sqlite_module._enter_wal(connection)
        with pytest.raises(StateRefused, match="SQLITE_BUSY"):
            SqliteStore(other)
    assert len(waits) < 200


async def test_a_failing_write_is_a_typed_error_and_passes(path: Path) -> None:
    """While another process holds the lock too long, claims fail; afterwards they work again."""
    store = SqliteStore(path)
    await store.claim([(DIGEST, ROW)])
    with raw(path) as holder:
        holder.execute("ALTER TABLE frames RENAME TO gone")
        with pytest.raises(StateError, match="OperationalError"):
            await store.claim([(b"x" * 32, ROW)])
        with pytest.raises(StateError, match="OperationalError"):
            await store.read([DIGEST])
        holder.execute("ALTER TABLE gone RENAME TO frames")
    assert dict((await store.claim([(DIGEST, ROW)])).frames) == {DIGEST: ROW}
    await store.close()


async def test_a_lock_that_is_held_too_long_is_a_typed_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait for another process ends; reading goes on meanwhile."""
    monkeypatch.setattr(sqlite_module, "BUSY_SECONDS", 0.05)
    store = SqliteStore(path)
    await store.claim([(DIGEST, ROW)])
    with raw(path) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StateError):
            await store.claim([(b"x" * 32, ROW)])
        assert dict((await store.read([DIGEST])).frames) == {DIGEST: ROW}
        holder.execute("ROLLBACK")
    assert dict((await store.claim([(b"x" * 32, ROW)])).frames) == {b"x" * 32: ROW}
    await store.close()


async def test_the_deadline_is_a_typed_error_and_the_loop_goes_on(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow disk never holds the loop: the caller gets its error in time, others run on."""
    monkeypatch.setattr(sqlite_module, "DEADLINE_SECONDS", 0.05)
    monkeypatch.setattr(sqlite_module, "BUSY_SECONDS", 0.5)
    store = SqliteStore(path)
    await store.claim([(DIGEST, ROW)])
    with raw(path) as holder:
        holder.execute("BEGIN IMMEDIATE")
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.001)
                ticks += 1

        ticking = asyncio.create_task(tick())
        with pytest.raises(StateError, match="in time"):
            await store.claim([(b"x" * 32, ROW)])
        ticking.cancel()
        assert ticks >= 5
        holder.execute("ROLLBACK")
    await store.close()
    # What was asked for and not waited for has been written all the same: nothing is half done.
    reopened = SqliteStore(path)
    assert dict((await reopened.read([b"x" * 32])).frames) == {b"x" * 32: ROW}
    await reopened.close()


async def test_a_caller_that_goes_away_disturbs_nobody(path: Path) -> None:
    """A cancelled request leaves the thread and the other callers as they are."""
    store = SqliteStore(path)
    gone = asyncio.create_task(store.claim([(DIGEST, ROW)]))
    await asyncio.sleep(0)
    gone.cancel()
    rows = await asyncio.gather(*(store.claim([(bytes([n]) * 32, ROW)]) for n in range(100)))
    assert len(rows) == 100
    await store.close()


async def test_closing_finishes_what_was_asked_for(path: Path) -> None:
    """Claims that were made before the store is closed are written and answered."""
    store = SqliteStore(path)
    claims = [asyncio.create_task(store.claim([(bytes([n]) * 32, ROW)])) for n in range(200)]
    await asyncio.sleep(0)
    await store.close()
    assert [len((await claim).frames) for claim in claims] == [1] * 200


def test_a_loop_that_has_ended_disturbs_nobody(path: Path) -> None:
    """Work that was asked for by a loop that is gone is done, and the next loop is served."""

    async def ask(store: SqliteStore) -> None:
        task = asyncio.create_task(store.claim([(DIGEST, ROW)]))
        await asyncio.sleep(0)
        task.cancel()

    store = SqliteStore(path)
    with raw(path) as holder:
        holder.execute("BEGIN IMMEDIATE")
        asyncio.run(ask(store))
        holder.execute("ROLLBACK")

    async def look() -> None:
        await store.expire(1e9)  # behind it, in the same thread
        assert dict((await store.read([DIGEST])).frames) == {DIGEST: ROW}
        await store.close()

    asyncio.run(look())


def test_two_first_starts_at_once_share_key_and_tables(path: Path) -> None:
    """Several processes that start on an empty folder together all open the same state."""
    script = (
        "import sys, pathlib; from proxy.state.sqlite import SqliteStore;"
        "sys.stdin.readline(); print(SqliteStore(pathlib.Path(sys.argv[1])).key.hex())"
    )
    command = [sys.executable, "-c", script, str(path)]
    starts = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(4)
    ]
    for start in starts:
        assert start.stdin
        start.stdin.write(b"\n")
        start.stdin.flush()
    keys = {start.communicate()[0] for start in starts}
    assert [start.returncode for start in starts] == [0] * 4
    assert len(keys) == 1
