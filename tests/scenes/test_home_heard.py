"""A model at home is listened to like any other: what its answers do is counted and told."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from policies.settings import RefusalRule
from proxy.config import Config
from proxy.demo.files import nsec
from proxy.demo.upstream import Recorded, Reply
from tests.scenes import bodies
from tests.scenes.hearth import MODEL, SAID, Home, at_home, calls, says, words

PATHS = bodies.PATHS
SESSION = {"x-claude-code-session-id": "one"}
DIALECTS = pytest.mark.parametrize("dialect", PATHS)
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
WAYS = pytest.mark.parametrize("prefer", ["cloud", "local"])


def asked(dialect: str, prefer: str, *, number: int = 0, stream: bool = False) -> dict[str, Any]:
    """A request that home answers: because it must not leave, or because home is preferred."""
    result = f"result {number} {nsec() if prefer == 'cloud' else ''}"
    body: dict[str, Any] = bodies.BODIES[dialect](result)
    return {**body, "stream": stream}


async def heard(stage: Home) -> tuple[dict[str, int], set[str], list[dict[str, str]]]:
    """Counters, the codes of notices, and the facts of events about calls."""
    parts = stage.node.parts
    await parts.owner.recorder.flush()
    kinds = ("call-refused", "arguments-invalid")
    facts = [dict(each.facts) for each in await parts.store.events() if each.kind in kinds]
    notices = {row.code for row in await parts.store.notices()} - {"egress-blocked"}
    return dict(await parts.store.counters()), notices, facts


@DIALECTS
@STREAMS
@WAYS
async def test_calls_that_nobody_declared_are_a_security_signal_at_home_too(
    dialect: str, stream: bool, prefer: str
) -> None:
    """Five of them beside third-party text, each written out, as no client could carry it out."""
    async with at_home(calls("rm_rf"), prefer=prefer) as stage:
        for number in range(5):
            assert not (await heard(stage))[1]
            body = asked(dialect, prefer, number=number, stream=stream)
            for _ in range(2):
                answer = await stage.post(PATHS[dialect], body, SESSION)
                assert (answer.status, answer.headers["x-transom-leg"]) == (200, "local")
        counted, notices, facts = await heard(stage)
    assert counted.get("call-refused") == 5
    assert notices == {"refusals-untrusted"}
    assert facts == [{"tool": "rm_rf", "why": "undeclared"}] * 5


@DIALECTS
@STREAMS
async def test_what_a_declared_tool_cannot_take_is_counted(dialect: str, stream: bool) -> None:
    """Half an object is written out; a whole one that is not as declared goes on; each counts."""
    for arguments, goes in (('{"path": ', False), ({"path": 7}, True)):
        call = {"function": {"name": "read_file", "arguments": arguments}}
        body = asked(dialect, "cloud", stream=stream)
        schema = {"type": "object", "properties": {"path": {"type": "string"}}}
        tool = body["tools"][0]
        field = "input_schema" if dialect == "anthropic_messages" else "parameters"
        tool.get("function", tool)[field] = schema
        async with at_home(says({"content": "", "tool_calls": [call]})) as stage:
            answer = await stage.post(PATHS[dialect], body, SESSION)
            assert (b"no such call can be made" in answer.body) is not goes
            counted, _, facts = await heard(stage)
        assert counted.get("arguments-invalid") == 1
        assert facts == [{"tool": "read_file", "why": "not as declared"}]


@DIALECTS
@STREAMS
@WAYS
async def test_a_mark_in_an_answer_from_home_is_told(
    dialect: str, stream: bool, prefer: str
) -> None:
    """Whoever answers, it is counted, and goes on as it came."""
    async with at_home(words("see [[TRANSOM_DATA nonce"), prefer=prefer) as stage:
        answer = await stage.post(PATHS[dialect], asked(dialect, prefer, stream=stream), SESSION)
        assert b"DATA" in answer.body
        counted, notices, _ = await heard(stage)
    assert (counted.get("marker-leak"), notices) == (1, {"marker-leak"})


CALLS = {
    "anthropic_messages": b'"type":"tool_use"',
    "openai_chat": b'"tool_calls":[',
    "openai_responses": b'"type":"function_call"',
    "ollama_chat": b'"tool_calls":[',
}


def strict(config: Config) -> Config:
    """Calls that are not declared, or are denied, are taken out of answers."""
    answers = replace(config.policies.answers, drop_undeclared_calls=True)
    rules = (RefusalRule("read_*", deny=True),)
    return replace(config, policies=replace(config.policies, answers=answers, refusals=rules))


@DIALECTS
@STREAMS
@WAYS
async def test_a_denied_tool_is_taken_out_of_an_answer_from_home(
    dialect: str, stream: bool, prefer: str
) -> None:
    """As it is out of a cloud's; without that setting it goes on, and counts all the same."""
    body = asked(dialect, prefer, stream=stream)
    for change, goes in ((strict, False), (_denying, True)):
        async with at_home(calls("read_file"), prefer=prefer, change=change) as stage:
            answer = await stage.post(PATHS[dialect], body, SESSION)
            assert answer.status == 200
            assert (CALLS[dialect] in answer.body) is goes
            counted, _, facts = await heard(stage)
            assert counted.get("call-refused") == 1
            assert facts == [{"tool": "read_file", "why": "denied"}]
            said = [line for line in stage.events("notice") if line["notice"] == "tool-refused"]
            assert len(said) == (not goes)


def _denying(config: Config) -> Config:
    rules = (RefusalRule("read_*", deny=True),)
    return replace(config, policies=replace(config.policies, refusals=rules))


def server(call: str, *, stream: bool) -> Callable[[Recorded], Reply]:
    """A server at home that speaks Chat itself."""
    function = {"name": call, "arguments": '{"path": "a"}'}
    made = {"index": 0, "id": "c", "type": "function", "function": function}
    said = {"role": "assistant", "content": SAID, "tool_calls": [made]}
    if not stream:
        choice = {"index": 0, "message": said, "finish_reason": "tool_calls"}
        return lambda recorded: Reply.of({"model": MODEL, "choices": [choice]})
    ends = ({"delta": said, "finish_reason": None}, {"delta": {}, "finish_reason": "tool_calls"})
    chunks = [{"model": MODEL, "choices": [{"index": 0, **each}]} for each in ends]
    events = [*(json.dumps(each) for each in chunks), "[DONE]"]
    return lambda recorded: Reply.stream([f"data: {each}\n\n".encode() for each in events])


@STREAMS
@WAYS
async def test_a_server_that_speaks_the_dialect_is_listened_to(prefer: str, stream: bool) -> None:
    """Its calls go on as they came, and out where that is set, beside its own name."""
    body = asked("openai_chat", prefer, stream=stream)
    for change in (_denying, strict):
        more: Any = {"speaks": ["openai"], "prefer": prefer, "change": change}
        async with at_home(script=server("rm_rf", stream=stream), **more) as stage:
            answer = await stage.post(PATHS["openai_chat"], body, SESSION)
            assert SAID.encode() in answer.body
            assert bodies.MODEL.encode() in answer.body
            assert MODEL.encode() not in answer.body
            assert (b'"rm_rf"' in answer.body) is (change is _denying)
            counted, _, facts = await heard(stage)
        assert (counted.get("call-refused"), len(facts)) == (1, 1)


async def test_tokens_that_are_counted_at_home_are_no_answer() -> None:
    """Nothing is heard in a number."""
    body = asked("anthropic_messages", "cloud")
    del body["stream"]
    async with at_home() as stage:
        answer = await stage.post("/v1/messages/count_tokens", body, SESSION)
        assert json.loads(answer.body)["input_tokens"] > 0
        assert (await heard(stage))[1:] == (set(), [])
