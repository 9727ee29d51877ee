"""Who speaks after whom: the leading system text, runs between outputs of the model, the turn.

Owns DESIGN 3.4 for every dialect. It must not know a vendor, a wire format or what a text says:
text is never discredited by its wording.
"""

from collections.abc import Sequence

from policies.conversation import Message, Run

LEADING = frozenset({"system", "developer"})
"""Roles of the texts that may stand before a conversation and never count as a turn."""


def leading(messages: Sequence[Message]) -> int:
    """How many messages at the head are system or developer text."""
    for index, message in enumerate(messages):
        if message.role not in LEADING:
            return index
    return len(messages)


def runs_of(messages: Sequence[Message], spoken: Sequence[bool], start: int) -> tuple[Run, ...]:
    """The runs from message `start` on: the stretches between two outputs of the model.

    `spoken[i]`: message `i` is output of the model. A run with any result in it answers a call,
    whatever else it holds, and whether or not the call still stands in the history: a loop whose
    calls were cut away still runs.
    """
    runs: list[Run] = []
    begin: int | None = None
    for index in range(start, len(messages)):
        if not spoken[index]:
            begin = index if begin is None else begin
        elif begin is not None:
            runs.append(_run(messages, begin, index))
            begin = None
    if begin is not None:
        runs.append(_run(messages, begin, len(messages)))
    return tuple(runs)


def turn_of(runs: Sequence[Run], start: int) -> int:
    """Index of the message at which the current turn starts: the beginning of the newest run that
    answers no call and holds a user message; `start`, the whole history, if there is none."""
    for run in reversed(runs):
        if run.has_user and not run.answers_call:
            return run.start
    return start


def _run(messages: Sequence[Message], start: int, stop: int) -> Run:
    members = messages[start:stop]
    return Run(
        start,
        stop,
        answers_call=any(message.answers for message in members),
        has_user=any(message.role == "user" for message in members),
    )
