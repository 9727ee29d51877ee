"""Edits that put units into their frames and the policy text into its place.

Owns the building of edits and the JSON that surrounds authored text (`SCAFFOLD` lists every string
of it, so that the proof can know them). It must not know which places a dialect has.
"""

from collections.abc import Sequence

from policies.conversation import Address, Conversation, Unit
from policies.decision import Claimed, Decision, FrameRow
from policies.envelope import POLICY_TEXT, wrap_untrusted
from proxy.dialects.runs import leading
from proxy.errors import Refused
from proxy.lazyjson import Document, Insert, Kind, Member, Node, Replace, dump, read, splice

Edit = Insert | Member | Replace

BLANK_LINE = "\n\n"
"""Stands between the client's own text and the policy text where they share a string."""

SCAFFOLD = frozenset(
    {"content", "developer", "input_text", "instructions", "message", "role", "system"}
    | {"text", "type"}
)
"""Every key and value, authored text aside, that render may write into a body."""


def rendered(document: Document, edits: Sequence[Edit]) -> bytes:
    """The body with `edits`; without any, the identical object."""
    return splice(document, edits) if edits else document.body


def frames(
    document: Document, conversation: Conversation, decision: Decision, claimed: Claimed
) -> list[Edit]:
    """One edit per string of the body that holds framed units.

    Raises `Refused("framing-failed")` when a unit cannot be framed with the row it was given.
    """
    edits: list[Edit] = []
    inside: dict[Address, list[Edit]] = {}
    for frame in decision.frames:
        unit = conversation.units[frame.unit]
        raw = dump(_framed(unit, claimed.rows.get(frame.unit)))
        if unit.inner:
            inside.setdefault(unit.address, []).append(Replace(unit.inner, raw))
        else:
            edits.append(Replace(unit.address, raw))
    for address, leaves in inside.items():
        text = splice(read(text_at(document, address).encode()), leaves)
        edits.append(Replace(address, dump(text.decode())))
    return edits


def text_at(document: Document, address: Address) -> str:
    """The string at `address`, which a view of this document has named."""
    node: Node | None = document.root
    for step in address:
        assert node is not None
        node = node.get(step) if isinstance(step, str) else node.items()[step]
    text = node.text() if node is not None else None
    assert text is not None
    return text


def own_message(document: Document, conversation: Conversation, key: str) -> list[Edit]:
    """The policy text as a message of its own right behind the leading system and developer
    messages in the list `key`, in the role of the last of them."""
    listed = document.root.get(key)
    if listed is None or listed.kind is not Kind.ARRAY:
        return []
    index = leading(conversation.messages)
    role = conversation.messages[index - 1].role if index else "system"
    return [Insert((key,), index, dump({"role": role, "content": POLICY_TEXT}))]


def joined(node: Node) -> bytes:
    """The client's string, its raw bytes as they were, then the policy text."""
    if not node.text():
        return dump(POLICY_TEXT)
    return node.raw[:-1] + dump(BLANK_LINE + POLICY_TEXT)[1:]


def _framed(unit: Unit, row: FrameRow | None) -> str:
    # SECURITY: a unit whose frame cannot be made must never leave bare: refuse instead.
    if row is None:
        raise Refused("framing-failed")
    try:
        return wrap_untrusted(row.field, unit.text, draw=lambda: row.nonce, intro=row.intro)
    except ValueError as error:
        raise Refused("framing-failed") from error
