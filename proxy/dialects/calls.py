"""The calls that a model makes, as its answer is read event by event. Pure.

Owns where each dialect puts a call (wire.md 2): whole answers and streams. It must not know whether
a call is allowed, nor what the request declared. What it does not understand it leaves alone: it is
asked to count, and an answer goes on whatever is found in it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

ARGUMENTS: Final = 4 * 1024 * 1024
"""Characters of arguments that are gathered from one answer; calls beyond it are not looked at."""


class Call(Struct):
    """A call. `name` as the request declares it, `group` the toolset that it belongs to. Arguments
    are `text` where they are JSON in a string, else `value`; `free`: they are plain text."""

    name: str
    group: str = ""
    text: str | None = None
    value: object = None
    free: bool = False


class Calls(Struct, eq=False):
    """The calls of one answer. `feed` takes each event, parsed, or the whole answer."""

    read: Callable[["Calls", Mapping[str, Any]], None]
    found: list[Call] = []
    open: dict[object, Call] = {}
    size: int = 0

    def feed(self, event: object) -> None:
        """One more event."""
        if isinstance(event, dict):
            self.read(self, event)

    def add(self, name: object, **given: Any) -> Call:
        """A call that begins, or is whole."""
        call = Call(name if isinstance(name, str) else "", **given)
        self.found.append(call)
        return call

    def more(self, key: object, text: object) -> None:
        """Further arguments of the call that is open under `key`."""
        call = self.open.get(key)
        if call is None or not isinstance(text, str) or not text:
            return
        self.size += len(text)
        if self.size <= ARGUMENTS:
            call.text = (call.text or "") + text


def calls_of(dialect: str) -> Calls | None:
    """A fresh reader; None for a dialect whose answers hold no calls."""
    read = _READERS.get(dialect)
    return None if read is None else Calls(read)


BUILT_IN: Final[Mapping[str, tuple[str, ...]]] = {
    "local_shell_call": ("local_shell",),
    "shell_call": ("shell",),
    "apply_patch_call": ("apply_patch",),
    "computer_call": ("computer", "computer_use_preview"),
}
"""Items of Responses by which the client is to carry something out, and the types of tool by which
that is declared; such a tool has no other name."""

UPSTREAM: Final = "container_reference"
"""Type of a shell's environment in which the upstream itself carries it out."""

MARKS: Final[Mapping[str, tuple[bytes, ...]]] = {
    "anthropic_messages": (b'"tool_use"', b'"input_json_delta"'),
    "openai_chat": (b'"tool_calls"', b'"function_call"'),
    "openai_responses": (b'"response.output_item.done"',),
    "ollama_chat": (b'"tool_calls"',),
}
"""What stands in every event of a stream that has to do with a call."""


def _anthropic(calls: Calls, event: Mapping[str, Any]) -> None:
    match event:
        case {"type": "content_block_start", "content_block": {"type": "tool_use"} as block}:
            call = calls.add(block.get("name"), group=_word(block, "toolset_name"))
            call.value = block.get("input")
            calls.open[event.get("index")] = call
        case {"type": "content_block_delta", "delta": {"type": "input_json_delta"} as delta}:
            calls.more(event.get("index"), delta.get("partial_json"))
        case {"type": "message", "content": list(blocks)}:
            for block in _objects(blocks):
                if block.get("type") == "tool_use":
                    group = _word(block, "toolset_name")
                    calls.add(block.get("name"), group=group, value=block.get("input"))
        case _:
            pass


def _chat(calls: Calls, event: Mapping[str, Any]) -> None:
    for at, choice in enumerate(_objects(event.get("choices"))):
        index = choice.get("index", at)
        said = choice.get("delta") or choice.get("message")
        if not isinstance(said, dict):
            continue
        for nth, call in enumerate(_objects(said.get("tool_calls"))):
            _chat_call(calls, (index, call.get("index", nth)), call)
        if isinstance(said.get("function_call"), dict):
            _chat_call(calls, (index, "function"), {"function": said["function_call"]})


def _chat_call(calls: Calls, key: object, call: Mapping[str, Any]) -> None:
    word = "custom" if isinstance(call.get("custom"), dict) else "function"
    given = call.get(word)
    if not isinstance(given, dict):
        return
    if isinstance(given.get("name"), str) and given["name"]:
        calls.open[key] = calls.add(given["name"], free=word == "custom")
    calls.more(key, given.get("input" if word == "custom" else "arguments"))


def _responses(calls: Calls, event: Mapping[str, Any]) -> None:
    match event:
        case {"type": "response.output_item.done", "item": dict(item)}:
            items: object = [item]
        case {"object": "response"}:
            items = event.get("output")
        case _:
            return
    for item in _objects(items):
        kind = item.get("type")
        if isinstance(kind, str) and (names := BUILT_IN.get(kind)) and not _upstream(item):
            calls.add(names[0], group=names[-1], free=True)
        if kind not in ("function_call", "custom_tool_call"):
            continue
        name = ".".join(filter(None, (_word(item, "namespace"), _word(item, "name"))))
        free = kind == "custom_tool_call"
        text = item.get("input" if free else "arguments")
        calls.add(name, text=text if isinstance(text, str) else None, free=free)


def _upstream(item: Mapping[str, Any]) -> bool:
    place = item.get("environment")
    return isinstance(place, dict) and place.get("type") == UPSTREAM


def _ollama(calls: Calls, event: Mapping[str, Any]) -> None:
    message = event.get("message")
    if not isinstance(message, dict):
        return
    for call in _objects(message.get("tool_calls")):
        function = call.get("function")
        if isinstance(function, dict):
            given = function.get("arguments")
            text = given if isinstance(given, str) else None
            calls.add(function.get("name"), text=text, value=given)


_READERS: Final[Mapping[str, Callable[[Calls, Mapping[str, Any]], None]]] = {
    "anthropic_messages": _anthropic,
    "openai_chat": _chat,
    "openai_responses": _responses,
    "ollama_chat": _ollama,
}


def schemas(tools: object) -> dict[str, object]:
    """Name of a declared tool → the schema of its arguments, from a request's `tools`, parsed, in
    whichever dialect; a tool without one is not there."""
    return dict(_schemas(tools, ""))


def _schemas(tools: object, prefix: str) -> Iterator[tuple[str, object]]:
    for tool in _objects(tools):
        if tool.get("type") == "namespace":
            yield from _schemas(tool.get("tools"), f"{prefix}{_word(tool, 'name')}.")
            continue
        inner = tool.get("function")
        declared = inner if isinstance(inner, dict) else tool
        schema = declared.get("input_schema", declared.get("parameters"))
        if (name := _word(declared, "name")) and schema is not None:
            yield prefix + name, schema


def _objects(values: object) -> Iterator[dict[str, Any]]:
    if isinstance(values, list):
        yield from (each for each in values if isinstance(each, dict))


def _word(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
