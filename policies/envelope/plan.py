"""Which units get a frame, with which nonce, and whether the policy text goes along.

Owns the choice; it must not know how a frame is written or where rows are kept.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from policies.conversation import Conversation, Unit
from policies.decision import Frame, FrameRow, Remembered
from policies.envelope import field_name
from policies.provenance import Trust, trust_of
from policies.settings import Envelope


@dataclass(frozen=True, slots=True)
class Plan:
    """`frames` in the order of the units; `adopted` counts units that leave as they came."""

    frames: tuple[Frame, ...] = ()
    policy_text: bool = False
    adopted: int = 0


def plan_frames(
    conversation: Conversation,
    remembered: Remembered,
    settings: Envelope,
    draw: Callable[[], str],
) -> Plan:
    """Plan the frames of a request.

    A unit that the ledger knows keeps its row. A new unit gets a candidate: one nonce for all new
    units of a message, the intro on the first of them. A unit that the ledger does not know
    although a message of the model follows it was read elsewhere as it stands; it is adopted.
    """
    if not settings.enabled:
        return Plan()
    frames: list[Frame] = []
    adopted = 0
    fresh: dict[int, list[int]] = {}
    for number, unit in enumerate(conversation.units):
        row = remembered.rows.get(number)
        if row is not None:
            frames.append(Frame(number, row, known=True))
        elif trust_of(unit.source, settings.tools) is Trust.OPERATOR:
            continue
        elif unit.answered:
            adopted += 1
        else:
            fresh.setdefault(unit.message, []).append(number)
    for numbers in fresh.values():
        frames.extend(_candidates(numbers, conversation.units, draw))
    frames.sort(key=lambda frame: frame.unit)
    return Plan(tuple(frames), bool(frames or conversation.tools), adopted)


def _candidates(
    numbers: list[int], units: tuple[Unit, ...], draw: Callable[[], str]
) -> Iterator[Frame]:
    """One nonce for the units of one message; drawn again while one of the texts holds it."""
    nonce = draw()
    while any(nonce in units[number].text for number in numbers):
        nonce = draw()
    for number in numbers:
        row = FrameRow(nonce, field_name(units[number].tool), intro=number == numbers[0])
        yield Frame(number, row, known=False)
