"""An answer from home as lines of Ollama's own chat API, for a client that speaks it.

Owns those lines: under the name of the model that was asked for, with calls by the names that the
client knows. It must not know what they say. Source: wire.md 2.4.
"""

from collections.abc import Mapping

from proxy.dialects import shapes
from proxy.dialects.shapes import Shape
from proxy.local.talk import Called, Ended, Named
from proxy.local.writers.ids import Ids
from proxy.local.writers.writing import Events


class Ollama:
    """See `Script`."""

    done = b""

    def __init__(self, model: str, now: int, names: Mapping[str, Named], ids: Ids) -> None:
        self._line = shapes.line(model, now, shapes.said(""))
        self._names = names
        self._ids = ids
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[Shape] = []
        self._whole: Shape = {}

    def opened(self, read: int) -> Events:
        """See `Script`. The dialect has no event for it."""
        yield from ()

    def text(self, text: str) -> Events:
        """See `Script`."""
        self._texts.append(text)
        yield {**self._line, "message": shapes.said(text)}

    def thought(self, text: str) -> Events:
        """See `Script`."""
        self._thoughts.append(text)
        yield {**self._line, "message": shapes.said("", thinking=text)}

    def called(self, call: Called) -> Events:
        """See `Script`."""
        made: Shape = {
            "index": len(self._calls),
            "name": self._names[call.name].name,
            "arguments": call.arguments,
        }
        self._calls.append({"id": self._ids.of(call.id), "function": made})
        yield {**self._line, "message": shapes.said("", tool_calls=self._calls[-1:])}

    def closed(self, ended: Ended, stop: str) -> Events:
        """See `Script`. The dialect has no word for `stop`."""
        last = shapes.line_done(self._line, ended.reason, ended.read, ended.written)
        self._whole = {**last, "message": self._message()}
        yield last

    def alive(self) -> Shape:
        """See `Script`. A blank line would break the SDK."""
        return self._line

    def whole(self) -> Shape:
        """See `Script`."""
        return self._whole

    def _message(self) -> Shape:
        message = shapes.said("".join(self._texts))
        if self._thoughts:
            message["thinking"] = "".join(self._thoughts)
        if self._calls:
            message["tool_calls"] = self._calls
        return message
