"""Where the operator's request is repeated behind results, and in which words.

Owns the choice of place and words. It must not know how a dialect writes a message. A reminder that
once stood behind results stands there ever after; it is dropped only when no text of the history
says any more what it repeats, for then nobody could vouch for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from policies.authored import OPERATOR, reminder
from policies.conversation import Address, Conversation, Run, Strand
from policies.decision import Placed, Remembered

Mode = Literal["off", "request"]


def beside(conversation: Conversation, mode: Mode) -> Mapping[int, Run]:
    """Unit number → the run with results that it ends: where a reminder may stand, in order."""
    if mode == "off" or not conversation.reminds:
        return {}
    last = {unit.message: number for number, unit in enumerate(conversation.units)}
    found: dict[int, Run] = {}
    for run in conversation.runs:
        ends = [last[message] for message in range(run.start, run.stop) if message in last]
        if run.answers_call and ends:
            found[ends[-1]] = run
    return found


def reminders(conversation: Conversation, remembered: Remembered, mode: Mode) -> tuple[Placed, ...]:
    """The reminders of a request: those that stand already, and one behind the newest results."""
    return tuple(_placed(conversation, remembered, mode))


def _placed(conversation: Conversation, remembered: Remembered, mode: Mode) -> Iterator[Placed]:
    messages = conversation.messages
    said = (
        [
            strand
            for message in messages[conversation.since :]
            for strand in conversation.words(message.index)
        ]
        if remembered.placed
        else []
    )
    for unit, run in beside(conversation, mode).items():
        after = max(m for m in range(run.start, run.stop) if messages[m].answers)
        if (text := remembered.placed.get(unit)) is not None:
            if (quotes := _vouched(said, text)) is not None:
                yield Placed(after, text, unit, quotes, known=True)
        elif run.stop == len(messages):
            quotes, text = _request(conversation)
            if text:
                yield Placed(after, text, unit, quotes, known=False)


def _request(conversation: Conversation) -> tuple[Address, str]:
    """The newest words of the operator at the start of the current turn, and the reminder of them.
    What others wrote in a marked span, and all behind it, is not repeated."""
    stop = next((run.stop for run in conversation.runs if run.start == conversation.turn), 0)
    for message in reversed(conversation.messages[conversation.turn : stop]):
        for strand in reversed(conversation.words(message.index)):
            words = strand.text[: _first_span(conversation, strand.address)]
            if text := reminder(words):
                return strand.address, text
    return (), ""


def _first_span(conversation: Conversation, address: Address) -> int | None:
    starts = [unit.span[0] for unit in conversation.units if unit.span and unit.address == address]
    return min(starts, default=None)


def _vouched(said: Sequence[Strand], text: str) -> Address | None:
    """The way to words of a user that `text` repeats."""
    words = text.removeprefix(OPERATOR).removesuffix("…")
    return next((strand.address for strand in said if strand.text.startswith(words)), None)
