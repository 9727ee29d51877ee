"""Turns the skeleton of a captured request into a body with text in it."""

import json
import re
from pathlib import Path
from typing import Any

SKELETONS = Path(__file__).parents[1] / "data" / "wire-skeletons"

_STRING = re.compile(r"<str (\d+)B>")
_MORE_TOOLS = re.compile(r"<… (\d+) more tools")
_IDS = frozenset({"id", "tool_use_id", "tool_call_id", "call_id"})


def names() -> list[str]:
    """The skeletons that have a body."""
    files = sorted(SKELETONS.glob("*.json"))
    return [file.stem for file in files if json.loads(file.read_text("utf-8"))["body"]]


def skeleton(name: str) -> dict[str, Any]:
    """A skeleton as it was captured: method, path, headers, body."""
    found: dict[str, Any] = json.loads((SKELETONS / f"{name}.json").read_text("utf-8"))
    return found


def dialect_of(name: str) -> str:
    """Which dialect a skeleton's path belongs to."""
    path = skeleton(name)["path"].partition("?")[0]
    return {
        "/v1/messages": "anthropic_messages",
        "/v1/messages/count_tokens": "anthropic_messages",
        "/v1/chat/completions": "openai_chat",
        "/v1/responses": "openai_responses",
        "/api/chat": "ollama_chat",
    }[path]


def filled(name: str) -> bytes:
    """The body of a skeleton with text in place of each size; the call ids match."""
    return json.dumps(_fill(skeleton(name)["body"], ""), ensure_ascii=False).encode()


def _fill(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return {name: _fill(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        items: list[Any] = []
        for item in value:
            more = _MORE_TOOLS.match(item) if isinstance(item, str) else None
            items += _tools(items[-1], int(more[1])) if more else [_fill(item, key)]
        return items
    if isinstance(value, str):
        return _text(value, key)
    return value


def _text(value: str, key: str) -> Any:
    size = _STRING.fullmatch(value)
    if value.startswith("<json-schema"):
        return {"type": "object", "properties": {}}
    if value == "<epoch float>":
        return 1796000000.25
    if size is None:
        return value
    if key in _IDS:
        return f"call_{'7' * int(size[1])}"
    return ("Überall steht hier nur Füllung. " * (int(size[1]) // 30 + 1))[: int(size[1])]


def _tools(last: Any, count: int) -> list[Any]:
    """More tools in the shape of the last one that was captured."""
    return [_renamed(last, f"more_{number}") for number in range(count)]


def _renamed(tool: Any, name: str) -> Any:
    if "function" in tool:
        return {**tool, "function": {**tool["function"], "name": name}}
    return {**tool, "name": name}
