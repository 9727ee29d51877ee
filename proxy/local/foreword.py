"""A sentence of ours before what a local server says in the client's own dialect.

Owns where the text of such an answer begins, and where it comes again in the same stream. It must
not know why there is a sentence. Sources: wire.md 2.1 to 2.3.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from proxy.lazyjson import Edit, Node, Replace, dump
from proxy.local.rewriting import Rewriting

Place = tuple[object, object]
"""Item and part of an answer of Responses, by their indices."""

_FORMS: Final = (("response_format",), ("text", "format"), ("output_config", "format"))
_TEXT: Final = frozenset({"", "text"})


def asks_for_form(root: Node) -> bool:
    """Whether a request asks for an answer in a form of its own, which a sentence would break."""
    return any(_type(_at(root, *way)) not in _TEXT for way in _FORMS)


class Foreword(Rewriting):
    """A filter that writes `words` and a blank line before the first text; all else stays byte for
    byte. An answer without text has none."""

    def __init__(self, words: str) -> None:
        self._words = f"{words}\n\n"
        self._said = False
        self._place: Place | None = None

    def concerns(self, data: str) -> bool:
        return '"' in data and not (self._said and self._place is None)

    def edits(self, root: Node) -> Iterable[Edit]:
        """The words before the text, where it begins in a value or comes again."""
        texts = self._begins(root) if not self._said else self._again(root)
        for node in texts:
            text = node.text()
            if text:
                yield Replace(node.address, dump(self._words + text))

    def done(self) -> None:
        self._said = True

    def _begins(self, root: Node) -> Iterator[Node]:
        """The first text, and where it stands."""
        match root.get_text("type"):
            case "content_block_start":
                yield from _one(_at(root, "content_block", "text"))
            case "content_block_delta":
                yield from _one(_at(root, "delta", "text"))
            case "response.output_text.delta":
                self._place = _indices(root)
                yield from _one(root.get("delta"))
            case "message":
                yield from _first(root.get("content"))
            case _:
                yield from self._whole(root)

    def _whole(self, root: Node) -> Iterator[Node]:
        """The same in a chunk of Chat, and in whole answers."""
        if root.get_text("object") == "response":
            for item in _all(root.get("output")):
                if texts := [*_first(item.get("content"))]:
                    yield texts[0]
                    return
        elif choices := _all(root.get("choices")):
            for holder in ("delta", "message"):
                yield from _one(_at(choices[0], holder, "content"))
        elif root.get_text("role") == "assistant":
            yield from _first(root.get("content"))

    def _again(self, root: Node) -> Iterator[Node]:
        """Where Responses has all of a text that came in pieces."""
        assert self._place is not None
        match root.get_text("type"):
            case "response.output_text.done" if _indices(root) == self._place:
                yield from _one(root.get("text"))
            case "response.content_part.done" if _indices(root) == self._place:
                yield from _one(_at(root, "part", "text"))
            case "response.output_item.done" if _indices(root)[0] == self._place[0]:
                yield from self._part(root.get("item"))
            case "response.completed" | "response.incomplete" | "response.failed":
                items = _all(_at(root, "response", "output"))
                if isinstance(self._place[0], int) and 0 <= self._place[0] < len(items):
                    yield from self._part(items[self._place[0]])
            case _:
                pass

    def _part(self, item: Node | None) -> Iterator[Node]:
        assert self._place is not None
        parts, at = _all(item.get("content") if item is not None else None), self._place[1]
        if isinstance(at, int) and 0 <= at < len(parts):
            yield from _one(parts[at].get("text"))


def _indices(root: Node) -> Place:
    found = (root.get(key) for key in ("output_index", "content_index"))
    item, part = (node.value() if node is not None else 0 for node in found)
    return item, part


def _first(parts: Node | None) -> Iterator[Node]:
    """The text of the first part that has one."""
    for part in _all(parts):
        if part.get_text("type") in ("text", "output_text") and part.get_text("text"):
            yield from _one(part.get("text"))
            return


def _at(root: Node | None, *way: str) -> Node | None:
    for key in way:
        root = root.get(key) if root is not None else None
    return root


def _type(node: Node | None) -> str:
    return "" if node is None else node.get_text("type") or ""


def _one(node: Node | None) -> Iterator[Node]:
    if node is not None:
        yield node


def _all(node: Node | None) -> tuple[Node, ...]:
    return node.items() if node is not None else ()
