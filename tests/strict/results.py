"""Histories with rounds of parallel results of one's own choosing, in every dialect.

Owns their shapes. It must not know what the results say.
"""

from typing import Any

Body = dict[str, Any]
Result = str | list[str]
"""The text of a result, or its text parts."""

PATHS = {
    "anthropic_messages": "/v1/messages",
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "ollama_chat": "/api/chat",
}
ONE_STRING = ("ollama_chat",)
"""Dialects in which a result is one string."""


def history(dialect: str, rounds: list[list[Result]], prompt: str = "Read.") -> Body:
    """A prompt, then rounds of parallel calls of `read` with these results."""
    return _BODIES[dialect](prompt, rounds)


def _anthropic(prompt: str, rounds: list[list[Result]]) -> Body:
    messages: list[Body] = [{"role": "user", "content": prompt}]
    for number, results in enumerate(rounds):
        ids = [f"toolu_{number}_{place}" for place in range(len(results))]
        uses = [{"type": "tool_use", "id": one, "name": "read", "input": {}} for one in ids]
        messages.append({"role": "assistant", "content": uses})
        content = [
            {"type": "tool_result", "tool_use_id": one, "content": _parts(result, "text")}
            for one, result in zip(ids, results, strict=True)
        ]
        messages.append({"role": "user", "content": content})
    tools = [{"name": "read", "input_schema": {"type": "object"}}]
    return {"model": "claude-opus-5-5", "max_tokens": 9, "tools": tools, "messages": messages}


def _chat(prompt: str, rounds: list[list[Result]]) -> Body:
    messages: list[Body] = [{"role": "user", "content": prompt}]
    function = {"name": "read", "arguments": "{}"}
    for number, results in enumerate(rounds):
        ids = [f"call_{number}_{place}" for place in range(len(results))]
        calls = [{"id": one, "type": "function", "function": function} for one in ids]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages += [
            {"role": "tool", "tool_call_id": one, "content": _parts(result, "text")}
            for one, result in zip(ids, results, strict=True)
        ]
    tools = [{"type": "function", "function": {"name": "read"}}]
    return {"model": "m", "tools": tools, "messages": messages}


def _responses(prompt: str, rounds: list[list[Result]]) -> Body:
    items: list[Body] = [{"type": "message", "role": "user", "content": prompt}]
    call = {"type": "function_call", "name": "read", "arguments": "{}"}
    for number, results in enumerate(rounds):
        ids = [f"call_{number}_{place}" for place in range(len(results))]
        items += [{**call, "call_id": one} for one in ids]
        items += [
            {"type": "function_call_output", "call_id": one, "output": _parts(result, "input_text")}
            for one, result in zip(ids, results, strict=True)
        ]
    return {"model": "m", "tools": [{"type": "function", "name": "read"}], "input": items}


def _ollama(prompt: str, rounds: list[list[Result]]) -> Body:
    messages: list[Body] = [{"role": "user", "content": prompt}]
    call = {"function": {"name": "read", "arguments": {}}}
    for results in rounds:
        calls = [call] * len(results)
        messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        messages += [{"role": "tool", "tool_name": "read", "content": one} for one in results]
    tools = [{"type": "function", "function": {"name": "read"}}]
    return {"model": "m", "tools": tools, "messages": messages}


def _parts(result: Result, kind: str) -> Any:
    if isinstance(result, str):
        return result
    return [{"type": kind, "text": text} for text in result]


_BODIES = {
    "anthropic_messages": _anthropic,
    "openai_chat": _chat,
    "openai_responses": _responses,
    "ollama_chat": _ollama,
}
