"""What of a conversation gets a frame, with which nonce, and what goes along.

Owns the choice; it must not know how a frame is written or where rows are kept. What a model
elsewhere has read is judged in `epoch`.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from operator import attrgetter

from msgspec import Struct

from policies.authored import POLICY_TEXTS
from policies.conversation import Address, Conversation, Origin, Unit
from policies.decision import Frame, FrameRow, Placed, Remembered, Turn
from policies.envelope import field_name
from policies.envelope.epoch import Epoch, epoch_of, standing
from policies.envelope.remind import reminders
from policies.pins import Pins
from policies.provenance import Trust, rule_of, trust_of
from policies.settings import ToolRule

_UNIT = attrgetter("unit")
_NO_RULE = ToolRule("*")


class Plan(Struct, frozen=True):
    """The parts of a `Decision` that are the envelope's; see there. `explains`: the policy text is
    due, whether or not it can be there yet."""

    frames: tuple[Frame, ...] = ()
    policy_text: str = ""
    adopted: int = 0
    turn: Turn | None = None
    anew: bool = False
    removed: tuple[Address, ...] = ()
    hollow: tuple[Address, ...] = ()
    placed: tuple[Placed, ...] = ()
    explains: bool = False


def plan_frames(
    conversation: Conversation, remembered: Remembered, pins: Pins, draw: Callable[[], str]
) -> Plan:
    """Plan the frames of a request of a conversation with `pins`.

    A unit that the ledger knows keeps its row. A new unit gets a candidate: one nonce for all new
    units of a message, the intro on the first of them.
    """
    if not pins.envelope.enabled:
        return Plan()
    rules = pins.envelope.tools
    theirs: Sequence[int] = range(len(conversation.units))
    if rules:
        trusted = partial(trust_of, rules=rules)
        units = conversation.units
        theirs = [n for n in theirs if trusted(units[n].source) is not Trust.OPERATOR]
    policy = pins.explains or _explains(conversation, remembered, bool(theirs))
    now = standing(conversation, remembered)
    unknown = _unknown(conversation, remembered, now, theirs)
    loose = any(conversation.units[number].message < now.sealed for number in unknown)
    epoch = epoch_of(conversation, remembered, loose=loose, policy=policy, now=now)
    if remembered.late:
        unknown = _unknown(conversation, remembered, epoch, theirs)
    bare = {n for n in unknown if conversation.units[n].message < epoch.sealed}
    adopted = sum(conversation.units[number].answered for number in unknown)
    return Plan(
        tuple(_frames(conversation, remembered, epoch, [*_but(unknown, bare)], rules, draw)),
        POLICY_TEXTS[pins.policy] if policy and not epoch.raw else "",
        adopted or int(epoch.raw or epoch.turn is Turn.ANEW or epoch.anew),
        epoch.turn,
        epoch.anew,
        epoch.left_out(conversation),
        epoch.hollowed(conversation),
        reminders(conversation, remembered, pins.envelope.reminder),
        policy,
    )


def _explains(conversation: Conversation, remembered: Remembered, units: bool) -> bool:
    """Whether the policy text is due: with tools, or with something to frame. Once there it stays,
    whatever a later request declares. Where the model has answered without it, a first unit does
    not bring it, as it would stand before those answers; first tools do, as they stand there too.
    """
    begun = any(turn is not Turn.RAW for turn in remembered.turns.values())
    seen = conversation.messages[conversation.since :]
    answered = any(message.origin is Origin.AGENT for message in seen)
    new = remembered.pins is None or not answered
    return bool(conversation.tools) or begun or (new and (units or bool(remembered.rows)))


def _unknown(
    conversation: Conversation, remembered: Remembered, epoch: Epoch, theirs: Sequence[int]
) -> list[int]:
    """The units to be framed that have no row in this view."""
    units, rows = conversation.units, remembered.rows
    if not remembered.late:
        sure = bisect_left(theirs, len(remembered.sure))
        return [n for n in theirs[sure:] if n not in rows]
    return [n for n in theirs if epoch.row(n, units[n].message, remembered) is None]


def _but(numbers: Sequence[int], bare: set[int]) -> Iterator[int]:
    return (number for number in numbers if number not in bare)


def _frames(
    conversation: Conversation,
    remembered: Remembered,
    epoch: Epoch,
    fresh: Sequence[int],
    rules: Sequence[ToolRule],
    draw: Callable[[], str],
) -> list[Frame]:
    """The frames of all units that have a row, and of the `fresh` ones, in order."""
    units = conversation.units
    together: dict[int, list[int]] = {}
    for number in fresh:
        together.setdefault(units[number].message, []).append(number)
    if remembered.late:
        rows = ((n, epoch.row(n, unit.message, remembered)) for n, unit in enumerate(units))
        frames = [Frame(number, row, True) for number, row in rows if row is not None]
    else:
        sure, known = remembered.sure, remembered.rows.items()
        frames = [*sure, *(Frame(n, row, True) for n, row in islice(known, len(sure), None))]
    last = frames[-1].unit if frames else -1
    for message, numbers in together.items():
        for number, row in _candidates(numbers, units, rules, draw):
            frames.append(Frame(number, row, False, message < epoch.start))
    # Mostly what is new stands behind all that is known.
    return frames if not fresh or last < fresh[0] else sorted(frames, key=_UNIT)


def _candidates(
    numbers: Sequence[int],
    units: Sequence[Unit],
    rules: Sequence[ToolRule],
    draw: Callable[[], str],
) -> Iterator[tuple[int, FrameRow]]:
    """One nonce for the units of one message; drawn again while one of the texts holds it."""
    nonce = draw()
    while any(nonce in units[number].text for number in numbers):
        nonce = draw()
    for number in numbers:
        unit = units[number]
        rule = rule_of(unit.source, rules) or _NO_RULE
        cut = rule.max_chars is not None and len(unit.text) > rule.max_chars
        yield (
            number,
            FrameRow(
                nonce,
                field_name(unit.tool),
                intro=number == numbers[0],
                kept=rule.max_chars if cut else None,
                encode=rule.encode,
            ),
        )
