"""The strict Responses, Chat and Ollama upstreams refuse what they should: each rule can fail."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from proxy.demo.upstream import Recorded
from tests.strict.chat import CHAT_RULES, OLLAMA_RULES, Chats
from tests.strict.house import Heard
from tests.strict.openai_clients import ChatAgent, Codex, OllamaAgent
from tests.strict.responses import RULES, Codices
from tests.strict.sessions import Session

Body = dict[str, Any]
Upstream = Codices | Chats


def ask(upstream: Upstream, body: Body, path: str = "/v1/responses") -> Body:
    reply = upstream(Recorded("POST", path, (), json.dumps(body).encode()))
    return json.loads(b"".join(chunk for chunk in reply.chunks if isinstance(chunk, bytes)))


async def spoken(client: type[Session], upstream: Upstream) -> Session:
    """A client after two turns with no node between, and a prompt that is not sent yet."""

    async def post(path: str, body: Body, headers: object) -> Heard:
        return Heard(200, {}, json.dumps(ask(upstream, body, path)).encode())

    session = client(post, size=200)
    for turn in range(2):
        await session.turn(f"Question {turn}", 2, 1)
    session.ask("And now?", 1)
    return session


HI = {"type": "message", "role": "user", "content": "Hi"}
CALL = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "a", "output": "x"}
SAID = {"role": "assistant", "content": "Yes."}

BROKEN: list[tuple[str, Body]] = [
    ("pairing", {"input": [HI, CALL]}),
    ("pairing", {"input": [HI, OUTPUT]}),
    ("pairing", {"input": [HI, {**CALL, "type": "custom_tool_call"}, OUTPUT]}),
    ("pairing", {"input": [HI, CALL, {**CALL, "call_id": "b"}, OUTPUT, SAID]}),
    ("strings", {"input": [HI, {**CALL, "arguments": {}}, OUTPUT]}),
    ("strings", {"input": [HI, CALL, {**OUTPUT, "output": None}]}),
    ("prefixes", {"input": [HI, {**CALL, "id": "rs_1"}, OUTPUT]}),
    ("one-state", {"input": [HI], "previous_response_id": "r", "conversation": "c"}),
    ("trigger-last", {"input": [{"type": "compaction_trigger"}, HI]}),
    ("metadata", {"input": "Hi", "metadata": {"a" * 65: "b"}}),
    ("something", {"input": [{**HI, "content": ""}]}),
]


@pytest.mark.parametrize(("rule", "given"), BROKEN, ids=[rule for rule, _ in BROKEN])
def test_items_that_break_a_rule_are_refused(rule: str, given: Body) -> None:
    """The rule is named and the answer is a typed error."""
    answer = ask(upstream := Codices(), {"model": "m", **given})
    assert rule in {fault.rule for fault in upstream.refused}
    assert answer["error"]["type"] == "invalid_request_error"


def chat(*messages: Body, **more: Any) -> Body:
    return {"model": "m", "messages": list(messages), **more}


def called(arguments: object = "{}", name: str = "f") -> Body:
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": "", "tool_calls": [{"id": "a", "function": function}]}


USER, TOOL = {"role": "user", "content": "Hi"}, {"role": "tool", "tool_call_id": "a", "content": ""}
MARKED = {"type": "text", "text": "a", "prompt_cache_breakpoint": {}}

BROKEN_CHATS: list[tuple[str, str, Body]] = [
    ("pairing", "/v1/chat/completions", chat(USER, called(), USER, TOOL)),
    ("pairing", "/v1/chat/completions", chat(USER, called())),
    ("pairing", "/v1/chat/completions", chat(USER, TOOL)),
    ("content-or-calls", "/v1/chat/completions", chat({"role": "user", "content": None})),
    ("arguments", "/v1/chat/completions", chat(USER, called({}), TOOL)),
    ("arguments", "/v1/chat/completions", chat(USER, called(name="a b"), TOOL)),
    ("stream-options", "/v1/chat/completions", chat(USER, stream_options={"x": 1})),
    ("roles", "/v1/chat/completions", chat({"role": "root", "content": "Hi"})),
    ("breakpoints", "/v1/chat/completions", chat({"role": "user", "content": [MARKED] * 5})),
    ("objects", "/api/chat", chat(USER, called("{}"))),
    ("objects", "/api/chat", chat({"role": "user", "content": []})),
    ("no-developer", "/api/chat", chat({"role": "developer", "content": "x"})),
]


@pytest.mark.parametrize(
    ("rule", "path", "given"), BROKEN_CHATS, ids=[rule for rule, _, _ in BROKEN_CHATS]
)
def test_messages_that_break_a_rule_are_refused(rule: str, path: str, given: Body) -> None:
    """The rule is named and the answer has an error."""
    answer = ask(upstream := Chats(), given, path)
    assert rule in {fault.rule for fault in upstream.refused}
    assert answer["error"]


def test_every_rule_is_broken_somewhere() -> None:
    """No rule is there for show."""
    assert {rule for rule, _ in BROKEN} == set(RULES)
    assert {rule for rule, _, _ in BROKEN_CHATS} == set(CHAT_RULES) | set(OLLAMA_RULES)


def touch_instructions(given: Body) -> None:
    given["instructions"] = "New."


def touch_tools(given: Body) -> None:
    given["tools"][0]["description"] += "!"


def touch_developer(given: Body) -> None:
    given["input"][0]["content"][0]["text"] += "!"


def touch_output(given: Body) -> None:
    output = next(item for item in given["input"] if item["type"] == "function_call_output")
    output["output"] += "!"


def insert_item(given: Body) -> None:
    given["input"].insert(1, {"role": "developer", "content": "New."})


def drop_first_reasoning(given: Body) -> None:
    given["input"].remove(next(item for item in given["input"] if item["type"] == "reasoning"))


TOUCHES = [
    touch_instructions, touch_tools, touch_developer, touch_output, insert_item,
    drop_first_reasoning,
]  # fmt: skip


@pytest.mark.parametrize("touch", TOUCHES)
async def test_reasoning_is_bound_to_everything_before_it(touch: Callable[[Body], None]) -> None:
    """One changed part before a reasoning item is a prefix mismatch."""
    session = await spoken(Codex, upstream := Codices())
    given = session.body()
    touch(given)
    answer = ask(upstream, given)
    assert {fault.rule for fault in upstream.refused} == {"binding"}
    assert "prefix_mismatch" in answer["error"]["message"]


def strip_ids(given: Body) -> None:
    for item in given["input"]:
        item.pop("id", None)
        item.pop("internal_chat_message_metadata_passthrough", None)


def list_as_string(given: Body) -> None:
    given["input"][0]["content"] = given["input"][0]["content"][0]["text"]


def drop_all_reasoning(given: Body) -> None:
    given["input"] = [item for item in given["input"] if item["type"] != "reasoning"]


def touch_notes(given: Body) -> None:
    given["client_metadata"] = {"turn": "other"}
    given["prompt_cache_key"] = "other"


@pytest.mark.parametrize("touch", [strip_ids, list_as_string, drop_all_reasoning, touch_notes])
async def test_reasoning_is_not_bound_to_packaging(touch: Callable[[Body], None]) -> None:
    """Ids, encodings of one text, notes of the client and reasoning left out do no harm."""
    session = await spoken(Codex, upstream := Codices())
    given = session.body()
    touch(given)
    assert "output" in ask(upstream, given)
    assert upstream.refused == []


async def test_reasoning_stands_directly_before_its_item() -> None:
    """An item between, or none behind, is refused in the vendor's words."""
    session = await spoken(Codex, upstream := Codices())
    given = session.body()
    place = next(i for i, item in enumerate(given["input"]) if item["type"] == "reasoning")
    given["input"][place], given["input"][place - 1] = (
        given["input"][place - 1],
        given["input"][place],
    )
    answer = ask(upstream, given)
    assert upstream.refused[0].rule == "following"
    assert "without its required following item" in answer["error"]["message"]


async def test_foreign_reasoning_is_refused() -> None:
    """Encrypted content that this upstream did not make cannot be verified."""
    session = await spoken(Codex, upstream := Codices())
    given = session.body()
    for item in given["input"]:
        if item["type"] == "reasoning":
            item["encrypted_content"] = "QQ=="
    ask(upstream, given)
    assert "foreign" in {fault.rule for fault in upstream.refused}


@pytest.mark.parametrize("client", [Codex, ChatAgent, OllamaAgent])
async def test_clients_are_accepted_without_a_node(client: type[Session]) -> None:
    """What the scripted clients send breaks no rule of its own."""
    upstream: Upstream = Codices() if client is Codex else Chats()
    await spoken(client, upstream)
    assert upstream.refused == []
    assert len(upstream.accepted) == 6
