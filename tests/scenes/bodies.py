"""Request bodies of the four dialects with one tool result, and where they are posted."""

from typing import Any

from proxy.demo.files import nsec

PATHS = {
    "anthropic_messages": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "ollama_chat": "/api/chat",
}
MODEL = "some-model"


def anthropic_messages(result: str, *, after: bool = False) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": [call]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": result}],
        },
    ]
    if after:
        messages += [
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Thanks."},
        ]
    tool = {"name": "read_file", "input_schema": {"type": "object"}}
    return {"model": MODEL, "max_tokens": 9, "tools": [tool], "messages": messages}


def openai_chat(result: str, *, after: bool = False) -> dict[str, Any]:
    function = {"name": "read_file", "arguments": '{"path": "a"}'}
    call = {"id": "call_1", "type": "function", "function": function}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": result},
    ]
    if after:
        messages += [
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Thanks."},
        ]
    tool = {"type": "function", "function": {"name": "read_file"}}
    return {"model": MODEL, "tools": [tool], "messages": messages}


def openai_responses(result: str, *, after: bool = False) -> dict[str, Any]:
    items: list[dict[str, Any]] = [
        {"type": "message", "role": "user", "content": "Read it."},
        {"type": "function_call", "call_id": "call_1", "name": "read_file", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": result},
    ]
    if after:
        items += [
            {"type": "message", "role": "assistant", "content": "Done."},
            {"type": "message", "role": "user", "content": "Thanks."},
        ]
    return {"model": MODEL, "tools": [{"type": "function", "name": "read_file"}], "input": items}


def ollama_chat(result: str, *, after: bool = False) -> dict[str, Any]:
    call = {"function": {"name": "read_file", "arguments": {"path": "a"}}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Read it."},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_name": "read_file", "content": result},
    ]
    if after:
        messages += [
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Thanks."},
        ]
    tool = {"type": "function", "function": {"name": "read_file"}}
    return {"model": MODEL, "tools": [tool], "messages": messages}


BODIES = {
    "anthropic_messages": anthropic_messages,
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "ollama_chat": ollama_chat,
}


def secret() -> str:
    """A key that must never be seen outside, from a public test vector."""
    return nsec()
