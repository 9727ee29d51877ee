"""A connection on the event loop for what takes less time than the way to a thread.

Owns the one attempt, and when none is made. It must not know tables. To claim or look up a few rows
takes some twenty microseconds where it stands, and ten times that by way of a thread, as both want
the interpreter. Nothing is waited for here: while somebody else writes, and whatever fails, it is
left to the thread (`worker`), which waits, tries again and says what is wrong. A disk that turns
out to be slow is left to the thread for a while. This connection never puts the log back into the
file, which syncs the disk.
"""

import sqlite3
import time
from collections.abc import Callable
from typing import Final, TypeVar

from proxy.state.worker import FAILURES

Result = TypeVar("Result")

SLOW: Final = 0.02
"""Seconds that one write may hold the loop. One that takes longer may only have waited for its
turn on a busy machine; two in a row say that the disk is slow."""

REST: Final = 30.0
"""Seconds for which everything is left to the thread then."""


class Inline:
    """One connection, opened when it is first needed. `clock`: seconds, however counted."""

    def __init__(
        self,
        connect: Callable[[], sqlite3.Connection],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self._clock = clock
        self._connection: sqlite3.Connection | None = None
        self._rests = 0.0
        self._slow = 0
        self._closed = False

    def attempt(self, work: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """The result of `work`, never None, in a transaction of its own, once that has been
        committed; None where that could not be done at once, and then nothing has been written."""
        return self._tried(self._transact, work)

    def bare(self, work: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """The same for `work` that only reads, or that is a single statement: a transaction of its
        own as it is, and one round it would cost half as much again."""
        return self._tried(self._bare, work)

    def _tried(
        self,
        way: Callable[[Callable[[sqlite3.Connection], Result]], Result],
        work: Callable[[sqlite3.Connection], Result],
    ) -> Result | None:
        begun = self._clock()
        if self._closed or begun < self._rests:
            return None
        try:
            result = way(work)
        except FAILURES:
            return None
        finally:
            ended = self._clock()
            self._slow = self._slow + 1 if ended - begun > SLOW else 0
            if self._slow > 1:
                self._rests = ended + REST
        return result

    def close(self) -> None:
        """Let go of the file. May be called twice."""
        self._closed = True
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _bare(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        return work(self._open())

    def _transact(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        connection = self._open()
        connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(connection)
            connection.execute("COMMIT")
        except FAILURES:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return result
