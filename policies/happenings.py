"""What there is to count in a request and in what was decided about it.

Owns the list. It must not know who counts, nor what is told to whom.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from policies import openings, unicode_screen
from policies.conversation import Address, Conversation, Form, Message, Origin
from policies.cut import Cut
from policies.decision import Decision, Finding
from policies.events import Event
from policies.kinds import REFUSED_CALL
from policies.minimality import names_of
from policies.notices import summary
from policies.provenance import Trust, trust_of
from policies.refused_calls import refused_results
from policies.screening.places import place
from policies.settings import Policies

MOST_UNKNOWN: Final = 16
"""Unknown parts of one request that are told."""

NOTED: Final = MappingProxyType(
    {"forged-opening": openings.FAMILY, "hidden-characters": unicode_screen.FAMILY}
)
"""Notice → family of what is told by it; the last one that has something counts as the notice."""

_MESSAGE: Final = re.compile(r"(?:messages|input)\[([0-9]{1,6})\]")


def events_of(
    conversation: Conversation, decision: Decision, policies: Policies
) -> Iterator[tuple[Event, tuple[str, ...]]]:
    """What happened in a request, each with the words that tell events of one kind at one place
    apart, which nobody is shown."""
    for event in decision.events:
        yield event, ()
    if decision.cut is not None and decision.cut.cuts and decision.refusal is None:
        yield Event("truncated", decision.cut.turn, _cut(decision.cut)), ()
    if decision.adopted:
        yield Event("adopted", facts={"count": str(decision.adopted)}), ()
    for code, family in NOTED.items() if decision.noted else ():
        if noted := [each for each in decision.noted if each.family == family]:
            yield Event(code, place_of(noted), summary(noted)), ()
    for address in conversation.unknown[:MOST_UNKNOWN]:
        message, where = _message_of(conversation, address), place(address)
        kind = "unknown-part"
        if message is not None and _leaves_unframed(message, address, decision, policies):
            kind = "unframed-part"
        at = -1 if message is None else message.index
        yield Event(kind, at, {"places": where}), (where,)
    for number in refused_results(conversation, policies.refusals):
        unit = conversation.units[number]
        facts = {"tool": unit.tool, "why": "said so"}
        yield Event(REFUSED_CALL, unit.message, facts), (unit.tool, unit.call)


def _message_of(conversation: Conversation, address: Address) -> Message | None:
    """The message that holds what is at `address`; None for a member of the body."""
    match address:
        case (_, int(at), *_) if at < len(conversation.messages):
            message = conversation.messages[at]
            return message if message.address == address[:2] else None
        case _:
            return None


def _leaves_unframed(
    message: Message, address: Address, decision: Decision, policies: Policies
) -> bool:
    """Whether something unknown in `message` is part of a result, and leaves with it. What nobody
    can read nobody can put into a frame."""
    if not policies.envelope.enabled or decision.refusal is not None or decision.final is not None:
        return False
    cut = decision.cut
    if cut is not None and cut.window.mode != "off" and message.index < cut.turn:
        return False
    inside = [half.way for half in message.halves if half.form is Form.RESULT]
    if inside:
        return any(address[2 : 2 + len(way)] == way for way in inside)
    return bool(message.answers) and message.origin in (Origin.TOOL, Origin.UNKNOWN)


def detailed(event: Event, conversation: Conversation, decision: Decision) -> Mapping[str, str]:
    """The facts of an event with what takes a walk through the history to find: the tools whose
    results do not leave."""
    if event.kind != "truncated" or decision.cut is None:
        return event.facts
    tools = ", ".join(names_of(conversation, decision.cut))
    return {**event.facts, "tools": tools} if tools else event.facts


def _cut(cut: Cut) -> dict[str, str]:
    """How much does not leave."""
    facts = {"mode": cut.window.mode, "strategy": cut.window.strategy}
    for name, parts in (("gone", cut.gone), ("trimmed", {*cut.trimmed, *cut.emptied})):
        if parts:
            facts[name] = str(len(parts))
    return facts


def tainted(conversation: Conversation, decision: Decision, policies: Policies) -> bool:
    """Whether there is text of third parties in the conversation (X-19)."""
    if decision.frames:
        return True
    rules = policies.envelope.tools
    sources = {unit.source for unit in conversation.units}
    return any(trust_of(source, rules) is not Trust.OPERATOR for source in sources)


def new_frames(decision: Decision) -> int:
    """Frames that are drawn now; they stand behind those that were."""
    count = 0
    for frame in reversed(decision.frames):
        if frame.known:
            break
        count += 1
    return count


def place_of(findings: Sequence[Finding]) -> int:
    """The message that the first of some findings is in; -1 where it is in none."""
    found = _MESSAGE.match(findings[0].place) if findings else None
    return int(found[1]) if found else -1
