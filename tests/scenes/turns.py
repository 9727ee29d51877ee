"""Turns with as many rounds as wanted, in the four dialects, as an agent resends them."""

import json
from collections.abc import Callable, Sequence
from typing import Any

Call = tuple[str, Any, str]
"""Tool, arguments, result."""

Rounds = Sequence[Sequence[Call]]
"""What was called at once, round by round."""

NAMES = ("read_file", "list_files", "write_file", "run_tests", "screenshot", "look")


def one(tool: str, argument: object, result: str) -> list[Call]:
    """A round with one call."""
    return [(tool, {"path": argument}, result)]


def anthropic_messages(rounds: Rounds, **more: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look after it."}]
    for number, calls in enumerate(rounds):
        ids = [f"toolu_{number}_{at}" for at in range(len(calls))]
        used = [
            {"type": "tool_use", "id": ids[at], "name": tool, "input": given}
            for at, (tool, given, _) in enumerate(calls)
        ]
        results = [
            {"type": "tool_result", "tool_use_id": ids[at], "content": result}
            for at, (_, _, result) in enumerate(calls)
        ]
        messages += [
            {"role": "assistant", "content": used},
            {"role": "user", "content": results},
        ]
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in NAMES]
    body = {"model": "claude-opus-5-5", "max_tokens": 9, "tools": tools, "messages": messages}
    return {**body, **more}


def openai_chat(rounds: Rounds, **more: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look after it."}]
    for number, calls in enumerate(rounds):
        ids = [f"call_{number}_{at}" for at in range(len(calls))]
        made = [
            {
                "id": ids[at],
                "type": "function",
                "function": {"name": tool, "arguments": json.dumps(given)},
            }
            for at, (tool, given, _) in enumerate(calls)
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": made})
        messages += [
            {"role": "tool", "tool_call_id": ids[at], "content": result}
            for at, (_, _, result) in enumerate(calls)
        ]
    tools = [{"type": "function", "function": {"name": name}} for name in NAMES]
    return {"model": "some-model", "tools": tools, "messages": messages, **more}


def openai_responses(rounds: Rounds, **more: Any) -> dict[str, Any]:
    items: list[dict[str, Any]] = [{"type": "message", "role": "user", "content": "Look after it."}]
    for number, calls in enumerate(rounds):
        for at, (tool, given, _) in enumerate(calls):
            call = {"type": "function_call", "call_id": f"call_{number}_{at}", "name": tool}
            items.append({**call, "arguments": json.dumps(given)})
        for at, (_, _, result) in enumerate(calls):
            call = {"type": "function_call_output", "call_id": f"call_{number}_{at}"}
            items.append({**call, "output": result})
    tools = [{"type": "function", "name": name} for name in NAMES]
    return {"model": "some-model", "tools": tools, "input": items, "store": False, **more}


def ollama_chat(rounds: Rounds, **more: Any) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Look after it."}]
    for calls in rounds:
        made = [{"function": {"name": tool, "arguments": given}} for tool, given, _ in calls]
        messages.append({"role": "assistant", "content": "", "tool_calls": made})
        messages += [
            {"role": "tool", "tool_name": tool, "content": result} for tool, _, result in calls
        ]
    tools = [{"type": "function", "function": {"name": name}} for name in NAMES]
    return {"model": "some-model", "tools": tools, "messages": messages, **more}


TURNS: dict[str, Callable[..., dict[str, Any]]] = {
    "anthropic_messages": anthropic_messages,
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "ollama_chat": ollama_chat,
}
