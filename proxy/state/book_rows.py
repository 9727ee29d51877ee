"""The owner's book in SQLite: statements for events, notices, counters, audit, sessions and rates.

Owns the statements. It must not know files, threads or what a kind stands for. All functions run in
one of the threads of the store, within its transaction.
"""

import json
import sqlite3
from collections.abc import Iterable, Mapping

from proxy.state.book import (
    MOST_AUDIT,
    MOST_EVENTS,
    MOST_NOTICES,
    MOST_SESSIONS,
    Audited,
    AuditRow,
    EventRow,
    Happened,
    NoticeRow,
    Page,
    Raised,
    Recorded,
    Seen,
    SessionRow,
    Taken,
    Written,
    taken,
)

TABLES = """
CREATE TABLE rates (key TEXT PRIMARY KEY, level REAL NOT NULL, seen REAL NOT NULL) WITHOUT ROWID;
CREATE INDEX rates_seen ON rates (seen);
CREATE TABLE events (
    digest BLOB PRIMARY KEY,
    kind TEXT NOT NULL,
    session TEXT NOT NULL,
    client TEXT NOT NULL,
    first REAL NOT NULL,
    seen REAL NOT NULL,
    times INTEGER NOT NULL,
    tainted INTEGER NOT NULL,
    facts TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX events_seen ON events (seen);
CREATE INDEX events_kind ON events (kind, session, first);
CREATE TABLE notices (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    code TEXT NOT NULL,
    session TEXT NOT NULL,
    client TEXT NOT NULL,
    first REAL NOT NULL,
    seen REAL NOT NULL,
    times INTEGER NOT NULL,
    acked INTEGER NOT NULL,
    facts TEXT NOT NULL
);
CREATE INDEX notices_code ON notices (code, session, first);
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest BLOB NOT NULL UNIQUE,
    first REAL NOT NULL,
    seen REAL NOT NULL,
    times INTEGER NOT NULL,
    value TEXT NOT NULL
);
CREATE INDEX audit_seen ON audit (seen);
CREATE TABLE sessions (
    session TEXT PRIMARY KEY,
    client TEXT NOT NULL,
    first REAL NOT NULL,
    seen REAL NOT NULL,
    requests INTEGER NOT NULL,
    rounds INTEGER NOT NULL,
    tainted INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_seen ON sessions (seen)
"""

_EXPIRED_AT_ONCE = 1000
_KEPT = {
    "events": ("digest", MOST_EVENTS, "1"),
    "audit": ("id", MOST_AUDIT, "1"),
    # SECURITY: what nobody has acknowledged is not forgotten because it is old.
    "notices": ("id", MOST_NOTICES, "acked"),
    "sessions": ("session", MOST_SESSIONS, "1"),
}


def take(
    connection: sqlite3.Connection,
    key: str,
    now: float,
    capacity: float,
    refill: float,
    count: int,
) -> Taken:
    """Take from the bucket `key`; the transaction holds every other process off."""
    row = connection.execute("SELECT level, seen FROM rates WHERE key = ?", (key,)).fetchone()
    level, at = row or (None, now)
    answer, level, at = taken(level, at, now, capacity, refill, count)
    connection.execute(
        "INSERT INTO rates (key, level, seen) VALUES (?, ?, ?)"
        " ON CONFLICT (key) DO UPDATE SET level = excluded.level, seen = excluded.seen",
        (key, level, at),
    )
    return answer


def write(connection: sqlite3.Connection, page: Page, now: float) -> Written:
    """Write a page down."""
    _count(connection, page.counts.items())
    for seen in page.sessions:
        _session(connection, seen, now)
    events = tuple([_event(connection, each, now) for each in page.events])
    audit = tuple([_audit(connection, each, now) for each in page.audit])
    notices = tuple([_notice(connection, each, now) for each in page.notices])
    return Written(events, audit, notices)


def ack(connection: sqlite3.Connection, number: int) -> bool:
    """Acknowledge a notice; whether there is one that was not."""
    query = "UPDATE notices SET acked = 1 WHERE id = ? AND acked = 0"
    return connection.execute(query, (number,)).rowcount == 1


def events(connection: sqlite3.Connection, since: float, limit: int) -> tuple[EventRow, ...]:
    """The newest events since a time, oldest first."""
    found = connection.execute(
        "SELECT kind, session, client, first, seen, times, tainted, facts FROM events"
        " WHERE seen >= ? ORDER BY seen DESC LIMIT ?",
        (since, limit),
    ).fetchall()
    return tuple(
        [
            EventRow(kind, session, client, first, last, times, bool(tainted), _facts(facts))
            for kind, session, client, first, last, times, tainted, facts in reversed(found)
        ]
    )


def notices(connection: sqlite3.Connection, acked: bool, limit: int) -> tuple[NoticeRow, ...]:
    """The newest notices, oldest first; with `acked` also those that were acknowledged."""
    found = connection.execute(
        "SELECT id, code, session, client, first, seen, times, acked, facts FROM notices"
        " WHERE acked <= ? ORDER BY id DESC LIMIT ?",
        (acked, limit),
    ).fetchall()
    return tuple(
        [
            NoticeRow(n, code, session, client, first, last, times, bool(acked), _facts(facts))
            for n, code, session, client, first, last, times, acked, facts in reversed(found)
        ]
    )


def counters(connection: sqlite3.Connection) -> dict[str, int]:
    """All counters, by name."""
    return dict(connection.execute("SELECT name, value FROM counters ORDER BY name"))


def audit(
    connection: sqlite3.Connection, after: int, since: float, limit: int
) -> tuple[AuditRow, ...]:
    """The newest rows behind the number `after` that were seen `since`, oldest first."""
    found = connection.execute(
        "SELECT id, first, seen, times, value FROM audit WHERE id > ? AND seen >= ?"
        " ORDER BY id DESC LIMIT ?",
        (after, since, limit),
    ).fetchall()
    return tuple(AuditRow(*row) for row in reversed(found))


def sessions(connection: sqlite3.Connection, limit: int) -> tuple[SessionRow, ...]:
    """The sessions that were seen last, the newest last."""
    found = connection.execute(
        "SELECT session, client, first, seen, requests, rounds, tainted FROM sessions"
        " ORDER BY seen DESC LIMIT ?",
        (limit,),
    ).fetchall()
    return tuple(
        [
            SessionRow(session, client, first, last, requests, rounds, bool(tainted))
            for session, client, first, last, requests, rounds, tainted in reversed(found)
        ]
    )


def delete(connection: sqlite3.Connection, before: float) -> int:
    """Forget what was last seen `before` that time, and the oldest of what is too much, a bounded
    number of each."""
    gone = connection.execute(
        "DELETE FROM rates WHERE key IN (SELECT key FROM rates WHERE seen < ? LIMIT ?)",
        (before, _EXPIRED_AT_ONCE),
    ).rowcount
    for table, (key, most, may) in _KEPT.items():
        count = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - names of ours
        spare = min(max(0, count - most), _EXPIRED_AT_ONCE)
        old = f"SELECT {key} FROM {table} WHERE {may} AND seen < ? LIMIT {_EXPIRED_AT_ONCE}"  # noqa: S608
        query = f"DELETE FROM {table} WHERE {key} IN ({old})"  # noqa: S608
        gone += connection.execute(query, (before,)).rowcount
        if spare:
            oldest = f"SELECT {key} FROM {table} ORDER BY seen LIMIT {spare}"  # noqa: S608
            gone += connection.execute(f"DELETE FROM {table} WHERE {key} IN ({oldest})").rowcount  # noqa: S608
    return gone


def _count(connection: sqlite3.Connection, counts: Iterable[tuple[str, int]]) -> None:
    connection.executemany(
        "INSERT INTO counters (name, value) VALUES (?, ?)"
        " ON CONFLICT (name) DO UPDATE SET value = value + excluded.value",
        list(counts),
    )


def _session(connection: sqlite3.Connection, seen: Seen, now: float) -> None:
    connection.execute(
        "INSERT INTO sessions (session, client, first, seen, requests, rounds, tainted)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session) DO UPDATE SET seen = excluded.seen,"
        " requests = requests + excluded.requests, rounds = max(rounds, excluded.rounds),"
        " tainted = max(tainted, excluded.tainted)",
        (seen.session, seen.client, now, now, seen.requests, seen.rounds, seen.tainted),
    )


def _event(connection: sqlite3.Connection, event: Happened, now: float) -> Recorded:
    query = (
        "INSERT INTO events (digest, kind, session, client, first, seen, times, tainted, facts)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO UPDATE SET"
        " seen = excluded.seen, times = times + excluded.times,"
        " tainted = max(tainted, excluded.tainted) RETURNING times"
    )
    values = (event.digest, event.kind, event.session, event.client, now, now)
    more = (event.times, event.tainted, _dumped(event.facts))
    times = connection.execute(query, (*values, *more)).fetchone()[0]
    recent, tainted = connection.execute(
        "SELECT count(*), coalesce(sum(tainted), 0) FROM events"
        " WHERE kind = ? AND session = ? AND first > ?",
        (event.kind, event.session, now - event.within if event.within else -1.0),
    ).fetchone()
    return Recorded(times == event.times, recent, tainted)


def _audit(connection: sqlite3.Connection, row: Audited, now: float) -> bool:
    query = (
        "INSERT INTO audit (digest, first, seen, times, value) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (digest) DO UPDATE SET"
        " seen = excluded.seen, times = times + excluded.times RETURNING times"
    )
    values = (row.digest, now, now, row.times, row.value)
    fresh = bool(connection.execute(query, values).fetchone()[0] == row.times)
    if fresh and row.counts:
        _count(connection, [(name, 1) for name in row.counts])
    return fresh


def _notice(connection: sqlite3.Connection, raised: Raised, now: float) -> bool:
    last = connection.execute(
        "SELECT id, first FROM notices WHERE code = ? AND session = ? ORDER BY first DESC LIMIT 1",
        (raised.code, raised.session),
    ).fetchone()
    if last is not None and last[1] > now - raised.latch:
        connection.execute(
            "UPDATE notices SET times = times + ?, seen = ? WHERE id = ?",
            (raised.times, now, last[0]),
        )
        return False
    connection.execute(
        "INSERT INTO notices (code, session, client, first, seen, times, acked, facts)"
        " VALUES (?, ?, ?, ?, ?, ?, 0, ?)",
        (raised.code, raised.session, raised.client, now, now, raised.times, _dumped(raised.facts)),
    )
    return True


def _dumped(facts: Mapping[str, str]) -> str:
    return json.dumps(dict(facts))


def _facts(text: str) -> Mapping[str, str]:
    read: Iterable[tuple[str, object]] = json.loads(text).items()
    return {name: str(value) for name, value in read}
