"""Marks of what was said at home and must not reach a cloud, in the SQLite state.

Owns the table and its statements. It must not know what a digest stands for. All functions run in
one of the threads of the store, within its transaction.
"""

import sqlite3
from collections.abc import Sequence

from proxy.state.rows import EXPIRED_AT_ONCE

TABLE = (
    # One mark may belong to several sessions, and holds until the last of them is released.
    """CREATE TABLE home (
        digest BLOB NOT NULL,
        session TEXT NOT NULL,
        seen INTEGER NOT NULL,
        PRIMARY KEY (digest, session)
    ) WITHOUT ROWID""",
    "CREATE INDEX home_session ON home (session)",
    "CREATE INDEX home_seen ON home (seen)",
)

_CHUNK = 500
_DAY = 86_400


def mark(connection: sqlite3.Connection, digests: Sequence[bytes], session: str, now: int) -> int:
    """Write the marks of a session; those that are there count as seen now. How many were given."""
    connection.executemany(
        "INSERT INTO home (digest, session, seen) VALUES (?, ?, ?)"
        " ON CONFLICT (digest, session) DO UPDATE SET seen = excluded.seen",
        [(digest, session, now) for digest in digests],
    )
    return len(digests)


def marked(
    connection: sqlite3.Connection, digests: Sequence[bytes], now: int
) -> tuple[frozenset[bytes], tuple[bytes, ...]]:
    """Those of `digests` that are marked for any session, and those of them that have not counted
    as seen for a day."""
    found: set[bytes] = set()
    stale: set[bytes] = set()
    for start in range(0, len(digests), _CHUNK):
        chunk = digests[start : start + _CHUNK]
        holes = ",".join("?" * len(chunk))
        query = f"SELECT digest, seen FROM home WHERE digest IN ({holes})"  # noqa: S608 - no values
        for digest, seen in connection.execute(query, chunk):
            found.add(digest)
            if seen < now - _DAY:
                stale.add(digest)
    return frozenset(found), tuple(stale)


def present(connection: sqlite3.Connection) -> bool:
    """Whether there are any marks."""
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM home)").fetchone()[0])


def touch(connection: sqlite3.Connection, digests: Sequence[bytes], now: int) -> None:
    """Count the marks as seen now, where that is not known to the day: nobody writes for a mark
    that is found with every request."""
    connection.executemany(
        "UPDATE home SET seen = ? WHERE digest = ? AND seen < ?",
        [(now, digest, now - _DAY) for digest in digests],
    )


def release(connection: sqlite3.Connection, session: str) -> int:
    """Forget the marks of a session; how many there were."""
    return connection.execute("DELETE FROM home WHERE session = ?", (session,)).rowcount


def delete(connection: sqlite3.Connection, before: int) -> int:
    """Forget marks that were last seen `before` that time, a bounded number."""
    return connection.execute(
        "DELETE FROM home WHERE (digest, session) IN"
        " (SELECT digest, session FROM home WHERE seen < ? LIMIT ?)",
        (before, EXPIRED_AT_ONCE),
    ).rowcount
