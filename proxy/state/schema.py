"""The tables of the SQLite state, step by step, and whether a database is ours.

Owns the migrations: each runs once, in one transaction, and is never edited after a release. It
must not know who reads the tables.
"""

import hashlib
import hmac
import sqlite3
from pathlib import Path

from proxy.state import home_rows
from proxy.state.base import StateRefused
from proxy.state.book_rows import TABLES

APPLICATION_ID = 0x5452_4E53
"""Marks the file as ours (`PRAGMA application_id`)."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        f"PRAGMA application_id = {APPLICATION_ID}",
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
        # `seen`: seconds since 1970 at which the row was last used, to within a day; what
        # `ledger.keep` counts from.
        """CREATE TABLE frames (
            digest BLOB PRIMARY KEY,
            nonce BLOB NOT NULL,
            field TEXT NOT NULL,
            intro INTEGER NOT NULL,
            seen INTEGER NOT NULL
        ) WITHOUT ROWID""",
        "CREATE INDEX frames_seen ON frames (seen)",
    ),
    (
        "ALTER TABLE frames ADD COLUMN kept INTEGER",
        "ALTER TABLE frames ADD COLUMN encode TEXT NOT NULL DEFAULT 'raw'",
        # Pins of conversations, how turns are read, where a view began anew, texts that were
        # placed: each under a digest of what it is about.
        """CREATE TABLE conversations (
            digest BLOB PRIMARY KEY,
            value TEXT NOT NULL,
            seen INTEGER NOT NULL
        ) WITHOUT ROWID""",
        "CREATE INDEX conversations_seen ON conversations (seen)",
    ),
    tuple(TABLES.split(";")),
    ("ALTER TABLE frames ADD COLUMN followed INTEGER NOT NULL DEFAULT 0",),
    home_rows.TABLE,
    # Every row of a request would have to be written there as well (`rows.stale`).
    ("DROP INDEX frames_seen", "DROP INDEX conversations_seen"),
)


def migrate(connection: sqlite3.Connection, path: Path, key: bytes) -> None:
    """Bring the tables up to date and compare the key with the one that the database was made
    with. `StateRefused`: another program's or a newer version's database, or a foreign key."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection, path)
        for number, statements in enumerate(MIGRATIONS[version:], version + 1):
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
        _compare_key(connection, path, key)
    except (sqlite3.Error, StateRefused):
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    owner = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if (version or owner or tables) and owner != APPLICATION_ID:
        raise StateRefused(f"{path} is the database of another program; name another file")
    if version > len(MIGRATIONS):
        raise StateRefused(
            f"{path} was written by a newer version of Transom; run that version or newer"
        )
    return version


def _compare_key(connection: sqlite3.Connection, path: Path, key: bytes) -> None:
    # Keyed, so that the value tells nothing about the key.
    mine = hashlib.blake2b(b"state", key=key, digest_size=32, person=b"transom-check").digest()
    connection.execute("INSERT OR IGNORE INTO meta VALUES ('key_check', ?)", (mine,))
    stored = connection.execute("SELECT value FROM meta WHERE name = 'key_check'").fetchone()[0]
    # SECURITY: under a foreign key every framed result would look new and change its bytes.
    if not hmac.compare_digest(mine, stored):
        raise StateRefused(
            f"the state key does not belong to {path}; put the right key back,"
            " or move the database away to start anew"
        )
