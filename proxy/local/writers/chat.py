"""An answer from home as a completion of OpenAI's Chat API.

Owns its chunks and its one choice. It must not know what they say. Source: wire.md 2.2 and 5.3.
"""

from collections.abc import Mapping
from typing import assert_never

from proxy.dialects import shapes
from proxy.dialects.finals import DONE
from proxy.dialects.shapes import Shape
from proxy.lazyjson import dump
from proxy.local.talk import Called, Ended, Named
from proxy.local.writers.ids import Ids
from proxy.local.writers.writing import Events


class Chat:
    """See `Script`. `usage`: the stream was asked to end with a chunk about tokens."""

    done = DONE

    def __init__(self, base: Shape, names: Mapping[str, Named], ids: Ids, *, usage: bool) -> None:
        self._base = base
        self._chunks = shapes.chunk_base(base, usage=usage)
        self._usage = usage
        self._names = names
        self._ids = ids
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[Shape] = []
        self._whole: Shape = {}

    def opened(self, read: int) -> Events:
        """See `Script`."""
        yield shapes.chunk(self._chunks, shapes.said(""))

    def text(self, text: str) -> Events:
        """See `Script`."""
        self._texts.append(text)
        yield shapes.chunk(self._chunks, {"content": text})

    def thought(self, text: str) -> Events:
        """See `Script`. A field of compatible servers, which clients show."""
        self._thoughts.append(text)
        yield shapes.chunk(self._chunks, {"reasoning": text})

    def called(self, call: Called) -> Events:
        """See `Script`."""
        made = _call(call, self._names[call.name], self._ids.of(call.id))
        index = len(self._calls)
        self._calls.append(made)
        yield shapes.chunk(self._chunks, {"tool_calls": [{"index": index, **made}]})

    def closed(self, ended: Ended, stop: str) -> Events:
        """See `Script`. The dialect has no word for `stop`."""
        reason = "tool_calls" if self._calls else ended.reason
        usage = shapes.chat_usage(ended.read, ended.written)
        self._whole = shapes.completed(self._base, self._message(), reason, usage)
        yield shapes.chunk(self._chunks, {}, reason)
        if self._usage:
            yield {**self._chunks, "choices": [], "usage": usage}

    def alive(self) -> None:
        """See `Script`."""

    def whole(self) -> Shape:
        """See `Script`."""
        return self._whole

    def _message(self) -> Shape:
        message: Shape = {**shapes.said("".join(self._texts)), "refusal": None}
        if self._thoughts:
            message["reasoning"] = "".join(self._thoughts)
        if self._calls:
            message |= {"content": message["content"] or None, "tool_calls": self._calls}
        return message


def _call(call: Called, named: Named, identity: str) -> Shape:
    match named.sort:
        case "function":
            arguments = dump(call.arguments).decode()
            made: Shape = {"name": named.name, "arguments": arguments}
        case "custom":
            made = {"name": named.name, "input": call.arguments["input"]}
        case _:
            assert_never(named.sort)
    return {"id": identity, "type": named.sort, named.sort: made}
