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
    begin = -1
    answers = user = False
    for index in range(start, len(messages)):
        if spoken[index]:
            if begin >= 0:
                runs.append(Run(begin, index, answers, user))
            begin = -1
            continue
        if begin < 0:
            begin, answers, user = index, False, False
        message = messages[index]
        answers = answers or bool(message.answers)
        user = user or message.role == "user"
    if begin >= 0:
        runs.append(Run(begin, len(messages), answers, user))
    return tuple(runs)


def turn_of(runs: Sequence[Run], start: int) -> int:
    """Index of the message at which the current turn starts: the beginning of the newest run that
    answers no call and holds a user message; `start`, the whole history, if there is none."""
    for run in reversed(runs):
        if run.has_user and not run.answers_call:
            return run.start
    return start
