"""What a cut takes out of a body is taken out, and what the model is told of it is put in.

Owns these changes, and the memory of messages that were cut alike before. It must not know which
messages are cut, nor the words of a notice; which part a text of ours becomes is its dialect's to
say (`Opening`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from policies.conversation import Address, Conversation, Form
from policies.cut import LEFT_AT_HOME, VALUES
from policies.cut import Cut as Taken
from proxy.dialects.placing import BLANK_LINE, Edit
from proxy.edits import Cut
from proxy.lazyjson import Document, Insert, Kind, Member, Node, Remove, Replace, dump, read, splice
from proxy.memory import Memory

_DEPTH = 2  # of the address of a message: its list, its index
_ENTRY = 300


@dataclass(frozen=True, slots=True)
class Opening:
    """How a dialect writes a text of ours in a message of the user. `part` is the type of a part
    that holds text; `lists`: a string may become a list of such parts, else the text is put before
    it, with a blank line between. `typed`: a message of its own is an item with a type."""

    part: str
    lists: bool = False
    typed: bool = False

    def message(self, text: str) -> bytes:
        """A message of the user that says `text` and nothing else."""
        if self.typed:
            said = {"type": "message", "role": "user", "content": [self._part(text)]}
            return dump(said)
        return dump({"role": "user", "content": text})

    def before(self, raw: bytes, text: str) -> bytes:
        """The message `raw` with `text` as its first part."""
        document = read(raw)
        return splice(document, [self._edit(document.root.get("content"), text)])

    def _edit(self, content: Node | None, text: str) -> Edit:
        if content is None:
            return Member((), "content", dump(text))
        if content.kind is Kind.ARRAY:
            return Insert(("content",), 0, dump(self._part(text)))
        if content.kind is not Kind.STRING or not content.text():
            return Replace(("content",), dump(text))
        if not self.lists:
            return Replace(("content",), dump(text + BLANK_LINE)[:-1] + content.raw[1:])
        theirs = b'{"type":' + dump(self.part) + b',"text":' + content.raw + b"}"
        return Replace(("content",), b"[" + dump(self._part(text)) + b"," + theirs + b"]")

    def _part(self, text: str) -> dict[str, str]:
        return {"type": self.part, "text": text}


def notice_before(cut: Taken | None, key: str, opening: Opening) -> list[Edit]:
    """The notice as a message of its own in the list `key`, where it has to be one."""
    if cut is None or cut.inside or not cut.window.notice:
        return []
    return [Insert((key,), cut.at, opening.message(cut.window.notice))]


def taken_out(
    document: Document,
    conversation: Conversation,
    cut: Taken,
    finished: Memory[bytes, tuple[Sequence[Any], bytes]],
) -> Iterator[Cut]:
    """What is exchanged for what, in messages before the current turn."""
    messages = conversation.messages
    (key, *_) = messages[cut.turn].address
    listed = document.root.child(key)
    assert listed is not None
    nodes = listed.items()
    yield from _gone(nodes, cut)
    yield from ((*nodes[index].span, dump(dict(LEFT_AT_HOME))) for index in sorted(cut.home))
    for index in sorted({*cut.trimmed, *cut.emptied}):
        ways = _below(cut.trimmed.get(index, ()))
        emptied = [(way[_DEPTH:], form) for way, form in cut.emptied.get(index, ())]
        about = cut.digests[index]
        kept = finished.get(about)
        raw = _trimmed(nodes[index].raw, ways, emptied) if kept is None else kept[1]
        if kept is None:
            finished.renew(about, ((), raw), len(raw) + _ENTRY)
        yield (*nodes[index].span, raw)


def _gone(nodes: Sequence[Node], cut: Taken) -> Iterator[Cut]:
    """Each stretch of messages that go, with what separates it from the next one. There is one: the
    current turn stays."""
    start = -1
    for index in range(cut.turn + 1):
        if index in cut.gone:
            start = index if start < 0 else start
        elif start >= 0:
            yield nodes[start].offset, nodes[index].offset, b""
            start = -1


def _below(ways: Sequence[Address]) -> list[Address]:
    return [way[_DEPTH:] for way in ways]


def _trimmed(raw: bytes, ways: Sequence[Address], emptied: Sequence[tuple[Address, Form]]) -> bytes:
    edits: list[Edit] = [Remove(way) for way in ways]
    edits += [Replace(way, dump(VALUES[form])) for way, form in emptied]
    return splice(read(raw), edits)
