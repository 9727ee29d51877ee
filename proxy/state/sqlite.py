"""State in one SQLite file, for one process or several: `sqlite:///…`.

Owns the file, its rights and who does what: a few rows are written or read on the loop if nothing
is in the way, all else is written in one thread, and another one reads and puts the log back into
the file. It must not know what a digest stands for. WAL with `synchronous=NORMAL`: a row that was
claimed survives the end of the process at any moment.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from proxy.state import book_rows, home_rows, rows
from proxy.state.base import Claim, Clock, NoteClaim, Rows, StateRefused
from proxy.state.book import (
    AuditRow,
    EventRow,
    NoticeRow,
    Page,
    SessionRow,
    Taken,
    Written,
)
from proxy.state.inline import Inline
from proxy.state.keyfile import load_key
from proxy.state.schema import migrate
from proxy.state.worker import Worker

BUSY_SECONDS = 2.0
"""How long SQLite waits for another process's lock."""

DEADLINE_SECONDS = 5.0
"""How long a request waits for its read or claim, queue included."""

FEW = 256
"""Rows up to which a claim, or a look for them, may be done on the loop. A few take a tenth of a
millisecond, so many two or three, as long as reading the body that they come from. A thread takes
half as long again: what it has in memory of the file counts no more once another one has written,
and every request has the loop write something."""

PUT_BACK = 250
"""Writes after which the log is put back into the file: some four pages each."""

ROWS = 16
"""Rows more that count as one more write: each is on a page of its own."""

_BACKSTOP = 8000
"""Pages of log at which the writing thread does so itself."""

_GLANCE = 100
"""Milliseconds for which those who write may have to wait behind a reader then."""

Result = TypeVar("Result")


class SqliteStore:
    """`Store` in the file `path`. Opening it checks everything that can be checked: `StateRefused`
    with the way out where path, rights, key or tables are not what they must be."""

    def __init__(
        self, path: Path, *, key_file: Path | None = None, clock: Clock = time.time
    ) -> None:
        self._key = _prepare(path, key_file or path.with_name(f"{path.name}.key"))
        self._clock = clock

        def connect() -> sqlite3.Connection:
            return _connect(path, _BACKSTOP)

        self._inline = Inline(lambda: _connect(path, 0, 0.0))
        self._writer = Worker(
            connect, name="state-writer", begin="BEGIN IMMEDIATE", deadline=DEADLINE_SECONDS
        )
        self._reader = Worker(connect, name="state-reader", begin="", deadline=DEADLINE_SECONDS)
        self._writes = 0

    @property
    def key(self) -> bytes:
        return self._key

    async def read(
        self, frames: Sequence[bytes], notes: Sequence[bytes] = (), *, refresh: float = 0.0
    ) -> Rows:
        now = self._clock()
        before = int(now - refresh) if refresh else 0
        found, stale = await self._look(
            lambda connection: rows.select(connection, frames, notes, before),
            few=len(frames) + len(notes) <= FEW,
        )
        if any(stale):
            self._writer.post(lambda connection: rows.touch(connection, stale, int(now)))
        return found

    async def claim(self, frames: Iterable[Claim], notes: Iterable[NoteClaim] = ()) -> Rows:
        now = int(self._clock())
        new_frames, new_notes = tuple(frames), tuple(notes)
        if len(new_frames) == 1 and not new_notes:
            self._count(1)
            if won := self._inline.bare(lambda db: rows.insert_one(db, new_frames[0], now)):
                return Rows(dict([won]))

        def insert(connection: sqlite3.Connection) -> Rows:
            return rows.insert(connection, new_frames, new_notes, now)

        return await self._write(insert, rows=len(new_frames) + len(new_notes))

    async def expire(self, keep: float) -> int:
        before = int(self._clock() - keep)
        old = await self._stale(before)
        return await self._write(
            lambda db: (
                rows.delete(db, old, before)
                + book_rows.delete(db, before)
                + home_rows.delete(db, before)
            )
        )

    async def mark(self, digests: Sequence[bytes], session: str) -> None:
        now = int(self._clock())
        await self._write(lambda db: home_rows.mark(db, digests, session, now), rows=len(digests))

    async def marked(self, digests: Sequence[bytes]) -> frozenset[bytes]:
        now = int(self._clock())
        found, stale = await self._look(
            lambda db: home_rows.marked(db, digests, now), few=len(digests) <= FEW
        )
        if stale:
            self._writer.post(lambda db: home_rows.touch(db, stale, now))
        return found

    async def marks(self) -> bool:
        return await self._look(home_rows.present, few=True)

    async def release(self, session: str) -> int:
        return await self._write(lambda db: home_rows.release(db, session))

    async def take(
        self, key: str, now: float, capacity: float, refill: float, count: int = 1
    ) -> Taken:
        return await self._write(
            lambda db: book_rows.take(db, key, now, capacity, refill, count), rows=1
        )

    async def record(self, page: Page) -> Written:
        now = self._clock()
        # A request waits for a row of the audit; everything else is gathered beside it.
        aside = page.events or page.sessions or page.counts
        told = None if aside else len(page.audit) + len(page.notices)
        return await self._write(lambda db: book_rows.write(db, page, now), rows=told)

    async def events(self, since: float = 0.0, limit: int = 1000) -> tuple[EventRow, ...]:
        return await self._reader.call(lambda db: book_rows.events(db, since, limit))

    async def notices(self, *, acked: bool = False, limit: int = 1000) -> tuple[NoticeRow, ...]:
        return await self._reader.call(lambda db: book_rows.notices(db, acked, limit))

    async def counters(self) -> Mapping[str, int]:
        return await self._reader.call(book_rows.counters)

    async def audit(
        self, *, after: int = 0, since: float = 0.0, limit: int = 1000
    ) -> tuple[AuditRow, ...]:
        return await self._reader.call(lambda db: book_rows.audit(db, after, since, limit))

    async def sessions(self, limit: int = 1000) -> tuple[SessionRow, ...]:
        return await self._reader.call(lambda db: book_rows.sessions(db, limit))

    async def ack(self, number: int) -> bool:
        return await self._write(lambda db: book_rows.ack(db, number))

    async def _stale(self, before: int) -> rows.Stale:
        """What was last seen `before` that time, a bounded number. Looked for in one part of the
        rows behind another, so that whoever reads for a request waits behind one of them."""
        frames: list[bytes] = []
        notes: list[bytes] = []
        for part in rows.PARTS:
            found = await self._reader.call(partial(rows.stale, before=before, part=part))
            frames += found[0]
            notes += found[1]
            if max(len(frames), len(notes)) >= rows.EXPIRED_AT_ONCE:
                break
        return frames[: rows.EXPIRED_AT_ONCE], notes[: rows.EXPIRED_AT_ONCE]

    async def close(self) -> None:
        self._inline.close()
        await self._reader.close()
        await self._writer.close()

    async def _look(self, work: Callable[[sqlite3.Connection], Result], *, few: bool) -> Result:
        """Read; what is `few` on the loop if nothing is in the way."""
        if few and (done := self._inline.bare(work)) is not None:
            return done
        return await self._reader.call(work)

    async def _write(
        self, work: Callable[[sqlite3.Connection], Result], *, rows: int | None = None
    ) -> Result:
        """Write in one transaction; a few `rows` on the loop if nothing is in the way. None: nobody
        knows how many."""
        self._count(rows or 0)
        if rows is not None and rows <= FEW and (done := self._inline.attempt(work)) is not None:
            return done
        return await self._writer.call(work)

    def _count(self, rows: int) -> None:
        """Another write: after so many the log is put back into the file."""
        self._writes += 1 + rows // ROWS
        if self._writes >= PUT_BACK:
            self._writes = 0
            self._reader.post(_put_back)


def _prepare(path: Path, key_file: Path) -> bytes:
    """Make folder, key, file and tables as needed; the key."""
    with _explained(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The database is looked for before the key: another process that starts at the same moment
        # writes the key first.
        existed = path.exists() and path.stat().st_size > 0
        key = load_key(key_file, create=not existed)
        # SECURITY: SQLite gives -wal and -shm the rights of the database, so it must begin private.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.close(descriptor)
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        with contextlib.closing(_connect(path)) as connection:
            mode = _enter_wal(connection)
            if mode != "wal":
                raise StateRefused(
                    f"{path} cannot be kept in WAL mode; use a folder on a local file system"
                )
            migrate(connection, path, key)
    return key


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StateRefused(
            f"the state database {path} cannot be used: {error.strerror};"
            " folder and file must belong to the user that runs Transom"
        ) from None
    except sqlite3.OperationalError as error:
        raise StateRefused(
            f"the state database {path} cannot be opened ({error.sqlite_errorname});"
            " another program may hold it, or the file system may be full or read-only"
        ) from None
    except sqlite3.DatabaseError:
        raise StateRefused(
            f"{path} is damaged or no SQLite database; restore it, or move it away to start anew"
        ) from None


def _connect(
    path: Path, put_back: int = _BACKSTOP, patience: float | None = None
) -> sqlite3.Connection:
    """A connection that puts the log back when it has that many pages, 0 for never, and waits
    `patience` seconds for a lock."""
    # An address and not a path, so that a file that has vanished is not made anew, without rights.
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw",
        uri=True,
        timeout=BUSY_SECONDS if patience is None else patience,
        isolation_level=None,
    )
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {put_back}")
        connection.execute("PRAGMA journal_size_limit = 16777216")
    except sqlite3.Error:  # no database
        connection.close()
        raise
    return connection


def _put_back(connection: sqlite3.Connection) -> None:
    """Put the log back into the file, and begin it anew: both sync the disk, so nobody who writes
    for a request should have to. Where a reader is in the way for long, next time will do."""
    connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    # Nobody writes during the second look, which is short and finds little to do.
    connection.execute(f"PRAGMA busy_timeout = {_GLANCE}").fetchall()
    connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
    connection.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000:.0f}").fetchall()
    # The first write behind it is what begins the log anew.
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('log', randomblob(8))")


def _enter_wal(connection: sqlite3.Connection) -> str:
    """Switch to WAL. SQLite does not wait for a lock here, so two first starts may collide."""
    tries = 50
    while True:
        try:
            return str(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0])
        except sqlite3.OperationalError as error:
            tries -= 1
            if not tries or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            time.sleep(BUSY_SECONDS / 50)
