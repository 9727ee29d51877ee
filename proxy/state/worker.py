"""One thread that owns one SQLite connection and does what an event loop asks of it.

Owns the hand-over between loop and thread, batching and the deadline. It must not know tables.
A thread of our own and not an executor: waiting work is taken in one batch, so that requests that
arrive together share a transaction.
"""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from proxy.state.base import StateError

Result = TypeVar("Result")

_BATCH = 64

FAILURES = (sqlite3.Error, ArithmeticError, AttributeError, TypeError, ValueError)
"""What SQLite says, and what a row raises that somebody has written by hand."""


@dataclass(frozen=True, slots=True)
class _Job(Generic[Result]):
    work: Callable[[sqlite3.Connection], Result]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Result] = field(compare=False)


class Worker:
    """Runs functions of a connection, in order. `begin` opens a transaction round each batch; with
    an empty `begin` each statement is its own."""

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], *, name: str, begin: str, deadline: float
    ) -> None:
        self._connect = connect
        self._begin = begin
        self._deadline = deadline
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def call(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """The result of `work`, once its transaction has been committed. `StateError`: SQLite
        failed, the deadline passed, or the worker is closed."""
        if self._closed:
            raise StateError("the state is closed")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        late = loop.call_later(self._deadline, _give_up, future)
        self._jobs.put(_Job(work, loop, future))
        try:
            return await future
        finally:
            late.cancel()

    def post(self, work: Callable[[sqlite3.Connection], object]) -> None:
        """Do `work` some time soon; nobody waits for it, and nobody misses it if it fails."""
        if not self._closed:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[object] = loop.create_future()
            future.add_done_callback(asyncio.Future.exception)
            self._jobs.put(_Job(work, loop, future))

    async def close(self) -> None:
        """Finish what is waiting, then end the thread."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    def _run(self) -> None:
        connection: sqlite3.Connection | None = None
        while batch := self._next():
            try:
                connection = connection or self._connect()
                results = self._transact(connection, batch)
            except FAILURES as error:
                # The words of SQLite may quote a statement or a path; its name for the error does.
                failure = StateError(f"the state failed: {type(error).__name__}")
                for job in batch:
                    _hand_over(job, None, failure)
            else:
                for job, result in zip(batch, results, strict=True):
                    _hand_over(job, result, None)
        if connection:
            connection.close()

    def _next(self) -> list[_Job[Any]]:
        """What is done in one transaction, up to a limit of all that waits, and one thing at a time
        without: whose work fails has it fail alone. Empty when it is time to end."""
        batch: list[_Job[Any]] = []
        most = _BATCH if self._begin else 1
        while not batch or (len(batch) < most and not self._jobs.empty()):
            job = self._jobs.get()
            if job is None:
                if batch:
                    self._jobs.put(None)
                break
            batch.append(job)
        return batch

    def _transact(self, connection: sqlite3.Connection, batch: list[_Job[Any]]) -> list[Any]:
        if not self._begin:
            return [job.work(connection) for job in batch]
        connection.execute(self._begin)
        try:
            results = [job.work(connection) for job in batch]
            connection.execute("COMMIT")
        except FAILURES:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return results


def _give_up(future: asyncio.Future[Any]) -> None:
    if not future.done():
        future.set_exception(StateError("the state did not answer in time"))


def _hand_over(job: _Job[Any], result: object, failure: StateError | None) -> None:
    def settle() -> None:
        if job.future.done():
            return
        if failure is None:
            job.future.set_result(result)
        else:
            job.future.set_exception(failure)

    # A loop that has been closed meanwhile waits for nothing.
    with contextlib.suppress(RuntimeError):
        job.loop.call_soon_threadsafe(settle)
