"""Where in a history the upstream's view began anew, and how the current turn is read.

Owns the rules for what a model elsewhere has read (DESIGN 3.2, "adopted"). It must not know how
anything is framed or remembered.

Signed thinking is bound to everything before it, as the upstream saw it. So a text that went out
bare stays bare while thinking follows it; to frame it, the thinking has to go. That is done when
the operator begins a turn: the view begins anew there, identically ever after. Where a history fits
neither what was sent from here nor what was sent from elsewhere, as when a row was lost, waiting
would help nobody: the view begins anew at once, at the newest run.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping

from msgspec import Struct

from policies.conversation import Address, Conversation
from policies.cut import Window
from policies.decision import FrameRow, Remembered, Turn


class Epoch(Struct, frozen=True):
    """`start`: the message at which the view began anew, -1 for never. `raw`: the current turn is
    read as it came. `sealed`: the last message with thinking that stays, -1 for none. `turn` and
    `anew` are what is new to be remembered, as in `Decision`."""

    start: int = -1
    raw: bool = False
    sealed: int = -1
    turn: Turn | None = None
    anew: bool = False

    def row(self, number: int, message: int, remembered: Remembered) -> FrameRow | None:
        """The row of a unit in this view."""
        late = remembered.late.get(number) if message < self.start else None
        return late or remembered.rows.get(number)

    def left_out(self, conversation: Conversation) -> tuple[Address, ...]:
        """The ways to all thinking before the start; where the view is cut, what stands before that
        has none."""
        old = conversation.messages[conversation.since : max(self.start, 0)]
        return tuple(way for message in old for way in message.thoughts)

    def hollowed(self, conversation: Conversation) -> tuple[Address, ...]:
        """The ways to the messages that would be left empty."""
        old = conversation.messages[conversation.since : max(self.start, 0)]
        return tuple(message.address for message in old if message.hollow)


def turns_of(conversation: Conversation) -> tuple[int, ...]:
    """The first messages of all turns of the operator that are not cut away, in order; always with
    the current one."""
    since = conversation.since
    runs = (run for run in conversation.runs if run.start >= since)
    starts = {run.start for run in runs if run.has_user and not run.answers_call}
    return tuple(sorted(starts | {conversation.turn}))


def is_strange(
    conversation: Conversation,
    rows: Mapping[int, FrameRow],
    turns: Mapping[int, Turn],
    windows: Mapping[int, Window],
    sure: int = 0,
) -> bool:
    """Whether a history holds something that was not sent from here as a matter of course, so that
    late rows and new beginnings within turns have to be looked up. The first `sure` units are known
    to have rows."""
    window = windows.get(conversation.turn)
    if window is not None and window.anew:
        return True
    if not conversation.units and not conversation.tools:
        return False
    units = conversation.units
    if any(units[number].answered and number not in rows for number in range(sure, len(units))):
        return True
    return Turn.ANEW in turns.values() or any(_foreign(conversation, turns, -1))


def begins_anew(conversation: Conversation, turns: Mapping[int, Turn]) -> bool:
    """Whether the view of a history may begin anew, or did with one of its `turns`; where it did
    within a turn is another question. Else no late row holds in it."""
    seen = conversation.messages[conversation.since :]
    return Turn.ANEW in turns.values() or any(message.sealed for message in seen)


def epoch_of(
    conversation: Conversation,
    remembered: Remembered,
    *,
    loose: bool,
    policy: bool,
    now: Epoch | None = None,
) -> Epoch:
    """How the current turn is read. `loose`: there are units without a frame in the view as it
    stands (`standing`, `now` if that was asked) that cannot get one, as thinking follows them;
    `policy`: the policy text has to stand before everything."""
    now = standing(conversation, remembered) if now is None else now
    known = remembered.turns.get(conversation.turn)
    if now.raw:
        return now
    if not loose and not _bound(conversation, remembered, now, policy):
        return _with(now, Turn.WITH if policy and known is None else None)
    if known is None and now.sealed < conversation.turn:
        return Epoch(conversation.turn, False, -1, Turn.ANEW)
    # SECURITY: what a cut takes out was never to leave, so nothing leaves as it came for its sake.
    if known is None and not (remembered.rows or remembered.turns or conversation.since):
        return Epoch(now.start, True, now.sealed, Turn.RAW)
    newest = conversation.runs[-1].start if conversation.runs else -1
    if now.sealed < newest and not any(at >= conversation.turn for at in remembered.anew):
        turn = Turn.WITH if known is None else None
        return Epoch(newest, False, -1, turn, anew=True)
    return now


def standing(conversation: Conversation, remembered: Remembered) -> Epoch:
    """The view as far as it is remembered: nothing new begins."""
    anew = [start for start, turn in remembered.turns.items() if turn is Turn.ANEW]
    start = max((*anew, *remembered.anew), default=-1)
    sealed, since = -1, conversation.since
    for message in reversed(conversation.messages):
        if message.sealed or message.index < since:
            sealed = message.index if message.index >= since else -1
            break
    raw = remembered.turns.get(conversation.turn) is Turn.RAW and start < conversation.turn
    return Epoch(start, raw and not conversation.since, sealed if sealed >= start else -1)


def _with(epoch: Epoch, turn: Turn | None) -> Epoch:
    return Epoch(epoch.start, epoch.raw, epoch.sealed, turn)


def _bound(conversation: Conversation, remembered: Remembered, now: Epoch, policy: bool) -> bool:
    """Whether thinking that stands in this view was done in another one: before the policy text
    stood there, or with more or less of the conversation in it."""
    turn, windows = conversation.turn, remembered.windows
    if conversation.since and turn not in windows and now.sealed >= turn:
        return True
    if policy and any(_foreign(conversation, remembered.turns, now.start)):
        return True
    if conversation.since:
        return False
    cut = [at for at, window in windows.items() if window.mode != "off" and now.start < at < turn]
    seen = conversation.messages[min(cut, default=turn) : turn]
    return any(message.sealed and message.index >= now.start for message in seen)


def _foreign(conversation: Conversation, turns: Mapping[int, Turn], start: int) -> Iterator[int]:
    """Messages from `start` on with thinking of a turn that was not sent from here with frames."""
    first = max(start, conversation.since)
    sealed = [m for m in conversation.messages if m.sealed and m.index >= first]
    starts = turns_of(conversation) if sealed else ()
    for message in sealed:
        place = bisect_right(starts, message.index)
        begun = starts[place - 1] if place else -1
        if start >= 0 and begun <= start:
            continue
        if turns.get(begun) not in (Turn.WITH, Turn.ANEW):
            yield message.index
