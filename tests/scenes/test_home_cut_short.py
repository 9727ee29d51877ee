"""A server at home that is asked in the client's own dialect, and fails: an error in that dialect,
never a part that passes for the whole, never the cloud."""

import json
from typing import Any

import pytest

from proxy.demo.files import nsec
from proxy.demo.reply import Framing
from proxy.demo.upstream import Fault, Reply
from tests.scenes import bodies
from tests.scenes.hearth import Home, at_home
from tests.scenes.staging import Heard
from tests.scenes.test_home_waiting import STRAIGHT, busy, events, speaking, whole

PATHS = bodies.PATHS
SECRET = nsec()
HEAD = b"HTTP/1.1 200 OK\r\nconnection: close\r\n"
JSON = b"content-type: application/json\r\n\r\n"
SSE = b"content-type: text/event-stream\r\n\r\n"


def raw(*chunks: bytes | Fault) -> Reply:
    """An answer without a length: its end is that of the connection."""
    return Reply(chunks=chunks, framing=Framing.RAW)


def body_of(dialect: str) -> bytes:
    return b"".join(step for step in whole(dialect).chunks if isinstance(step, bytes))


def failing(how: str, dialect: str, *, stream: bool) -> Reply | Fault:
    first, said = events(dialect)[0], body_of(dialect)
    half = first[: len(first) // 2] if stream else said[: len(said) // 2]
    form = "text/event-stream" if stream else "application/json"
    match how:
        case "it is reset":
            return Fault.RESET
        case "it closes":
            return Fault.CLOSE
        case "out of memory":
            return Reply.of({"error": {"message": "out of memory"}}, 500)
        case "it redirects":
            return Reply(307, (("location", "http://127.0.0.1:9/v1/x"),))
        case "a page":
            return Reply(200, (("content-type", "text/html"),), (b"<html>",))
        case "a failure with status 200":
            failed = {"error": {"message": "model unloaded", "code": 500}}
            return Reply.stream((b"data: [DONE]\n\n",)) if stream else Reply.of(failed)
        case "half of it, and its last word":
            done = b"data: [DONE]\n\n"
            return Reply.stream((first, done)) if stream else Reply.of({"object": "error"})
        case "the other form":
            return whole(dialect) if stream else Reply.stream(events(dialect))
        case "nothing":
            return Reply.stream((), form)
        case "half of it":
            return Reply.stream((half,), form)
        case "half of it, and its connection":
            return raw(HEAD + (SSE if stream else JSON) + half)
        case "half of it, and a reset":
            return Reply.stream((half, Fault.RESET), form)
        case _:
            return Reply.stream((first if stream else said[:-1],), form)


HOW = (
    "it is reset",
    "it closes",
    "out of memory",
    "it redirects",
    "a page",
    "a failure with status 200",
    "half of it, and its last word",
    "the other form",
    "nothing",
    "half of it",
    "half of it, and its connection",
    "half of it, and a reset",
    "all but its end",
)


def asking(dialect: str, *, stream: bool) -> dict[str, Any]:
    body: dict[str, Any] = getattr(bodies, dialect)(f"key = {SECRET}")
    return {**body, "stream": stream}


def is_error(answer: Heard) -> None:
    """In the words of the dialect, as its status or as the last event of the stream."""
    if answer.status != 200:
        assert answer.headers["x-transom-notice"] in ("home-unavailable", "home-not-local")
        assert "x-transom-leg" not in answer.headers
        assert answer.json()["error"]["message"].startswith("[home-")
        return
    last = json.loads(answer.body.rstrip().rpartition(b"data: ")[2])
    assert "[home-unavailable]" in last["error"]["message"]


async def asked(stage: Home, dialect: str, *, stream: bool) -> Heard:
    answer = await stage.post(PATHS[dialect], asking(dialect, stream=stream))
    assert (busy(stage), stage.upstream.accepted) == (0, 0)
    assert SECRET.encode() not in answer.body
    return answer


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("dialect", STRAIGHT)
async def test_what_is_cut_short_is_an_error(dialect: str, how: str, stream: bool) -> None:
    """In the stream behind its first event, else with its status."""
    script = speaking(failing(how, dialect, stream=stream))
    async with at_home(script=script, speaks=(STRAIGHT[dialect],)) as stage:
        answer = await asked(stage, dialect, stream=stream)
        is_error(answer)
        if not stream:
            assert answer.status != 200


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("dialect", STRAIGHT)
async def test_where_home_was_a_choice_the_cloud_answers_instead(dialect: str, how: str) -> None:
    """Of a whole answer nothing was told before all of it had come."""
    script = speaking(failing(how, dialect, stream=False))
    harmless = {**getattr(bodies, dialect)("nothing special"), "stream": False}
    async with at_home(script=script, speaks=(STRAIGHT[dialect],), prefer="local") as stage:
        answer = await stage.post(PATHS[dialect], harmless)
        assert (answer.status, answer.headers["x-transom-leg"]) == (200, "cloud")
        assert (busy(stage), stage.upstream.accepted) == (0, 1)


@pytest.mark.parametrize("last", [True, False])
async def test_a_chat_may_leave_its_last_word_out(last: bool) -> None:
    """Clients take a reason to finish for the end, and some servers stop there."""
    chunk = {"object": "chat.completion.chunk", "model": "m", "choices": []}
    choice = {"index": 0, "delta": {"content": "Hi."}, "finish_reason": None}
    said = [{**chunk, "choices": [choice]}]
    if last:
        said.append({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    sent = [f"data: {json.dumps(each)}\n\n".encode() for each in said]
    async with at_home(script=speaking(Reply.stream(sent)), speaks=("openai",)) as stage:
        answer = await asked(stage, "openai_chat", stream=True)
        assert (b"home_unavailable" in answer.body) != last
