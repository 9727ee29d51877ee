"""The text of an answer and what it gives its tools, gathered from a copy while it goes by.

Owns where the dialects have it. It must not know what it is gathered for.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from proxy.dialects.streams import Kind, TooLong, decoder
from proxy.local.arguments import parts, strings_in

MOST: Final = 4 * 1024 * 1024
"""Bytes of text that are gathered; what follows is left out."""


class Texts:
    """An observer of one answer; at its end `told` gets its text, in one piece, and then every
    string that is given to a tool."""

    def __init__(self, stream: Kind, told: Callable[[Sequence[str]], None]) -> None:
        self._events = decoder(stream)
        self._told = told
        self._found: list[str] = []
        self._calls: defaultdict[str, list[str]] = defaultdict(list)
        self._size = 0

    def chunk(self, data: bytes) -> None:
        """The next bytes of the answer."""
        try:
            self._take(self._events.feed(data))
        except TooLong:
            self._size = MOST

    def end(self) -> None:
        """No more will come."""
        self._take(self._events.end())
        given = ["".join(pieces) for pieces in self._calls.values()]
        self._told(["".join(self._found), *(text for each in given for text in strings_in(each))])

    def _take(self, events: Sequence[Any]) -> None:
        for event in events:
            if event.data is None or self._size >= MOST:
                continue
            try:
                value = msgspec.json.decode(event.data)
            except (msgspec.DecodeError, ValueError, RecursionError):
                continue
            for text in _texts(value):
                self._found.append(text)
                self._size += len(text)
            for which, piece in parts(value):
                self._calls[which].append(piece)
                self._size += len(piece)


def _texts(value: Any) -> Iterator[str]:
    """The text that one event adds, or that a whole answer has."""
    match value:
        case {"type": "content_block_delta", "delta": {"text": str(text)}}:
            yield text
        case {"type": "response.output_text.delta", "delta": str(text)}:
            yield text
        case {"choices": [*choices]}:
            for choice in choices:
                match choice:
                    case {"delta": {"content": str(text)}} | {"message": {"content": str(text)}}:
                        yield text
                    case _:
                        pass
        case {"content": [*blocks], "role": "assistant"}:
            yield from _parts(blocks)
        case {"output": [*items], "object": "response"}:
            for item in items:
                if isinstance(item, dict) and isinstance(item.get("content"), list):
                    yield from _parts(item["content"])
        case _:
            pass


def _parts(parts: Sequence[Any]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"] + "\n"
