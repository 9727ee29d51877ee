"""Captured clients go home and come back: their own bodies, filled, before strict upstreams."""

import json
from pathlib import Path
from typing import Any

import pytest

from proxy.demo.files import nsec
from proxy.demo.upstream import ScriptedUpstream
from tests.proxy.local.writers.test_round_trip import CLIENTS, gone_on
from tests.strict.anthropic import Claude
from tests.strict.chat import Chats
from tests.strict.homely import SAID, THOUGHT, at_home, native, speaking, without
from tests.strict.house import housed
from tests.strict.responses import Codices
from tests.strict.test_home_sessions import released
from tests.strict.turns import listed, showing
from tests.wire.filling import dialect_of, filled, skeleton

SECRET = nsec()
UPSTREAMS = {
    "anthropic_messages": Claude,
    "openai_chat": Chats,
    "openai_responses": Codices,
    "ollama_chat": Chats,
}
HEADERS = {"authorization": "Bearer the-callers-own", "anthropic-version": "2023-06-01"}
ASKING = [name for name in CLIENTS if "count-tokens" not in name]
WAYS = [
    (name, straight)
    for name in ASKING
    for straight in (False, True)
    if not (straight and dialect_of(name) == "ollama_chat")
]


def whole(name: str) -> dict[str, Any]:
    """A captured body that asks for no stream: without thinking, whose fillings no upstream has
    signed, and without the fillings of ids that no upstream gave."""
    body: dict[str, Any] = {**_bare(json.loads(filled(name))), "stream": False}
    body.pop("stream_options", None)
    for item in body.get("input", ()):
        item.pop("id", None)
    return body


def _bare(value: Any) -> Any:
    if isinstance(value, list):
        return [_bare(each) for each in value if not _sealed(each)]
    return {key: _bare(each) for key, each in value.items()} if isinstance(value, dict) else value


def _sealed(value: Any) -> bool:
    kinds = ("thinking", "redacted_thinking", "reasoning")
    return isinstance(value, dict) and value.get("type") in kinds


def asked(dialect: str, body: dict[str, Any], text: str) -> dict[str, Any]:
    """The same with one more question of its user."""
    message: dict[str, Any] = {"role": "user", "content": text}
    if dialect == "openai_responses":
        message |= {"type": "message", "content": [{"type": "input_text", "text": text}]}
    key = "input" if dialect == "openai_responses" else "messages"
    return {**body, key: [*body[key], message]}


@pytest.mark.parametrize(("name", "straight"), WAYS)
async def test_captured_clients_go_home_and_come_back(
    name: str, straight: bool, tmp_path: Path
) -> None:
    """A cloud answers their body as it is; a secret goes home, and so does the round behind it;
    after the release the cloud takes all of it without the secret, and every later turn repeats
    the bytes of the one before."""
    dialect, upstream = dialect_of(name), UPSTREAMS[dialect_of(name)]()
    path = skeleton(name)["path"]
    async with ScriptedUpstream(speaking() if straight else native()) as home:
        change = at_home(home, straight=straight, change=showing("off"))
        async with housed(upstream, tmp_path, change) as house:
            body = whole(name)

            async def turn(text: str) -> None:
                """A question, and the rounds behind it until there are no more calls."""
                nonlocal body
                body = asked(dialect, body, text)
                for _ in range(5):
                    answer = await house.through(path, body, HEADERS)
                    assert answer.status == 200, answer.body.decode()
                    before = len(listed(body))
                    body = json.loads(gone_on(dialect, json.dumps(body).encode(), answer.json()))
                    results = [*map(_is_result, listed(body)[before:])]
                    if not any(results):
                        _without_empty(body)
                        return
                raise AssertionError("it never ends")

            answer = await house.through(path, body, HEADERS)
            assert answer.status == 200, answer.body.decode()
            body = json.loads(gone_on(dialect, json.dumps(body).encode(), answer.json()))
            _without_empty(body)
            await turn(f"Keep {SECRET}.")
            away = len(upstream.accepted)
            assert house.notices[1] == "egress-blocked"
            assert away == 1
            await released(house)
            key = "input" if "input" in body else "messages"
            body[key] = without(body[key], SECRET)
            for number in range(3):
                await turn(f"Question {number}.")
            assert len(upstream.accepted) == away + 3
            assert not upstream.refused, upstream.refused
            assert not house.witness.broken
            arrived = b"".join(house.upstream.received)
            assert SAID.encode() in arrived
            assert THOUGHT.encode() not in arrived
            assert SECRET.encode() not in arrived
            assert json.dumps(SAID)[1:-1] in json.dumps(body)
            last, before = (listed(one) for one in upstream.accepted[-1:-3:-1])
            assert last[: len(before)] == before


def _is_result(message: dict[str, Any]) -> bool:
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    kinds = {block.get("type") for block in blocks}
    named = message.get("type", "").endswith("_output")
    return named or message.get("role") == "tool" or "tool_result" in kinds


def _without_empty(body: dict[str, Any]) -> None:
    """What `gone_on` says where there were no calls: a message of no results."""
    last = listed(body)[-1]
    if last.get("content") == []:
        listed(body).pop()
