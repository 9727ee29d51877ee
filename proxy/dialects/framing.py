"""Units are put into their frames.

Owns the making of framed messages and the memory of finished ones. It must not know which places a
dialect has, nor how a frame is written: `wrap_untrusted` alone makes frames.
"""

from bisect import bisect_left
from collections.abc import Sequence
from hashlib import sha256
from operator import itemgetter
from typing import Any

from msgspec import Struct

from policies.conversation import Address, Conversation, Unit
from policies.decision import Claimed, Decision, Frame, FrameRow, Leg
from policies.envelope import wrap_untrusted
from proxy.dialects.cutting import Opening, taken_out
from proxy.dialects.placing import Edit, left_out
from proxy.edits import Cut, Spliced, exchange, in_order
from proxy.errors import Refused
from proxy.json_whole import Writer
from proxy.lazyjson import Document, Node, Replace, dump, read, splice
from proxy.memory import Memory

_Framing = tuple[Unit, FrameRow]
_Rows = tuple[tuple[int, ...], tuple[FrameRow | None, ...]]
_UNIT = itemgetter(0)  # of a frame
_DEPTH = 2  # of the address of a message: its list, its index
_ENTRY = 300  # key, slot and bytes object of one finished message
_PART = 300  # what one frame adds to the key

PLAIN = Opening("text")

Finished = Memory[bytes, tuple[Sequence[_Framing], bytes]]
"""Digest of a client's message, and of what else is done to it → how its units were framed last,
and the message as it left."""


class _Cuts(Struct, frozen=True, eq=False):
    """The framed messages of a past, as they leave, and the rows of their units by number. `made`:
    what all of it became."""

    cuts: tuple[Cut, ...] = ()
    rows: _Rows = ((), ())
    made: Spliced | None = None


def rendered(
    document: Document,
    conversation: Conversation,
    decision: Decision,
    claimed: Claimed,
    finished: Finished,
    edits: Sequence[Edit] = (),
    opening: Opening = PLAIN,
) -> bytes:
    """The body with every frame of `decision`, without the thinking and the earlier messages that
    it leaves out, with `edits` and what the model is told; without any of it, the identical object.

    A message that was framed alike before is taken from `finished` whole. Raises
    `Refused("framing-failed")` when a unit cannot be framed with the row it was given.
    """
    known = _known_cuts(conversation, decision, claimed)
    cuts = [*known.cuts]
    by_message: dict[int, list[_Framing]] = {}
    for frame in decision.frames[len(known.rows[0]) :]:
        unit = conversation.units[frame.unit]
        framing = unit, _known(claimed.rows.get(frame.unit))
        by_message.setdefault(unit.message, []).append(framing)
    settled, past = len(cuts), conversation.past
    told = ""
    if (cut := decision.cut) is not None and cut.cuts:
        cuts += taken_out(document, conversation, cut, finished)
        told = cut.window.notice if cut.inside else ""
        if told:
            by_message.setdefault(cut.at, [])
    for index, framings in by_message.items():
        message = conversation.messages[index]
        node = node_at(document.root, message.address)
        before = told if told and cut is not None and index == cut.at else ""
        about = _about(message.digest, before)
        kept = finished.get(about)
        if kept is not None and _same(kept[0], framings):
            raw = kept[1]
        else:
            framed = framings and _framed_message(node, len(message.address), framings)
            raw = framed or node.raw
            raw = opening.before(raw, before) if before else raw
            finished.renew(about, (framings, raw), len(raw) + _ENTRY + _PART * len(framings))
        cuts.append((*node.span, raw))
        settled += index < past.messages
    found = in_order(document, (*edits, *left_out(decision)), cuts)
    if not found:
        return document.body
    sent = exchange(document.body, found, known.made)
    if past.messages and past.kept.get(_Cuts) is not known:
        count = bisect_left(decision.frames, past.units, key=_UNIT)
        numbers, theirs = _rows(decision.frames[len(known.rows[0]) : count], claimed)
        rows = (*known.rows[0], *numbers), (*known.rows[1], *theirs)
        # What leaves for a cloud is kept anyway, by the proof.
        made = _made(document, conversation, found, sent) if decision.leg is Leg.CLOUD else None
        past.keep(_Cuts, _Cuts(tuple(cuts[:settled]), rows, made))
    return sent


def _made(
    document: Document, conversation: Conversation, found: Sequence[Cut], sent: bytes
) -> Spliced | None:
    """What the past of the conversation became."""
    behind = conversation.messages[conversation.past.messages]
    return Spliced.of(found, node_at(document.root, behind.address).offset, sent)


def _known_cuts(conversation: Conversation, decision: Decision, claimed: Claimed) -> _Cuts:
    """What of the history was framed before, with the very rows of now. Where the body begins so
    again, all of it lies where it lay."""
    for past in (conversation.past, conversation.before):
        known: _Cuts | None = past.kept.get(_Cuts)
        if known is not None:
            frames = decision.frames[: len(known.rows[0])]
            # SECURITY: a unit is framed with the row that is claimed now, or framed anew.
            if _rows(frames, claimed) == known.rows:
                return known
    return _Cuts()


def _rows(frames: Sequence[Frame], claimed: Claimed) -> _Rows:
    numbers = tuple(map(_UNIT, frames))
    return numbers, tuple(map(claimed.rows.get, numbers))


def node_at(node: Node, way: Address) -> Node:
    """The value that `way`, named by a view of this document, leads to from `node`."""
    for step in way:
        below = node.child(step)
        assert below is not None
        node = below
    return node


def _about(digest: bytes, before: str) -> bytes:
    return sha256(digest + before.encode()).digest() if before else digest


def _known(row: FrameRow | None) -> FrameRow:
    # SECURITY: a unit without a row must never leave bare: refuse instead.
    if row is None:
        raise Refused("framing-failed")
    return row


def _same(one: Sequence[_Framing], two: Sequence[_Framing]) -> bool:
    """Whether two lists of units in a message of the same bytes are framed alike."""
    # Mostly they are the very same units and rows, which is soon seen.
    return one == two or [*map(_alike, one)] == [*map(_alike, two)]


def _alike(framing: _Framing) -> tuple[object, ...]:
    """All that a frame in a message of known bytes depends on."""
    unit, row = framing
    return unit.address[_DEPTH:], unit.inner, unit.span, row


def _framed_message(node: Node, depth: int, framings: Sequence[_Framing]) -> bytes:
    """The bytes of a message with its units in their frames."""
    if (write := node.writer) and not any(unit.inner or unit.span for unit, _ in framings):
        return _written_anew(node, write, depth, framings)
    start = node.offset
    cuts: list[Cut] = []
    inside: dict[Address, list[Edit]] = {}
    parts: dict[Address, list[tuple[int, int, str]]] = {}
    for unit, row in framings:
        framed = _framed(unit, row)
        if unit.span is not None:
            parts.setdefault(unit.address, []).append((*unit.span, framed))
            continue
        if unit.inner:
            inside.setdefault(unit.address, []).append(Replace(unit.inner, dump(framed)))
            continue
        at = node_at(node, unit.address[depth:])
        cuts.append((at.offset - start, at.span[1] - start, _quoted(at.raw, unit.text, framed)))
    for address, leaves in inside.items():
        at = node_at(node, address[depth:])
        text = splice(read((at.text() or "").encode()), leaves)
        cuts.append((at.offset - start, at.span[1] - start, dump(text.decode())))
    for address, spans in parts.items():
        at = node_at(node, address[depth:])
        cuts.append((at.offset - start, at.span[1] - start, dump(_between(at.text() or "", spans))))
    return exchange(node.raw, cuts)


def _written_anew(node: Node, write: Writer, depth: int, framings: Sequence[_Framing]) -> bytes:
    """The same, of a message whose value gives its bytes: all but the framed strings comes out as
    it came. The value itself is left alone."""
    whole: Any = node.value()
    copies: dict[Address, Any] = {(): whole.copy()}
    for unit, row in framings:
        way = unit.address[depth:]
        _copy_at(way[:-1], copies)[way[-1]] = _framed(unit, row)
    return write(copies[()])


def _copy_at(way: Address, copies: dict[Address, Any]) -> Any:
    """The copy of the container to which `way` leads, in the copy of what holds it."""
    if (copy := copies.get(way)) is None:
        outer, step = _copy_at(way[:-1], copies), way[-1]
        outer[step] = copies[way] = copy = outer[step].copy()
    return copy


def _between(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    """`text` with each span exchanged for its frame, on lines of its own."""
    pieces: list[str] = []
    done = 0
    for start, stop, framed in sorted(spans):
        pieces += (text[done:start], "\n", framed, "\n")
        done = stop
    return "".join((*pieces, text[done:]))


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
        return wrap_untrusted(
            row.field,
            unit.text,
            draw=lambda: row.nonce,
            intro=row.intro,
            kept=row.kept,
            encode=row.encode,
        )
    except ValueError as error:
        raise Refused("framing-failed") from error
