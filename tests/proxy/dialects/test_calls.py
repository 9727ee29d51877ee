"""Calls in answers, whole and streamed, in every dialect."""

import json
from typing import Any

import pytest

from proxy.dialects.calls import ARGUMENTS, MARKS, Call, calls_of, schemas

DIALECTS = list(MARKS)


def found(dialect: str, *events: object) -> list[Call]:
    calls = calls_of(dialect)
    assert calls is not None
    for event in events:
        calls.feed(event)
    return calls.found


def anthropic(index: int, **delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def test_anthropic_whole_and_streamed() -> None:
    """Blocks of the client's tools alone; arguments come in pieces, by their block's index."""
    block = {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}}
    other = {"type": "server_tool_use", "id": "b", "name": "web_search", "input": {}}
    whole = found("anthropic_messages", {"type": "message", "content": [other, block, 7]})
    assert whole == [Call("read", value={"path": "x"})]
    streamed = found(
        "anthropic_messages",
        {"type": "content_block_start", "index": 0, "content_block": other},
        {"type": "content_block_start", "index": 1, "content_block": {**block, "input": {}}},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "name": "list", "toolset_name": "files"},
        },
        anthropic(1, type="input_json_delta", partial_json='{"path"'),
        anthropic(0, type="input_json_delta", partial_json="not ours"),
        anthropic(1, type="input_json_delta", partial_json=': "x"}'),
        anthropic(1, type="text_delta", text="no"),
        {"type": "ping"},
    )
    assert [(call.name, call.group, call.text) for call in streamed] == [
        ("read", "", '{"path": "x"}'),
        ("list", "files", None),
    ]


def chat(*calls: dict[str, Any], word: str = "delta", **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, word: {"tool_calls": list(calls), **more}}]}


def test_chat_whole_and_streamed() -> None:
    """By choice and index; custom tools have plain text; the old form of one call counts too."""
    whole = found(
        "openai_chat",
        chat(
            {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}},
            {"id": "b", "type": "custom", "custom": {"name": "sql", "input": "select"}},
            {"id": "c", "type": "new"},
            word="message",
            function_call={"name": "old", "arguments": "{}"},
        ),
    )
    assert [(call.name, call.text, call.free) for call in whole] == [
        ("read", "{}", False),
        ("sql", "select", True),
        ("old", "{}", False),
    ]
    streamed = found(
        "openai_chat",
        chat({"index": 0, "function": {"name": "read", "arguments": ""}}),
        chat({"index": 1, "function": {"name": "list", "arguments": "["}}),
        chat({"index": 0, "function": {"arguments": '{"a"'}}),
        chat({"index": 0, "function": {"arguments": ":1}"}}),
        chat({"index": 1, "function": {"arguments": 7}}),
        {"choices": [{"index": 0, "delta": None}, 7], "usage": {}},
        {"choices": None},
    )
    assert [(call.name, call.text) for call in streamed] == [("read", '{"a":1}'), ("list", "[")]


def test_responses_whole_and_streamed() -> None:
    """Finished items alone, with their namespace; calls that the vendor's side makes are not the
    client's."""
    call = {"type": "function_call", "name": "read", "namespace": "files", "arguments": "{}"}
    free = {"type": "custom_tool_call", "name": "sql", "input": "select"}
    search = {"type": "web_search_call", "action": {}}
    odd = {"type": "function_call", "name": "odd", "arguments": 7}
    expected = [
        Call("files.read", text="{}"),
        Call("sql", text="select", free=True),
        Call("odd"),
    ]
    whole = {"object": "response", "output": [call, free, search, odd]}
    assert found("openai_responses", whole) == expected
    done = [
        {"type": "response.output_item.done", "item": item} for item in (call, free, search, odd)
    ]
    end = {"type": "response.completed", "response": whole}
    assert found("openai_responses", *done, end) == expected


def test_responses_know_the_calls_of_tools_without_a_name() -> None:
    """By the type of the tool that declares them; a shell of the vendor's side is not the
    client's."""
    kinds = ("local_shell_call", "shell_call", "apply_patch_call", "computer_call")
    items: list[object] = [{"type": kind, "action": {}} for kind in kinds]
    items.append({"type": "shell_call", "environment": {"type": "container_reference"}})
    items.append({"type": ["shell_call"]})
    names = ["local_shell", "shell", "apply_patch", "computer"]
    calls = found("openai_responses", {"object": "response", "output": items})
    assert [call.name for call in calls] == names
    assert all(call.free for call in calls)
    assert calls[3].group == "computer_use_preview"


def test_ollama_has_whole_calls_in_its_lines() -> None:
    """Arguments are an object, or a string from models that write one."""
    lines = [
        {"message": {"tool_calls": [{"function": {"name": "read", "arguments": {"a": 1}}}]}},
        {"message": {"tool_calls": [{"function": {"name": "odd", "arguments": "{"}}, {}]}},
        {"message": None, "done": True},
    ]
    calls = found("ollama_chat", *lines)
    assert [(call.name, call.text, call.value) for call in calls] == [
        ("read", None, {"a": 1}),
        ("odd", "{", "{"),
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_no_event_is_left_alone(dialect: str) -> None:
    """Nothing in an answer makes the reader fail."""
    odd: list[object] = [
        None,
        [],
        "x",
        {},
        {"type": "content_block_start", "content_block": {"type": "tool_use", "name": 7}},
        {"choices": [{"delta": {"tool_calls": [{"function": {"name": 7}}], "function_call": 7}}]},
        {"type": "response.output_item.done", "item": {"type": "function_call", "name": 7}},
        {"message": {"tool_calls": {"x": 1}}},
    ]
    assert all(call.name == "" for call in found(dialect, *odd))


def test_arguments_are_gathered_up_to_a_bound() -> None:
    """A model that never ends its arguments fills no memory."""
    start = {"type": "content_block_start", "content_block": {"type": "tool_use", "name": "a"}}
    piece = {
        "type": "content_block_delta",
        "delta": {"type": "input_json_delta", "partial_json": "x" * (ARGUMENTS // 2)},
    }
    (call,) = found("anthropic_messages", start, *[piece] * 5)
    assert call.text is not None
    assert len(call.text) <= ARGUMENTS


def test_a_dialect_without_calls_has_no_reader() -> None:
    """Plain texts."""
    assert calls_of("plain_text_openai") is None


def test_every_event_with_a_call_has_a_mark() -> None:
    """Lines without one are not parsed, so a call must not be in them."""
    events = {
        "anthropic_messages": [
            {"type": "content_block_start", "content_block": {"type": "tool_use"}},
            anthropic(0, type="input_json_delta", partial_json=""),
        ],
        "openai_chat": [chat({}), {"choices": [{"delta": {"function_call": {}}}]}],
        "openai_responses": [{"type": "response.output_item.done", "item": {}}],
        "ollama_chat": [{"message": {"tool_calls": []}}],
    }
    for dialect, marks in MARKS.items():
        for event in events[dialect]:
            for text in (json.dumps(event), json.dumps(event, separators=(",", ":"))):
                assert any(mark in text.encode() for mark in marks)


def test_schemas_of_declared_tools() -> None:
    """In every dialect's shape; names in a namespace as they are called."""
    tools = [
        {"name": "a", "input_schema": {"x": 1}},
        {"type": "function", "function": {"name": "b", "parameters": {"y": 1}}},
        {"type": "function", "name": "c", "parameters": {"z": 1}},
        {"type": "namespace", "name": "n", "tools": [{"name": "d", "parameters": {}}]},
        {"type": "bash_20250124", "name": "bash"},
        {"name": 7, "input_schema": {}},
        7,
    ]
    assert schemas(tools) == {"a": {"x": 1}, "b": {"y": 1}, "c": {"z": 1}, "n.d": {}}
    assert schemas({"name": "a"}) == {}
