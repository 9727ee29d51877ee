"""Undeclared calls in answers of the Responses API.

Owns which items are calls that the client would carry out, which events belong to an item, the
numbers of items and events, and what stands in the finished response.
"""

from collections.abc import Callable, Container

from proxy.dialects.calls import BUILT_IN, UPSTREAM
from proxy.dialects.finals import message_story, response_message
from proxy.edits import Edit, Insert, Remove, Replace
from proxy.lazyjson import Document, Node, dump
from proxy.undeclared.editing import LEFT, Out, edited, items, number, renumbered, word

_CALLS = frozenset({"function_call", "custom_tool_call"})
_ENDS = frozenset({"response.completed", "response.incomplete"})
_BEGINS = frozenset({"response.output_item.added", "response.output_item.done"})
_SILENT = frozenset({"reasoning", "compaction"})
"""Items that tell a client nothing to go on with."""


class Responses:
    """See `Surgeon`."""

    def __init__(self, declared: Container[str], told: Callable[[str], None]) -> None:
        self._declared = declared
        self._told = told
        self._dropped: set[int] = set()
        self._kept: set[int] = set()
        self._gap = 0  # events that went, less those that came in their place
        self._left = False

    def _is_undeclared(self, item: Node | None) -> bool:
        kind = word(item, "type")
        if kind in _CALLS:
            return _name(item) not in self._declared
        if item is None or word(item.get("environment"), "type") == UPSTREAM:
            return False
        names = BUILT_IN.get(kind, ())
        return bool(names) and not any(name in self._declared for name in names)

    def whole(self, document: Document) -> Out:
        """See `Surgeon`."""
        gone, left = self._output(document.root, told=True)
        if gone and not left:
            gone.append(Insert(("output",), 0, dump(response_message(LEFT, _id(document.root)))))
        return edited(document, gone)

    def part(self, document: Document) -> Out:
        """See `Surgeon`."""
        root, kind = document.root, word(document.root, "type")
        at = number(root, "output_index")
        if kind in _BEGINS and at not in self._kept and at not in self._dropped:
            undeclared = self._is_undeclared(root.get("item"))
            (self._dropped if undeclared else self._kept).add(at)
            self._left |= not undeclared and word(root.get("item"), "type") not in _SILENT
            if undeclared:
                self._told(_name(root.get("item")))
        if at in self._dropped:
            self._gap += 1
            return ()
        edits = renumbered(root, "output_index", sum(index < at for index in self._dropped))
        story: list[bytes] = []
        if (response := root.get("response")) is not None:
            gone, _ = self._output(response, told=False)
            edits += gone
            if kind in _ENDS and self._dropped and not self._left:
                story, ended = self._said(response, number(root, "sequence_number"))
                edits.append(ended)
        edits += renumbered(root, "sequence_number", self._gap)
        last = edited(document, edits)
        return (*story, *(last or (document.body,))) if story else last

    def _output(self, response: Node, *, told: bool) -> tuple[list[Edit], bool]:
        """The edits that take undeclared calls out of a response, and whether anything is left."""
        output = items(response, "output")
        gone = [item for item in output if self._is_undeclared(item)]
        for item in gone if told else ():
            self._told(_name(item))
        left = any(word(i, "type") not in _SILENT for i in output if i not in gone)
        return [Remove(item.address) for item in gone], left

    def _said(self, response: Node, sequence: int) -> tuple[list[bytes], Edit]:
        """The events of a message of ours before the end, and its place in the response."""
        message = response_message(LEFT, _id(response))
        index = len(self._kept)
        story = [*message_story(message, LEFT, index)]
        if sequence >= 0:
            first = sequence - self._gap
            story = [{**event, "sequence_number": first + n} for n, event in enumerate(story)]
            self._gap -= len(story)
        output = response.get("output")
        place = (*response.address, "output")
        edit: Edit = (
            Replace(place, dump([message]))
            if output is None or not output.items()
            else Insert(place, len(output.items()), dump(message))
        )
        return [dump(event) for event in story], edit


def _name(item: Node | None) -> str:
    """The tool's, with its namespace where it has one."""
    if names := BUILT_IN.get(word(item, "type")):
        return names[0]
    return ".".join(filter(None, (word(item, "namespace"), word(item, "name"))))


def _id(response: Node) -> str:
    return word(response, "id").removeprefix("resp_") or "transom"
