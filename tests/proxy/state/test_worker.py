"""The thread that owns a connection."""

import asyncio
import sqlite3
import threading

import pytest

from proxy.state import StateError
from proxy.state.worker import Worker


def _worker(begin: str = "BEGIN") -> Worker:
    return Worker(
        lambda: sqlite3.connect(":memory:", isolation_level=None),
        name="test",
        begin=begin,
        deadline=5.0,
    )


async def test_what_arrives_together_shares_a_transaction() -> None:
    """Work that waits while a batch runs is done in one transaction, in order."""
    worker = _worker()
    depth: list[bool] = []
    await worker.call(lambda connection: connection.execute("CREATE TABLE t (x)"))

    def insert(connection: sqlite3.Connection) -> int:
        depth.append(connection.in_transaction)
        return connection.execute("INSERT INTO t VALUES (1)").lastrowid or 0

    assert await asyncio.gather(*(worker.call(insert) for _ in range(150))) == [*range(1, 151)]
    assert all(depth)
    await worker.close()


async def test_a_failing_batch_leaves_nothing_behind() -> None:
    """After an error the transaction is gone, whoever ended it, and the next work is done."""
    worker = _worker()

    def broken(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE t (x)")
        connection.execute("nonsense")

    def ended(connection: sqlite3.Connection) -> None:
        connection.execute("ROLLBACK")
        connection.execute("nonsense")

    for work in (broken, ended):
        with pytest.raises(StateError, match=r"OperationalError$"):
            await worker.call(work)
    tables = "SELECT count(*) FROM sqlite_master"
    assert await worker.call(lambda connection: connection.execute(tables).fetchone()) == (0,)
    await worker.close()


async def test_what_fails_alone_takes_nobody_along() -> None:
    """Without a transaction round all that waits, each has its own end."""
    worker, held = _worker(""), threading.Event()
    first = asyncio.create_task(worker.call(lambda _: held.wait(5)))
    await asyncio.sleep(0)
    worker.post(lambda connection: connection.execute("nonsense"))
    asked = asyncio.create_task(
        worker.call(lambda connection: connection.execute("SELECT 1").fetchone())
    )
    await asyncio.sleep(0)
    held.set()
    assert await first
    assert await asked == (1,)
    await worker.close()


async def test_a_row_of_another_shape_ends_no_thread() -> None:
    """A value that is not what it should be fails the call that meets it, and no later one."""
    worker = _worker()
    value = "SELECT 'text'"
    with pytest.raises(StateError, match=r"AttributeError$"):
        await worker.call(lambda connection: connection.execute(value).fetchone()[0].hex())
    assert await worker.call(lambda connection: connection.execute(value).fetchone()) == ("text",)
    await worker.close()


async def test_a_connection_that_cannot_be_made_is_tried_again() -> None:
    """The error is typed, its words do not quote SQLite, and the next call starts afresh."""
    tries: list[int] = []

    def connect() -> sqlite3.Connection:
        tries.append(1)
        if len(tries) == 1:
            raise sqlite3.OperationalError("unable to open /somewhere/private.db")
        return sqlite3.connect(":memory:", isolation_level=None)

    worker = Worker(connect, name="test", begin="", deadline=5.0)
    with pytest.raises(StateError) as caught:
        await worker.call(lambda connection: 1)
    assert "private" not in str(caught.value)
    assert await worker.call(lambda connection: 2) == 2
    await worker.close()


async def test_a_worker_that_was_never_used_closes() -> None:
    """Closing needs no connection, and twice is fine."""
    worker = _worker()
    await worker.close()
    await worker.close()
    with pytest.raises(StateError, match="closed"):
        await worker.call(lambda connection: 1)
