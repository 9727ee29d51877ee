"""Waiting for an answer from home: signs of life, seats that are given back, clients that leave."""

import asyncio
import gc
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from proxy.config import Config
from proxy.demo.files import nsec
from proxy.demo.reply import Framing
from proxy.demo.upstream import Fault, Recorded, Reply, Script
from proxy.dialects.finals import LINES
from proxy.local import home
from tests.scenes import bodies
from tests.scenes.hearth import MODEL, SAID, Home, at_home, lines, ollama, says, words
from tests.scenes.talk import request
from tests.scenes.test_disconnects import alive, until

PATHS = bodies.PATHS
STRAIGHT = {
    "anthropic_messages": "anthropic",
    "openai_chat": "openai",
    "openai_responses": "openai",
}
ALIVE = {
    "anthropic_messages": b'{"type":"ping"}',
    "openai_chat": b": keep-alive",
    "openai_responses": b"keepalive",
    "ollama_chat": b'"content":""},"done":false',
}
TICK = 0.05


def asking(dialect: str, *, stream: bool) -> dict[str, Any]:
    body: dict[str, Any] = getattr(bodies, dialect)(f"key = {nsec()}")
    return {**body, "stream": stream}


def events(dialect: str) -> tuple[bytes, ...]:
    """A short answer of a server that speaks `dialect`, event by event."""
    found: list[dict[str, Any]]
    match dialect:
        case "anthropic_messages":
            message = {"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL}
            delta = {"type": "text_delta", "text": SAID}
            found = [
                {"type": "message_start", "message": {**message, "content": []}},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "message_stop"},
            ]
        case "openai_chat":
            base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
            choices = [{"index": 0, "delta": {"content": SAID}, "finish_reason": None}]
            found = [{**base, "choices": choices}]
        case _:
            over = {"id": "r", "object": "response", "model": MODEL, "output": []}
            found = [
                {"type": "response.output_text.delta", "delta": SAID},
                {"type": "response.completed", "response": over},
            ]
    done = [b"data: [DONE]\n\n"] if dialect == "openai_chat" else []
    return (*(f"data: {json.dumps(each)}\n\n".encode() for each in found), *done)


def whole(dialect: str) -> Reply:
    """The same in one piece."""
    text = {"type": "text", "text": SAID}
    match dialect:
        case "anthropic_messages":
            return Reply.of({"role": "assistant", "model": MODEL, "content": [text]})
        case "openai_chat":
            return Reply.of({"model": MODEL, "choices": [{"message": {"content": SAID}}]})
        case _:
            return Reply.of({"object": "response", "model": MODEL, "output": [{"content": [text]}]})


def speaking(reply: Reply | Fault) -> Script:
    """A server that speaks a dialect of the cloud, and is no Ollama."""

    def script(recorded: Recorded) -> Reply | Fault:
        if recorded.path == "/api/version":
            return Reply.of({"error": "not found"}, 404)
        return reply

    return script


def busy(stage: Home) -> int:
    return stage.node.parts.hearth.home.busy


@pytest.mark.parametrize("prefer", ["cloud", "local"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", STRAIGHT)
async def test_every_seat_is_given_back(dialect: str, stream: bool, prefer: str) -> None:
    """More answers than there are seats, one after the other, of a server that is asked straight;
    every one of them comes, under the name of the model that was asked for."""
    reply = Reply.stream(events(dialect)) if stream else whole(dialect)
    async with at_home(script=speaking(reply), speaks=(STRAIGHT[dialect],), prefer=prefer) as stage:
        for _ in range(home.SEATS + 2):
            answer = await stage.post(PATHS[dialect], asking(dialect, stream=stream))
            assert (answer.status, SAID.encode() in answer.body) == (200, True)
            assert MODEL.encode() not in answer.body
        assert busy(stage) == 0
        assert stage.upstream.accepted == 0


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("dialect", STRAIGHT)
async def test_a_server_asked_straight_lets_nobody_think_it_dead(
    dialect: str, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Signs of life before its first event and between its events, never within one."""
    monkeypatch.setattr("proxy.local.home.HOLD", TICK if late else 5.0)
    monkeypatch.setattr("proxy.local.lively.QUIET", TICK)
    first, *rest = events(dialect)
    half = len(first) // 2
    steps: list[bytes | float] = [first[:half], TICK * 4, first[half:], TICK * 6, *rest]
    reply = Reply.stream([TICK * 6, *steps] if late else steps)
    async with at_home(script=speaking(reply), speaks=(STRAIGHT[dialect],)) as stage:
        answer = await stage.post(PATHS[dialect], asking(dialect, stream=True))
        assert answer.body.count(ALIVE[dialect]) >= 3
        first_of_all = ALIVE[dialect] if dialect == "anthropic_messages" else b": keep-alive"
        assert (first_of_all in answer.body.partition(b"\n\n")[0]) == late
        for event in answer.body.split(b"\n\n"):
            for line in event.splitlines():
                assert not line.startswith(b"data: {") or json.loads(line[6:])
        assert SAID.encode() in answer.body
        assert busy(stage) == 0


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_model_that_thinks_for_minutes_is_alive(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thoughts are not told, and the client sees that it goes on all the same."""
    monkeypatch.setattr("proxy.local.telling.QUIET", TICK)
    thoughts: list[bytes | float] = []
    for line in lines(*[{"content": "", "thinking": "hm"}] * 30)[:-1]:
        thoughts += [line, TICK / 4]
    reply = Reply.stream((*thoughts, *words().chunks), LINES)
    async with at_home(reply) as stage:
        answer = await stage.post(PATHS[dialect], asking(dialect, stream=True))
        assert answer.body.count(ALIVE[dialect]) >= 3
        assert b"hm" not in answer.body


async def test_a_whole_answer_may_take_as_long_as_it_takes() -> None:
    """Nothing can be said before it is there; whatever the pace, it comes in one piece."""
    slow: list[bytes | float] = []
    for line in words().chunks:
        assert isinstance(line, bytes)
        slow += [line, 0.02]
    async with at_home(Reply.stream(slow, LINES)) as stage:
        answer = await stage.post("/v1/messages", asking("anthropic_messages", stream=False))
        assert answer.json()["content"] == [{"type": "text", "text": SAID}]


@pytest.mark.parametrize("dialect", STRAIGHT)
async def test_a_whole_answer_of_a_server_asked_straight_may_take_longer_than_a_first_byte(
    dialect: str,
) -> None:
    """Its head comes with its last word. A stream has to begin in time all the same, and a server
    that never answers is given up."""

    def hasty(config: Config) -> Config:
        timeouts = replace(config.timeouts, home_first_byte=0.1, first_byte=1.0)
        return replace(config, timeouts=timeouts)

    body = b"".join(step for step in whole(dialect).chunks if isinstance(step, bytes))
    head = (
        f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    slow = Reply(chunks=(0.5, head.encode() + body), framing=Framing.RAW)
    script, speaks = speaking(slow), (STRAIGHT[dialect],)
    async with at_home(script=script, speaks=speaks, change=hasty) as stage:
        answer = await stage.post(PATHS[dialect], asking(dialect, stream=False))
        assert (answer.status, SAID.encode() in answer.body) == (200, True)
        answer = await stage.post(PATHS[dialect], asking(dialect, stream=True))
        assert answer.headers["x-transom-notice"] == "upstream-timeout"
        stage.home.script = speaking(Fault.STALL)
        answer = await stage.post(PATHS[dialect], asking(dialect, stream=False))
        assert answer.headers["x-transom-notice"] == "upstream-timeout"
        assert (busy(stage), stage.upstream.accepted) == (0, 0)


LEAVING: dict[str, Sequence[Any]] = {
    "before the first word": (Fault.STALL,),
    "in the middle": (*lines({"content": "half"})[:1], Fault.STALL),
    "while it thinks": (*lines({"content": "", "thinking": "hm"})[:1], Fault.STALL),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("phase", LEAVING)
async def test_a_client_that_leaves_gives_its_seat_back(phase: str, stream: bool) -> None:
    """Whenever it leaves, and the model stops within a second."""
    async with at_home(Reply.stream(LEAVING[phase], LINES)) as stage:
        await _leaves(stage, "/v1/messages", asking("anthropic_messages", stream=stream))


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("words_first", [False, True])
async def test_a_client_that_leaves_a_server_asked_straight(
    words_first: bool, stream: bool, late: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same, in the other way home."""
    monkeypatch.setattr("proxy.local.home.HOLD", 0.0 if late else 5.0)
    first = events("openai_chat")[0] if stream else b'{"choices": ['
    form = "text/event-stream" if stream else "application/json"
    reply = Reply.stream((first, Fault.STALL), form) if words_first else Fault.STALL
    async with at_home(script=speaking(reply), speaks=("openai",)) as stage:
        await _leaves(stage, PATHS["openai_chat"], asking("openai_chat", stream=stream))


async def _leaves(stage: Home, path: str, body: dict[str, Any], speaks: str = "") -> None:
    port = stage.node.parts.listener.port
    way = b"/api/chat" if speaks == "ollama" else _asked(path)
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request(port, path, body))

    def asked() -> list[Any]:
        connections = [c for c in stage.home.connections if not c.closed.is_set()]
        return [c for c in connections if b"POST " + way in c.received]

    async with asyncio.timeout(5):
        while not asked():
            await asyncio.sleep(0.005)
    await asyncio.sleep(TICK)
    assert busy(stage) == 1
    writer.transport.abort()
    async with asyncio.timeout(1):
        while asked() or busy(stage):
            await asyncio.sleep(0.005)
    assert stage.upstream.accepted == 0


def _asked(path: str) -> bytes:
    return path.encode() if path == PATHS["openai_chat"] else b"/api/chat"


@pytest.mark.parametrize("speaks", ["ollama", "openai"])
async def test_who_leaves_home_is_forgotten_without_the_collector(
    speaks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No ring keeps the question, nor what has come of the answer."""
    monkeypatch.setattr("proxy.connector.KEEP", 0.2)  # such a connection knows its last answer
    path, body = PATHS["openai_chat"], asking("openai_chat", stream=True)
    if speaks == "ollama":
        script = ollama(Reply.stream(LEAVING["in the middle"], LINES))
    else:
        script = speaking(Reply.stream((events("openai_chat")[0], Fault.STALL)))
    async with at_home(script=script, speaks=(speaks,)) as stage:
        await _leaves(stage, path, body, speaks)
        await asyncio.sleep(0.1)
        gc.collect()
        before = alive()
        gc.disable()
        try:
            for _ in range(3):
                await _leaves(stage, path, body, speaks)
            await until(lambda: not alive() - before, 3)
        finally:
            gc.enable()


async def test_a_client_that_leaves_while_the_owner_is_told_gives_its_seat_back() -> None:
    """Home first: the answer is there, and what was decided is being written down."""
    reached, never = asyncio.Event(), asyncio.Event()

    async def waits(*_: object) -> None:
        reached.set()
        await never.wait()

    async with at_home(says({"content": SAID}), prefer="local") as stage:
        stage.node.parts.owner.decided = waits  # type: ignore[method-assign]
        port = stage.node.parts.listener.port
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        body = {**bodies.anthropic_messages("nothing special"), "stream": True}
        writer.write(request(port, "/v1/messages", body))
        await asyncio.wait_for(reached.wait(), 5)
        assert busy(stage) == 1
        writer.transport.abort()
        async with asyncio.timeout(1):
            while busy(stage):
                await asyncio.sleep(0.005)
        assert stage.upstream.accepted == 0
