"""An answer from home as a response of OpenAI's Responses API.

Owns its items, their events and the numbers of both. It must not know what they say. Source:
wire.md 2.3 and 5.3; the fields of a response are those that the SDK's type demands, and what the
request said of itself.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final, assert_never

from proxy.dialects import shapes
from proxy.dialects.shapes import Shape
from proxy.lazyjson import Document, dump
from proxy.local.plain import plain
from proxy.local.talk import Called, Ended, Named
from proxy.local.writers.ids import Ids
from proxy.local.writers.writing import Events

_ECHOED: Final[Mapping[str, tuple[type, ...]]] = {
    "max_output_tokens": (int,),
    "metadata": (dict,),
    "parallel_tool_calls": (bool,),
    "reasoning": (dict,),
    "temperature": (int, float),
    "text": (dict,),
    "tool_choice": (str, dict),
    "tools": (list,),
    "top_p": (int, float),
}
"""What of a request stands in its response, and what it has to be."""


class Responses:
    """See `Script`. `base`: the response when it begins."""

    done = b""

    def __init__(self, key: str, base: Shape, names: Mapping[str, Named], ids: Ids) -> None:
        self._key = key
        self._response = base
        self._names = names
        self._ids = ids
        self._items: list[Shape] = []
        self._open = ""  # the type of the item that is not complete yet
        self._parts: list[str] = []
        self._number = 0

    def opened(self, read: int) -> Events:
        """See `Script`."""
        yield self._event("response.created", response=self._response)
        yield self._event("response.in_progress", response=self._response)

    def text(self, text: str) -> Events:
        """See `Script`."""
        if self._open != "message":
            yield from self._close()
            self._open = "message"
            for event in shapes.message_begun(self._id("msg"), self._index):
                yield self._numbered(event)
        self._parts.append(text)
        yield self._numbered(shapes.message_delta(self._id("msg"), self._index, text))

    def thought(self, text: str) -> Events:
        """See `Script`. As a summary, which is what clients show."""
        if self._open != "reasoning":
            yield from self._close()
            self._open = "reasoning"
            yield self._numbered(shapes.item_added(self._index, self._reasoning()))
            yield self._summary("part.added", part=_summary(""))
        self._parts.append(text)
        yield self._summary("text.delta", delta=text)

    def called(self, call: Called) -> Events:
        """See `Script`."""
        yield from self._close()
        named = self._names[call.name]
        match named.sort:
            case "function":
                prefix, field, told = "fc", "arguments", dump(call.arguments).decode()
                event = "response.function_call_arguments"
            case "custom":
                prefix, field, told = "ctc", "input", str(call.arguments["input"])
                event = "response.custom_tool_call_input"
            case _:
                assert_never(named.sort)
        item = self._call(prefix, named, self._ids.of(call.id))
        at = {"item_id": item["id"], "output_index": self._index}
        begun = {**item, "status": "in_progress", field: ""}
        yield self._numbered(shapes.item_added(self._index, begun))
        yield self._event(f"{event}.delta", **at, delta=told)
        yield self._event(f"{event}.done", **at, **{field: told})
        yield from self._complete({**item, "status": "completed", field: told})

    def closed(self, ended: Ended, stop: str) -> Events:
        """See `Script`. The dialect has no strings to stop at."""
        called = any(item["type"] not in ("message", "reasoning") for item in self._items)
        cut = "max_output_tokens" if ended.reason == "length" and not called else None
        yield from self._close(cut=cut is not None)
        usage = shapes.response_usage(ended.read, ended.written)
        self._response = shapes.response_over(self._response, self._items, usage, cut)
        yield self._event(f"response.{self._response['status']}", response=self._response)

    def alive(self) -> Shape:
        """See `Script`. An event of a type that no client knows: Codex counts comments as
        silence."""
        return self._event("keepalive")

    def whole(self) -> Shape:
        """See `Script`."""
        return self._response

    @property
    def _index(self) -> int:
        return len(self._items)

    def _id(self, prefix: str) -> str:
        return f"{prefix}_{self._key}_{self._index}"

    def _event(self, kind: str, **more: object) -> Shape:
        return self._numbered({"type": kind, **more})

    def _numbered(self, event: Shape) -> Shape:
        numbered = {**event, "sequence_number": self._number}
        self._number += 1
        return numbered

    def _close(self, *, cut: bool = False) -> Events:
        """The events that complete the open item; `cut`: by a limit."""
        said, self._parts, opened, self._open = "".join(self._parts), [], self._open, ""
        if opened == "message":
            item = shapes.message_item(self._id("msg"), said, "incomplete" if cut else "completed")
            for event in shapes.message_done(self._index, item, said):
                yield self._numbered(event)
            self._items.append(item)
        elif opened == "reasoning":
            yield self._summary("text.done", text=said)
            yield self._summary("part.done", part=_summary(said))
            yield from self._complete(self._reasoning(_summary(said)))

    def _complete(self, item: Shape) -> Events:
        yield self._numbered(shapes.item_done(self._index, item))
        self._items.append(item)

    def _reasoning(self, *summary: Shape) -> Shape:
        return {"id": self._id("rs"), "type": "reasoning", "summary": [*summary]}

    def _summary(self, kind: str, **more: object) -> Shape:
        at = {"item_id": self._id("rs"), "output_index": self._index, "summary_index": 0}
        return self._event(f"response.reasoning_summary_{kind}", **at, **more)

    def _call(self, prefix: str, named: Named, identity: str) -> Shape:
        kind = "function_call" if named.sort == "function" else "custom_tool_call"
        item: Shape = {"id": self._id(prefix), "type": kind, "call_id": identity}
        if named.namespace:
            item["namespace"] = named.namespace
        return {**item, "name": named.name}


def _summary(text: str) -> Shape:
    return {"type": "summary_text", "text": text}


def echoed(base: Shape, asked: Document) -> Shape:
    """`base` with what the request said of itself, as far as it can be said again."""
    said: Shape = {}
    for field, kinds in _ECHOED.items():
        node = asked.root.get(field)
        if node is None:
            continue
        with suppress(ValueError):
            value = plain(node.raw.decode())
            if isinstance(value, kinds):
                said[field] = value
    return {**base, **said}
