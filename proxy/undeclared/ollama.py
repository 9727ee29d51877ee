"""Undeclared calls in answers of Ollama's chat.

Owns where calls stand in a line; they come whole. Why it ended says nothing of calls here.
"""

from collections.abc import Callable, Container, Sequence

from proxy.edits import Edit, Member, Remove, Replace
from proxy.lazyjson import Document, Node, dump
from proxy.undeclared.editing import LEFT, Out, edited, items, renumbered, word


class Ollama:
    """See `Surgeon`."""

    def __init__(self, declared: Container[str], told: Callable[[str], None]) -> None:
        self._declared = declared
        self._told = told
        self._dropped = 0
        self._kept = 0
        self._says = False

    def whole(self, document: Document) -> Out:
        """See `Surgeon`."""
        return self.part(document)

    def part(self, document: Document) -> Out:
        """See `Surgeon`. A line is an answer of its own, and a whole answer is the last line."""
        message = document.root.get("message")
        if message is None:
            return None
        self._says |= bool(word(message, "content"))
        calls = items(message, "tool_calls")
        edits, gone = self._calls(calls)
        all_gone = bool(calls) and gone == len(calls)
        if all_gone:
            edits = [Remove((*message.address, "tool_calls"))]
        done = document.root.get("done")
        if done is None or done.raw != b"true":
            empty = all_gone and not (word(message, "content") or word(message, "thinking"))
            return () if empty else edited(document, edits)
        if self._dropped and not self._kept and not self._says:
            content, text = message.get("content"), dump(LEFT)
            edits.append(
                Member(message.address, "content", text)
                if content is None
                else Replace(content.address, text)
            )
        return edited(document, edits)

    def _calls(self, calls: Sequence[Node]) -> tuple[list[Edit], int]:
        """The edits that take the undeclared ones out, and how many those are."""
        edits: list[Edit] = []
        gone = 0
        for call in calls:
            function = call.get("function")
            if (name := word(function, "name")) not in self._declared:
                self._told(name)
                self._dropped += 1
                gone += 1
                edits.append(Remove(call.address))
                continue
            self._kept += 1
            edits += [] if function is None else renumbered(function, "index", self._dropped)
        return edits, gone
