"""An answer from home as a message of the Anthropic API.

Owns its blocks: never two at a time, none empty. It must not know what is in them. Source: wire.md
2.1 and 5.3; thoughts carry an empty signature, by which they are found when they come back.
"""

from collections.abc import Mapping

from proxy.dialects import shapes
from proxy.dialects.shapes import Shape
from proxy.lazyjson import dump
from proxy.local.talk import Called, Ended, Named
from proxy.local.writers.ids import Ids
from proxy.local.writers.writing import Events


class Anthropic:
    """See `Script`."""

    done = b""

    def __init__(self, key: str, model: str, names: Mapping[str, Named], ids: Ids) -> None:
        self._message = shapes.anthropic_message(key, model, shapes.anthropic_usage())
        self._names = names
        self._ids = ids
        self._blocks: list[Shape] = []
        self._parts: list[str] = []
        self._open = ""

    def opened(self, read: int) -> Events:
        """See `Script`."""
        usage = shapes.anthropic_usage(read)
        yield {"type": "message_start", "message": {**self._message, "usage": usage}}

    def text(self, text: str) -> Events:
        """See `Script`."""
        if self._open != "text":
            yield from self._start("text", {"type": "text", "text": ""})
        self._parts.append(text)
        yield shapes.block_delta(self._index, {"type": "text_delta", "text": text})

    def thought(self, text: str) -> Events:
        """See `Script`."""
        if self._open != "thinking":
            block: Shape = {"type": "thinking", "thinking": "", "signature": ""}
            yield from self._start("thinking", block)
        self._parts.append(text)
        yield shapes.block_delta(self._index, {"type": "thinking_delta", "thinking": text})

    def called(self, call: Called) -> Events:
        """See `Script`."""
        name = self._names[call.name].name
        block: Shape = {"type": "tool_use", "id": self._ids.of(call.id), "name": name, "input": {}}
        yield from self._start("input", block)
        written = dump(call.arguments).decode()
        yield shapes.block_delta(self._index, {"type": "input_json_delta", "partial_json": written})
        self._blocks[-1]["input"] = call.arguments
        yield from self._stop()

    def closed(self, ended: Ended, stop: str) -> Events:
        """See `Script`."""
        yield from self._stop()
        called = any(block["type"] == "tool_use" for block in self._blocks)
        reason = "max_tokens" if ended.reason == "length" else "end_turn"
        reason = "tool_use" if called else "stop_sequence" if stop else reason
        usage = shapes.anthropic_usage(ended.read, ended.written)
        over = {"stop_reason": reason, "stop_sequence": stop or None, "usage": usage}
        self._message |= {"content": self._blocks, **over}
        yield from shapes.message_stopped(reason, stop or None, usage)

    def alive(self) -> Shape:
        """See `Script`."""
        return {"type": "ping"}

    def whole(self) -> Shape:
        """See `Script`."""
        return self._message

    @property
    def _index(self) -> int:
        return len(self._blocks) - 1

    def _start(self, field: str, block: Shape) -> Events:
        yield from self._stop()
        self._open = field
        self._blocks.append(block)
        yield shapes.block_started(self._index, {**block})

    def _stop(self) -> Events:
        if self._open:
            if self._parts:
                self._blocks[-1][self._open] = "".join(self._parts)
            self._open, self._parts = "", []
            yield shapes.block_stopped(self._index)
