"""The rows of the SQLite state: reading, claiming, refreshing and forgetting them.

Owns the statements. It must not know files, threads or what a digest stands for. All functions run
in one of the threads of the store, within its transaction.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeVar

from policies.decision import FrameRow
from proxy.state.base import Claim, NoteClaim, Rows

EXPIRED_AT_ONCE = 1000
"""Rows of a table that one transaction forgets, so that no claim waits long behind it."""

_CHUNK = 500
_BOUNDS = (b"", *(bytes([first]) for first in range(4, 256, 4)), b"\xff" * 64)

Part = tuple[bytes, bytes]
"""Digests from the first one on that stand before the second one."""

PARTS: Final[Sequence[Part]] = tuple(pairwise(_BOUNDS))
"""All digests, in parts with about as many rows each, as digests are of chance."""

_FRAMES = (
    "SELECT digest, seen, nonce, field, intro, kept, encode, followed FROM frames WHERE digest IN "
)
_NOTES = "SELECT digest, seen, value FROM conversations WHERE digest IN "
_CLAIM_FRAME = """
    INSERT INTO frames (digest, nonce, field, intro, kept, encode, followed, seen)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING
"""
_CLAIM_NOTE = """
    INSERT INTO conversations (digest, value, seen) VALUES (?, ?, ?)
    ON CONFLICT (digest) DO UPDATE SET seen = excluded.seen
"""

_STALE_FRAMES = """
    SELECT digest FROM frames WHERE digest >= ? AND digest < ? AND seen < ? LIMIT ?
"""
_STALE_NOTES = """
    SELECT digest FROM conversations WHERE digest >= ? AND digest < ? AND seen < ? LIMIT ?
"""
_FORGET_FRAME = "DELETE FROM frames WHERE digest = ? AND seen < ?"
_FORGET_NOTE = "DELETE FROM conversations WHERE digest = ? AND seen < ?"

Value = TypeVar("Value")
Stale = tuple[Sequence[bytes], Sequence[bytes]]
"""Digests of frames and of notes that were last seen too long ago."""


def select(
    connection: sqlite3.Connection,
    frames: Sequence[bytes],
    notes: Sequence[bytes],
    before: int = 0,
) -> tuple[Rows, Stale]:
    """The rows that there are, and which of them were last seen `before` that time."""
    old_frames: list[bytes] = []
    old_notes: list[bytes] = []
    found = Rows(
        dict(_each(connection, _FRAMES, frames, _frame, before, old_frames)),
        dict(_each(connection, _NOTES, notes, _note, before, old_notes)),
    )
    return found, (old_frames, old_notes)


def insert_one(connection: sqlite3.Connection, frame: Claim, now: int) -> Claim | None:
    """Write one row, in a single statement; None, and nothing is written, where there is one."""
    written = connection.execute(_CLAIM_FRAME, _written(*frame, now)).rowcount == 1
    return frame if written else None


def insert(
    connection: sqlite3.Connection,
    frames: Sequence[Claim],
    notes: Sequence[NoteClaim],
    now: int,
) -> Rows:
    """Write what is not there yet; what holds for each digest, which counts as seen now. Nothing is
    written where a note says something else already."""
    frames_of, notes_of = [digest for digest, _ in frames], [digest for digest, _ in notes]
    if notes:
        said = select(connection, (), notes_of)[0].notes
        if any(said.get(digest, text) != text for digest, text in notes):
            return select(connection, frames_of, notes_of)[0]
    won = _first(connection, frames, now)
    if notes:
        connection.executemany(_CLAIM_NOTE, [(digest, value, now) for digest, value in notes])
    if won is None:
        touch(connection, (frames_of, ()), now)
        won = select(connection, frames_of, ())[0].frames
    # Of two notes under one digest the first has been written.
    return Rows(won, dict(reversed(notes)))


def _first(
    connection: sqlite3.Connection, frames: Sequence[Claim], now: int
) -> Mapping[bytes, FrameRow] | None:
    """Write the rows that are not there yet; all of them, None where there was one already."""
    new = [_written(digest, row, now) for digest, row in frames]
    if not new or connection.executemany(_CLAIM_FRAME, new).rowcount == len(new):
        return dict(frames)
    return None


def _written(digest: bytes, row: FrameRow, now: int) -> tuple[object, ...]:
    nonce = bytes.fromhex(row.nonce)
    return digest, nonce, row.field, row.intro, row.kept, row.encode, row.followed, now


def touch(connection: sqlite3.Connection, stale: Stale, now: int) -> None:
    """Count the rows as seen now."""
    frames, notes = stale
    connection.executemany(
        "UPDATE frames SET seen = ? WHERE digest = ?", [(now, d) for d in frames]
    )
    connection.executemany(
        "UPDATE conversations SET seen = ? WHERE digest = ?", [(now, d) for d in notes]
    )


def stale(connection: sqlite3.Connection, before: int, part: Part) -> Stale:
    """What of one of the `PARTS` was last seen `before` that time, `EXPIRED_AT_ONCE` of a table at
    most. All rows are looked at for that, once in an hour: an index would be written with each of
    them, for a request that waits."""
    about = (*part, before, EXPIRED_AT_ONCE)
    frames, notes = (
        [digest for (digest,) in connection.execute(query, about)]
        for query in (_STALE_FRAMES, _STALE_NOTES)
    )
    return frames, notes


def delete(connection: sqlite3.Connection, old: Stale, before: int) -> int:
    """Forget what is `old` and was not seen since that time; how many rows that were."""
    gone = 0
    for query, digests in zip((_FORGET_FRAME, _FORGET_NOTE), old, strict=True):
        if digests:
            gone += connection.executemany(query, [(one, before) for one in digests]).rowcount
    return gone


def _each(
    connection: sqlite3.Connection,
    query: str,
    digests: Sequence[bytes],
    made: Callable[..., Value],
    before: int,
    old: list[bytes],
) -> Iterator[tuple[bytes, Value]]:
    for start in range(0, len(digests), _CHUNK):
        chunk = digests[start : start + _CHUNK]
        marks = ",".join("?" * len(chunk))
        for digest, seen, *values in connection.execute(f"{query}({marks})", chunk):
            if seen < before:
                old.append(digest)
            yield digest, made(*values)


def _frame(
    nonce: bytes, field: str, intro: int, kept: int | None, encode: Any, followed: int
) -> FrameRow:
    return FrameRow(nonce.hex(), field, bool(intro), kept, encode, bool(followed))


def _note(value: str) -> str:
    return value
