"""Marked spans of user text that hold what others wrote, found for clients that put it there.

Owns where a span begins and ends. It must not know how it is framed. The marks are the client's
own literals: what stands between them can spell them too, so a span ends at the last closing mark
before the next opening one, and one that is never closed goes on to the end.
"""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from policies.conversation import Conversation, Unit
from policies.past import Past
from policies.settings import Also

SOURCE = "marked:user"
"""`Unit.source` of a span."""


def marked(conversation: Conversation, client: str, rules: Sequence[Also]) -> Conversation:
    """`conversation` with a unit for each span that the rules for `client` mark in the texts of its
    users; without any, the identical object. Units stay in the order of the messages."""
    mine = [rule for rule in rules if fnmatchcase(client, rule.client)]
    if not mine:
        return conversation
    found = [*_units(conversation, mine)]
    if not found:
        return conversation
    units = sorted((*conversation.units, *found), key=lambda unit: unit.message)
    # What is known of a past counts its units, and there are others now.
    return replace(conversation, units=tuple(units), past=Past(), before=Past())


def spans(text: str, rules: Sequence[Also]) -> tuple[tuple[int, int], ...]:
    """First character and the one after the last of each span of `text` that holds something,
    without its marks, in order. Of two that overlap the earlier counts."""
    found = sorted(span for rule in rules for span in _spans(text, rule))
    apart: list[tuple[int, int]] = []
    for start, stop in found:
        if start < stop and (not apart or start >= apart[-1][1]):
            apart.append((start, stop))
    return tuple(apart)


def _spans(text: str, rule: Also) -> Iterator[tuple[int, int]]:
    at = text.find(rule.open)
    while at >= 0:
        start = at + len(rule.open)
        at = text.find(rule.open, start)
        end = at if at >= 0 else len(text)
        close = text.rfind(rule.close, start, end)
        yield start, close if close >= 0 else end


def _units(conversation: Conversation, rules: Sequence[Also]) -> Iterator[Unit]:
    spoken = _last_spoken(conversation)
    for message in conversation.messages:
        part = 0
        for strand in conversation.words(message.index):
            for start, stop in spans(strand.text, rules):
                yield Unit(
                    strand.address,
                    strand.text[start:stop],
                    SOURCE,
                    part=part,
                    message=message.index,
                    answered=message.index < spoken,
                    span=(start, stop),
                )
                part += 1


def _last_spoken(conversation: Conversation) -> int:
    """Index of the newest message of the model, -1 if there is none."""
    runs, size = conversation.runs, len(conversation.messages)
    if not runs or runs[-1].stop < size:
        return size - 1 if runs else -1
    return runs[-1].start - 1
