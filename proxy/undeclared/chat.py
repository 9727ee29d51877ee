"""Undeclared calls in answers of Chat Completions.

Owns which parts of a chunk belong to a call, the numbers of calls, and the finish reason, for each
choice on its own. Calls come in fragments of which the first names the tool.
"""

from collections.abc import Callable, Container
from dataclasses import dataclass, field

from proxy.edits import Edit, Member, Remove, Replace
from proxy.lazyjson import Document, Node, dump
from proxy.undeclared.editing import LEFT, Out, edited, items, number, renumbered, word

_STOPS = (b'"tool_calls"', b'"function_call"')
_LEGACY = "function_call"


@dataclass(slots=True)
class _Choice:
    """What came of one choice: numbers of calls that were dropped and kept, whether it says
    something, and whether its one call of the old kind was dropped (None: there was none)."""

    dropped: set[int] = field(default_factory=set)
    kept: set[int] = field(default_factory=set)
    says: bool = False
    legacy: bool | None = None

    @property
    def only_dropped(self) -> bool:
        return bool(self.dropped or self.legacy) and not self.kept and self.legacy is not False


class Chat:
    """See `Surgeon`."""

    def __init__(self, declared: Container[str], told: Callable[[str], None]) -> None:
        self._declared = declared
        self._told = told
        self._choices: dict[int, _Choice] = {}

    def whole(self, document: Document) -> Out:
        """See `Surgeon`."""
        edits: list[Edit] = []
        for choice in items(document.root, "choices"):
            edits += self._choice(choice, choice.get("message"), _Choice(), whole=True)
        return edited(document, edits)

    def part(self, document: Document) -> Out:
        """See `Surgeon`."""
        edits: list[Edit] = []
        choices = items(document.root, "choices")
        empty = bool(choices)
        for choice in choices:
            state = self._choices.setdefault(number(choice, "index"), _Choice())
            delta = choice.get("delta")
            new = self._choice(choice, delta, state, whole=False)
            edits += new
            left = 0 if delta is None else len(delta.members())
            empty &= not _finishes(choice) and left == sum(_is_member(e, delta) for e in new)
        usage = document.root.get("usage")
        if edits and empty and (usage is None or usage.raw == b"null"):
            return ()
        return edited(document, edits)

    def _choice(
        self, choice: Node, said: Node | None, state: _Choice, *, whole: bool
    ) -> list[Edit]:
        if said is None:
            return []
        state.says |= bool(word(said, "content") or word(said, "refusal"))
        edits = [*self._calls(said, state, whole=whole), *self._legacy(said, state)]
        if (reason := choice.get("finish_reason")) is None or reason.raw == b"null":
            return edits
        if state.only_dropped:
            if reason.raw in _STOPS:
                edits.append(Replace(reason.address, b'"stop"'))
            if not state.says:
                content = said.get("content")
                text = dump(LEFT)
                edits.append(
                    Member(said.address, "content", text)
                    if content is None
                    else Replace(content.address, text)
                )
        return edits

    def _calls(self, said: Node, state: _Choice, *, whole: bool) -> list[Edit]:
        edits: list[Edit] = []
        calls = items(said, "tool_calls")
        gone = 0
        for place, call in enumerate(calls):
            at = place if whole else number(call, "index")
            if at not in state.kept and at not in state.dropped:
                undeclared = (name := _name(call)) not in self._declared
                (state.dropped if undeclared else state.kept).add(at)
                if undeclared:
                    self._told(name)
            if at in state.dropped:
                edits.append(Remove(call.address))
                gone += 1
            else:
                edits += renumbered(call, "index", sum(index < at for index in state.dropped))
        if calls and gone == len(calls):
            return [Remove((*said.address, "tool_calls"))]
        return edits

    def _legacy(self, said: Node, state: _Choice) -> list[Edit]:
        call = said.get(_LEGACY)
        if call is None or call.raw == b"null":
            return []
        if state.legacy is None:
            state.legacy = (name := word(call, "name")) not in self._declared
            if state.legacy:
                self._told(name)
        return [Remove(call.address)] if state.legacy else []


def _name(call: Node) -> str:
    return word(call.get("function"), "name") or word(call.get("custom"), "name")


def _finishes(choice: Node) -> bool:
    reason = choice.get("finish_reason")
    return reason is not None and reason.raw != b"null"


def _is_member(edit: Edit, holder: Node | None) -> bool:
    """Whether a member of `holder` goes."""
    return isinstance(edit, Remove) and holder is not None and edit.address[:-1] == holder.address
