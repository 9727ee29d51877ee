"""Undeclared calls in answers of Ollama's chat.

Owns where calls stand in a line; they come whole. Why it ended says nothing of calls here.
"""

from collections.abc import Callable, Container

from proxy.edits import Edit, Member, Remove, Replace
from proxy.lazyjson import Document, dump
from proxy.undeclared.editing import LEFT, Out, edited, items, word


class Ollama:
    """See `Surgeon`."""

    def __init__(self, declared: Container[str], told: Callable[[], None]) -> None:
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
        gone = [c for c in calls if word(c.get("function"), "name") not in self._declared]
        for _ in gone:
            self._told()
        self._dropped += len(gone)
        self._kept += len(calls) - len(gone)
        all_gone = bool(calls) and len(gone) == len(calls)
        edits: list[Edit] = (
            [Remove((*message.address, "tool_calls"))]
            if all_gone
            else [Remove(call.address) for call in gone]
        )
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
