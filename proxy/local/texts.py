"""The text of an answer and what it gives its tools, gathered while it goes by.

Owns where the dialects have it. It must not know what it is gathered for.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from proxy.local.arguments import parts, strings_in

MOST: Final = 4 * 1024 * 1024
"""Bytes of text that are gathered; what follows is left out."""


class Texts:
    """What one answer says, event by event."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self._calls: defaultdict[str, list[str]] = defaultdict(list)
        self._size = 0

    def add(self, value: Any) -> None:
        """The next event, or a whole answer, decoded."""
        if self._size >= MOST:
            return
        for text in _texts(value):
            self._found.append(text)
            self._size += len(text)
        for which, piece in parts(value):
            self._calls[which].append(piece)
            self._size += len(piece)

    def all(self) -> list[str]:
        """The text, in one piece, and then every string that is given to a tool."""
        given = ["".join(pieces) for pieces in self._calls.values()]
        return ["".join(self._found), *(text for each in given for text in strings_in(each))]


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
