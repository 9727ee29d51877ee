"""The state is full, locked, or its node is killed: who is refused, who goes on, what is kept."""

import asyncio
import contextlib
import json
import signal
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from policies.decision import Leg
from proxy.config import Config
from proxy.demo.upstream import ScriptedUpstream
from proxy.state import sqlite as sqlite_module
from proxy.state.sqlite import SqliteStore
from tests.scenes.bodies import BODIES, PATHS, secret
from tests.scenes.nodes import served, upstream
from tests.scenes.staging import Stage, echo, staged

SESSION = {"x-claude-code-session-id": "one"}
PATH = PATHS["anthropic_messages"]
Trouble = Callable[[Stage, Path], AbstractContextManager[None]]


def on_disk(folder: Path) -> Callable[[Config], Config]:
    return lambda config: replace(config, state_url=f"sqlite://{folder}/t.db")


@contextlib.contextmanager
def locked(stage: Stage, folder: Path) -> Iterator[None]:
    """Another process holds the file."""
    with contextlib.closing(sqlite3.connect(folder / "t.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        yield
        holder.execute("ROLLBACK")


@contextlib.contextmanager
def full(stage: Stage, folder: Path) -> Iterator[None]:
    """SQLite finds no room for a further page, as on a full disk."""
    store: Any = stage.node.parts.store
    _pages(store, 1)
    yield
    _pages(store, 1000000)


def _pages(store: Any, most: int) -> None:
    """So many pages, for all connections that write."""
    pragma = f"PRAGMA max_page_count = {most}"
    store._inline._connection.execute(pragma).fetchall()
    store._writer.post(lambda db: db.execute(pragma).fetchall())


@contextlib.asynccontextmanager
async def node(folder: Path, leg: Leg, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Stage]:
    monkeypatch.setattr(sqlite_module, "BUSY_SECONDS", 0.05)
    async with staged(leg=leg, change=on_disk(folder)) as stage:
        fine = BODIES["anthropic_messages"]("first")
        assert (await stage.post(PATH, fine, SESSION)).status == 200
        await stage.node.parts.owner.recorder.flush()
        yield stage


def fresh(number: int) -> dict[str, Any]:
    """A conversation that nobody has seen, with a result large enough to need a page."""
    body = BODIES["anthropic_messages"](f"result {number} " + "x" * 20_000)
    body["messages"][0]["content"] = f"Do number {number}."
    return body


@pytest.mark.parametrize("trouble", [locked, full], ids=["locked", "full"])
async def test_a_cloud_gets_nothing_that_cannot_be_written_down(
    trouble: Trouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is clean is refused as long as it lasts, and so is what is not; nothing is sent.
    Afterwards everything works, and the audit knows what was refused."""
    async with node(tmp_path, Leg.CLOUD, monkeypatch) as stage:
        sent = len(stage.upstream.requests)
        with trouble(stage, tmp_path):
            if trouble is full:
                statuses = [(await stage.post(PATH, fresh(n), SESSION)).status for n in range(90)]
                assert statuses[-1] == 503
            else:
                answer = await stage.post(PATH, fresh(1), SESSION)
                assert answer.headers["x-transom-notice"] == "state-unavailable"
                assert len(stage.upstream.requests) == sent
            blocked = await stage.post(PATH, BODIES["anthropic_messages"](secret()), SESSION)
            # The rate is not known, or the screen has found it: either way it stays here.
            assert blocked.headers["x-transom-notice"] in ("state-unavailable", "egress-blocked")
            assert secret().encode() not in b"".join(stage.upstream.received)
        assert (await stage.post(PATH, fresh(2), SESSION)).status == 200
        await stage.node.parts.owner.recorder.flush()
        rows = [json.loads(row.value) for row in await stage.node.parts.store.audit()]
        assert blocked.headers["x-transom-notice"] in {row["notice"] for row in rows}
        assert "state-unavailable" in {row["notice"] for row in rows}


@pytest.mark.parametrize("trouble", [locked, full], ids=["locked", "full"])
async def test_home_goes_on_without_its_book(
    trouble: Trouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answered all the same, and what was counted meanwhile is written afterwards."""
    async with node(tmp_path, Leg.LOCAL, monkeypatch) as stage:
        count = 40 if trouble is full else 2
        with trouble(stage, tmp_path):
            for number in range(count):
                assert (await stage.post(PATH, fresh(number), SESSION)).status == 200
        await stage.node.parts.owner.recorder.flush()
        await stage.node.parts.owner.recorder.flush()
        assert (await stage.node.parts.store.counters())["requests"] == count + 1


async def test_what_was_answered_as_blocked_is_in_the_audit_of_a_killed_node(
    tmp_path: Path,
) -> None:
    """The moment the client has its refusal, the process dies: the row is there."""

    def play(url: str) -> int:
        with served(tmp_path, upstream(url), ends=-signal.SIGKILL) as killed:
            status, headers, _ = killed.post(PATH, BODIES["anthropic_messages"](secret()), SESSION)
            killed.process.send_signal(signal.SIGKILL)
            killed.process.wait()
            assert headers["x-transom-notice"] == "egress-blocked"
        return status

    async with ScriptedUpstream(echo) as vendor:
        assert await asyncio.to_thread(play, vendor.url) == 400
    store = SqliteStore(tmp_path / "state" / "transom" / "transom.db")
    (row,) = await store.audit()
    (notice,) = await store.notices()
    await store.close()
    assert json.loads(row.value)["notice"] == notice.code == "egress-blocked"
