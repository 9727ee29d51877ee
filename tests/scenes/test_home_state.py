"""What home says while a state is slow or fails: no word of it before what it rests on is kept."""

import asyncio
import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proxy.config import Config
from proxy.demo.files import nsec
from proxy.demo.upstream import Fault, Recorded, Reply, Script
from proxy.dialects.finals import LINES
from proxy.state.base import StateError
from tests.scenes.hearth import Home, at_home, ollama, words
from tests.scenes.talk import request

SECRET = nsec()
CANARY = "Canary from home: the vault stands behind the third door."
NAMED = {"x-claude-code-session-id": "11111111-2222-3333-4444-555555555555"}
SPEAKS = ("ollama", "anthropic")


def asking(text: str = f"Keep {SECRET}.", **more: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": text}],
        **more,
    }


def server(reply: Reply | Fault, speaks: str) -> Script:
    """A home that says `reply`, whichever way it is asked."""
    if speaks == "ollama":
        return ollama(reply)

    def script(recorded: Recorded) -> Reply | Fault:
        if recorded.path == "/api/version":
            return Reply.of({"error": "not found"}, 404)
        return reply

    return script


async def given_up(stage: Home) -> None:
    """Nobody is asked any longer."""
    async with asyncio.timeout(1):
        for each in stage.home.connections:
            if b"POST /api/chat" in each.received or b"POST /v1/messages" in each.received:
                await each.closed.wait()
        while stage.node.parts.hearth.home.busy:
            await asyncio.sleep(0.005)
    assert stage.upstream.accepted == 0


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("speaks", SPEAKS)
async def test_marks_that_cannot_be_written_stop_a_model_that_has_not_spoken(
    speaks: str, stream: bool
) -> None:
    """The client is not kept waiting for what it will not be told, and the model does not go on."""

    async def fails(*_: object) -> None:
        raise StateError("no")

    async with at_home(script=server(Fault.STALL, speaks), speaks=(speaks,)) as stage:
        stage.node.parts.store.mark = fails  # type: ignore[method-assign]
        async with asyncio.timeout(2):
            answer = await stage.post("/v1/messages", asking(stream=stream))
        assert (answer.status, answer.headers["x-transom-notice"]) == (503, "state-unavailable")
        await given_up(stage)


def kept(folder: Path) -> Callable[[Config], Config]:
    return lambda config: replace(config, state_url=f"sqlite://{folder}/transom.db")


def says(speaks: str, *, stream: bool, slowly: float = 0.0) -> Reply:
    """The canary, as a home of this kind says it."""
    if speaks == "ollama":
        steps: list[bytes | float] = []
        for line in words(CANARY).chunks:
            assert isinstance(line, bytes)
            steps += [slowly, line] if slowly else [line]
        return Reply.stream(steps, LINES)
    said = {"type": "message", "role": "assistant", "model": "home:1b"}
    if not stream:
        return Reply.of({**said, "content": [{"type": "text", "text": CANARY}]})
    delta = {"type": "text_delta", "text": CANARY}
    events: tuple[dict[str, Any], ...] = (
        {"type": "message_start", "message": {**said, "content": []}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "message_stop"},
    )
    sent = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    return Reply.stream([step for event in sent for step in (slowly, event)])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("speaks", SPEAKS)
async def test_a_locked_state_lets_no_word_out(speaks: str, stream: bool, tmp_path: Path) -> None:
    """Home has answered, and somebody else writes: the client waits, another request of its session
    does not carry anything out meanwhile, and afterwards the session stays."""
    script = server(says(speaks, stream=stream), speaks)
    async with at_home(script=script, speaks=(speaks,), change=kept(tmp_path)) as stage:
        port, store = stage.node.parts.listener.port, stage.node.parts.store
        with closing(sqlite3.connect(tmp_path / "transom.db")) as other:
            marks, locked = store.mark, asyncio.Event()

            async def late(*whose: Any) -> None:
                if not locked.is_set():
                    other.execute("BEGIN IMMEDIATE")
                    locked.set()
                await marks(*whose)

            store.mark = late  # type: ignore[method-assign]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request(port, "/v1/messages", asking(stream=stream), NAMED))
            await asyncio.wait_for(locked.wait(), 5)
            second = asyncio.create_task(
                stage.post("/v1/messages", asking("Hello.", stream=stream), NAMED)
            )
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(reader.read(1), 0.5)
            assert any(SECRET.encode() in each.body for each in stage.home.requests)
            other.rollback()
        said = await asyncio.wait_for(reader.readuntil(b"door."), 5)
        assert b"local" in said
        writer.transport.abort()
        await second
        later = asking(f"It said: {CANARY}", stream=stream)
        third = await stage.post("/v1/messages", later, NAMED)
        assert third.headers["x-transom-notice"] == "home-only"
        assert CANARY.encode() not in b"".join(stage.upstream.received)
        assert SECRET.encode() not in b"".join(stage.upstream.received)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("speaks", SPEAKS)
async def test_clients_that_leave_at_any_moment_leave_nothing_behind(
    speaks: str, stream: bool, tmp_path: Path
) -> None:
    """Before the question leaves, while it is written down, before the first word, in the middle:
    no seat, no task, no connection that still speaks; and nothing has gone to a cloud."""
    moments = random.Random(8)
    script = server(says(speaks, stream=stream, slowly=0.004), speaks)
    async with at_home(script=script, speaks=(speaks,), change=kept(tmp_path)) as stage:
        await stage.post("/v1/messages", asking(stream=stream))
        port, before = stage.node.parts.listener.port, len(asyncio.all_tasks())

        async def leaves(number: int) -> None:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            body = asking(f"Keep {SECRET}, number {number}.", stream=stream)
            writer.write(request(port, "/v1/messages", body))
            await asyncio.sleep(moments.random() * 0.06)
            writer.transport.abort()

        for start in range(0, 48, 12):
            await asyncio.gather(*(leaves(start + at) for at in range(12)))
        home = stage.node.parts.hearth.home
        async with asyncio.timeout(5):
            while home.busy or len(_tasks(stage)) > before:
                await asyncio.sleep(0.01)
        assert stage.upstream.accepted == 0
        answer = await stage.post("/v1/messages", asking(stream=stream))
        assert answer.headers["x-transom-leg"] == "local"


def _tasks(stage: Home) -> set[asyncio.Task[Any]]:
    """All but those of the scripted home, which holds its side of idle connections."""
    return {task for task in asyncio.all_tasks() if task not in stage.home._tasks}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("speaks", SPEAKS)
async def test_the_end_of_an_answer_waits_for_what_is_remembered_of_it(
    speaks: str, stream: bool
) -> None:
    """Its lines are written down before it is whole, whichever way home is asked; where they cannot
    be, it does not come to its end."""

    async def fails(*_: object) -> None:
        raise StateError("no")

    script = server(says(speaks, stream=stream), speaks)
    async with at_home(script=script, speaks=(speaks,)) as stage:
        store = stage.node.parts.store
        marks, gate, count = store.mark, asyncio.Event(), 0

        async def second(*whose: Any) -> None:
            nonlocal count
            count += 1
            if count > 1:
                await gate.wait()
            await marks(*whose)

        store.mark = second  # type: ignore[method-assign]
        asked = asyncio.create_task(stage.post("/v1/messages", asking(stream=stream), NAMED))
        async with asyncio.timeout(5):
            while count < 2:
                await asyncio.sleep(0.005)
        await asyncio.sleep(0.1)
        assert not asked.done()
        gate.set()
        answer = await asked
        assert (answer.status, answer.body.count(b"door.")) == (200, 1)
        assert (b"message_stop" in answer.body) == stream
        other = asking(f"It said:\n{CANARY}", stream=stream)
        assert (await stage.post("/v1/messages", other)).headers["x-transom-leg"] == "local"
        count = 0

        async def third(*whose: Any) -> None:
            nonlocal count
            count += 1
            await (fails if count > 1 else marks)(*whose)

        store.mark = third  # type: ignore[method-assign]
        answer = await stage.post("/v1/messages", asking(f"{SECRET} again", stream=stream), NAMED)
        assert answer.status == (200 if stream else 503)
        assert b"state-unavailable" in answer.body
        assert b"message_stop" not in answer.body
        assert stage.upstream.accepted == 0
