"""Units are put into their frames, and the policy text into its place.

Owns the making of framed messages, the memory of finished ones, and the JSON that surrounds
authored text (`SCAFFOLD` lists every string of it, so that the proof can know them). It must not
know which places a dialect has, nor how a frame is written: `wrap_untrusted` alone makes frames.
"""

from collections.abc import Sequence

from policies.conversation import Address, Conversation, Unit
from policies.decision import Claimed, Decision, FrameRow
from policies.envelope import POLICY_TEXT, wrap_untrusted
from proxy.dialects.runs import leading
from proxy.edits import Cut, exchange
from proxy.errors import Refused
from proxy.lazyjson import Document, Insert, Kind, Member, Node, Replace, dump, read, splice
from proxy.memory import Memory

Edit = Insert | Member | Replace

_Framing = tuple[Unit, FrameRow]
_DEPTH = 2  # of the address of a message: its list, its index
_ENTRY = 300  # key, slot and bytes object of one finished message
_PART = 300  # what one frame adds to the key

BLANK_LINE = "\n\n"
"""Stands between the client's own text and the policy text where they share a string."""

SCAFFOLD = frozenset(
    {"content", "developer", "input_text", "instructions", "message", "role", "system"}
    | {"text", "type"}
)
"""Every key and value, authored text aside, that render may write into a body."""


Finished = Memory[tuple[object, ...], bytes]
"""Digest of a client's message and how each of its units is framed → the message as it leaves."""


def rendered(
    document: Document,
    conversation: Conversation,
    decision: Decision,
    claimed: Claimed,
    finished: Finished,
    edits: Sequence[Edit] = (),
) -> bytes:
    """The body with every frame of `decision` and with `edits`; without any, the identical object.

    A message that was framed alike before is taken from `finished` whole. Raises
    `Refused("framing-failed")` when a unit cannot be framed with the row it was given.
    """
    by_message: dict[int, list[_Framing]] = {}
    for frame in decision.frames:
        unit = conversation.units[frame.unit]
        framing = unit, _known(claimed.rows.get(frame.unit))
        by_message.setdefault(unit.message, []).append(framing)
    cuts: list[Cut] = []
    for index, framings in by_message.items():
        message = conversation.messages[index]
        node = node_at(document.root, message.address)
        key = (message.digest, *map(_alike, framings))
        raw = finished.get(key)
        if raw is None:
            raw = _framed_message(node, len(message.address), framings)
            finished.put(key, raw, len(raw) + _ENTRY + _PART * len(framings))
        cuts.append((*node.span, raw))
    return splice(document, edits, cuts)


def node_at(node: Node, way: Address) -> Node:
    """The value that `way`, named by a view of this document, leads to from `node`."""
    for step in way:
        below = node.child(step)
        assert below is not None
        node = below
    return node


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


def _known(row: FrameRow | None) -> FrameRow:
    # SECURITY: a unit without a row must never leave bare: refuse instead.
    if row is None:
        raise Refused("framing-failed")
    return row


def _alike(framing: _Framing) -> tuple[object, ...]:
    """All that a frame in a message of known bytes depends on."""
    unit, row = framing
    return unit.address[_DEPTH:], unit.inner, row.nonce, row.field, row.intro


def _framed_message(node: Node, depth: int, framings: Sequence[_Framing]) -> bytes:
    """The bytes of a message with its units in their frames."""
    start = node.offset
    cuts: list[Cut] = []
    inside: dict[Address, list[Edit]] = {}
    for unit, row in framings:
        framed = _framed(unit, row)
        if unit.inner:
            inside.setdefault(unit.address, []).append(Replace(unit.inner, dump(framed)))
            continue
        at = node_at(node, unit.address[depth:])
        cuts.append((at.offset - start, at.span[1] - start, _quoted(at.raw, unit.text, framed)))
    for address, leaves in inside.items():
        at = node_at(node, address[depth:])
        text = splice(read((at.text() or "").encode()), leaves)
        cuts.append((at.offset - start, at.span[1] - start, dump(text.decode())))
    return exchange(node.raw, cuts)


def _quoted(raw: bytes, text: str, framed: str) -> bytes:
    """`framed` as a JSON string. Where the text of the literal `raw` stands in it unchanged, the
    client's own bytes do, however they are escaped."""
    before, same, after = framed.partition(text)
    if not same:
        return dump(framed)
    return dump(before)[:-1] + raw[1:-1] + dump(after)[1:]


def _framed(unit: Unit, row: FrameRow) -> str:
    # SECURITY: a unit whose frame cannot be made must never leave bare: refuse instead.
    try:
        return wrap_untrusted(row.field, unit.text, draw=lambda: row.nonce, intro=row.intro)
    except ValueError as error:
        raise Refused("framing-failed") from error
