"""Texts of ours are put into their places, and thinking that must go is taken out.

Owns these edits and the JSON that surrounds authored text (`SCAFFOLD` lists every string of it, so
that the proof can know them). It must not know which places a dialect has.
"""

from policies.authored import LEFT_OUT, NOTES
from policies.conversation import Conversation
from policies.decision import Claimed, Decision
from proxy.dialects.runs import leading
from proxy.lazyjson import Document, Insert, Kind, Member, Node, Remove, Replace, dump

Edit = Insert | Member | Replace | Remove

BLANK_LINE = "\n\n"
"""Stands between the client's own text and the policy text where they share a string."""

SCAFFOLD = frozenset(
    {"content", "developer", "input_text", "instructions", "message", "role", "system"}
    | {"text", "type", "user", "tool_choice", "function_call", "none"}
)
"""Every key and value, authored text aside, that render may write into a body."""


def own_message(document: Document, conversation: Conversation, key: str, text: str) -> list[Edit]:
    """`text`, unless it is empty, as a message of its own right behind the leading system and
    developer messages in the list `key`, in the role of the last of them."""
    listed = document.root.get(key)
    if not text or listed is None or listed.kind is not Kind.ARRAY:
        return []
    index = leading(conversation.messages)
    role = conversation.messages[index - 1].role if index else "system"
    return [Insert((key,), index, dump({"role": role, "content": text}))]


def reminders(decision: Decision, key: str) -> list[Edit]:
    """The placed texts as plain messages of the user in the list `key`."""
    return [
        Insert((key,), placed.after + 1, dump({"role": "user", "content": placed.text}))
        for placed in decision.placed
    ]


def standing(decision: Decision, claimed: Claimed) -> list[tuple[int, str]]:
    """The notes that hold after claiming: the message that each stands behind, and its text."""
    return [
        (note.after, NOTES[note.name])
        for note in decision.notes
        if note.known or claimed.rows[note.unit].followed
    ]


def note_messages(decision: Decision, claimed: Claimed, key: str) -> list[Edit]:
    """The notes as system messages in the list `key`."""
    return [
        Insert((key,), after + 1, dump({"role": "system", "content": text}))
        for after, text in standing(decision, claimed)
    ]


def forbidden(document: Document, tools: str, key: str, value: object) -> list[Edit]:
    """Tool use off: `value` in the member `key`, in place of what stands there. Nothing where no
    tools are declared in the member `tools` (empty: they are declared elsewhere)."""
    listed = document.root.get(tools) if tools else None
    if tools and (listed is None or not listed.items()):
        return []
    choice = document.root.get(key)
    return [Member((), key, dump(value)) if choice is None else Replace((key,), dump(value))]


def joined(node: Node, text: str) -> bytes:
    """The client's string, its raw bytes as they were, then `text`."""
    if not node.text():
        return dump(text)
    return node.raw[:-1] + dump(BLANK_LINE + text)[1:]


def left_out(decision: Decision) -> list[Edit]:
    """The edits that leave out thinking. A message that held nothing else gets a text in its place:
    upstreams refuse one without content."""
    if not (decision.hollow or decision.removed):
        return []
    content = dump([{"type": "text", "text": LEFT_OUT}])
    hollow = [Replace((*address, "content"), content) for address in decision.hollow]
    inside = set(decision.hollow)
    gone = [Remove(way) for way in decision.removed if way[:2] not in inside]
    return [*hollow, *gone]
