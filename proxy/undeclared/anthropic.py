"""Undeclared calls in answers of Anthropic Messages.

Owns which events belong to a call, the numbers of blocks, and the stop reason. A block of type
`tool_use` is one; those of server tools and MCP servers were carried out upstream. A tool of a
toolset is declared under its name.
"""

from collections.abc import Callable, Container, Iterator

from proxy.edits import Edit, Insert, Remove, Replace
from proxy.lazyjson import Document, Node, dump
from proxy.undeclared.editing import LEFT, Out, edited, items, number, renumbered, word

_CALL, _STOP, _ENDED = "tool_use", b'"tool_use"', b'"end_turn"'


class Messages:
    """See `Surgeon`."""

    def __init__(self, declared: Container[str], told: Callable[[str], None]) -> None:
        self._declared = declared
        self._told = told
        self._dropped: set[int] = set()
        self._kept: set[str] = set()

    def _is_undeclared(self, block: Node | None) -> bool:
        """Whether it is such a call. Of all others it is noted that they are there."""
        kind = word(block, "type")
        names = word(block, "name"), word(block, "toolset_name")
        if kind == _CALL and not any(name in self._declared for name in names):
            self._told(names[0])
            return True
        self._kept.add(kind)
        return False

    def whole(self, document: Document) -> Out:
        """See `Surgeon`."""
        root = document.root
        edits: list[Edit] = [
            Remove(block.address) for block in items(root, "content") if self._is_undeclared(block)
        ]
        if edits and not self._kept:
            edits.append(Insert(("content",), 0, dump({"type": "text", "text": LEFT})))
        if edits and _CALL not in self._kept:
            edits += _no_call(root)
        return edited(document, edits)

    def part(self, document: Document) -> Out:
        """See `Surgeon`."""
        root, at = document.root, number(document.root, "index")
        match word(root, "type"):
            case "content_block_start" if self._is_undeclared(root.get("content_block")):
                self._dropped.add(at)
                return ()
            case "content_block_delta" | "content_block_stop" if at in self._dropped:
                return ()
            case "content_block_start" | "content_block_delta" | "content_block_stop":
                before = sum(index < at for index in self._dropped)
                return edited(document, renumbered(root, "index", before))
            case "message_delta" if self._dropped and _CALL not in self._kept:
                said = () if self._kept else _said()
                delta = root.get("delta")
                last = edited(document, [] if delta is None else _no_call(delta))
                return (*said, *(last or (document.body,)))
            case _:
                return None


def _no_call(holder: Node) -> list[Edit]:
    reason = holder.get("stop_reason")
    if reason is None or reason.raw != _STOP:
        return []
    return [Replace(reason.address, _ENDED)]


def _said() -> Iterator[bytes]:
    """A block of text, the first and only one."""
    yield dump(
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        }
    )
    delta = {"type": "text_delta", "text": LEFT}
    yield dump({"type": "content_block_delta", "index": 0, "delta": delta})
    yield dump({"type": "content_block_stop", "index": 0})
