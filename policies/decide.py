"""The decision about one request: the policies in their argued order.

Owns the order and nothing else. It must not know a vendor, and it carries nothing out.

    1  limits      a runaway should cost nothing further; what goes beyond them reaches no model
    2  minimality  which part of the conversation may leave for a cloud at all: what stays here need
                   not be read, and a secret in it keeps nothing from leaving
    3  screen      reads what would leave, the client's own strings, before frames put marker lines
                   between the halves of a secret; a local leg leaves nothing and is not read
    4  report      hidden characters and forged openings, as the text came; it decides nothing
    5  envelope    last: nothing after it may touch untrusted text

The proof (`policies.prove`) reads the finished body afterwards and shares no code with either.
"""

import dataclasses
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Final, assert_never

from msgspec import Struct
from msgspec.structs import replace

from policies import egress
from policies.conversation import Conversation, Piece, Strand, Unit
from policies.decision import (
    Allow,
    BlockFallBackLocal,
    Decision,
    Finding,
    Leg,
    Refusal,
    Remembered,
)
from policies.decision import Final as End
from policies.egress import Opened, screen_outbound
from policies.elsewhere import HELD, held, opaque
from policies.envelope.plan import plan_frames
from policies.events import Event
from policies.limits import Level, Verdict, judge
from policies.loop_notes import Unwritable, known_notes, marked, new_note
from policies.openings import openings
from policies.pins import pinned_now
from policies.screening import Own, Screen
from policies.settings import Limits, Policies
from policies.showing import Shown, leans
from policies.unicode_screen import report
from policies.unsigned import left_out


class Watch(Struct, frozen=True):
    """What the screen reads with: the rules in force, and the marks of what they found clean.
    `around` are pieces beside the body: header values and the query. `own`: the credentials of the
    request. `vouched`: ids of state that the upstream itself gave in answers that came through
    here."""

    screen: Screen
    known: Container[bytes]
    around: Sequence[Piece] = ()
    own: Own | None = None
    vouched: Container[str] = ()


def looks_inside(leg: Leg, policies: Policies) -> bool:
    """Whether any policy asks about the conversation of a request on `leg`.

    Here it is argued once. The screen and the proof ask about all that leaves for a cloud. Frames
    are put, and loops ended, on both legs, unless that is off. Where nobody asks, the body goes on
    as it came: what lies below its top level is not opened, so nothing there is refused, counted or
    remembered, and what is decided is `UNASKED`.
    """
    asks = policies.envelope.enabled or policies.limits.enabled
    return leg is Leg.CLOUD or asks or policies.answers.drop_undeclared_calls


UNASKED: Final = Decision(Leg.LOCAL)
"""The decision about every body that no policy asks about."""


def decide(
    conversation: Conversation,
    *,
    watch: Watch | None,
    remembered: Remembered,
    policies: Policies,
    draw: Callable[[], str],
    bounded: bool = True,
    shown: Shown | Refusal | None = None,
) -> Decision:
    """Decide about a request. `watch` is None on a local leg. `bounded`: a model is to answer it,
    so limits hold; where tokens are only counted they do not. `shown`: what of the conversation
    leaves, and then `conversation` is that part of it, or why nothing does; None where nothing was
    asked.

    `draw` returns 32 lower-case hex digits from the operating system's source, fresh on each call.
    Raises `ValueError` when a piece is not JSON that may leave (duplicate keys, surrogates, …).
    """
    verdict = judge(conversation, policies.limits) if bounded else None
    leg = Leg.LOCAL if watch is None else Leg.CLOUD
    begun = Decision(leg) if verdict is None else _bounded(leg, verdict, policies.limits)
    if begun.final is not None or begun.refusal is not None:
        return begun
    if watch is None:
        noted = _noted((), _unread(conversation, remembered))
        passed = replace(begun, noted=noted)
        return _framed(passed, conversation, remembered, policies, draw, verdict)
    if isinstance(shown, Refusal):
        return replace(begun, refusal=shown)
    pieces = (*watch.around, *conversation.pieces)
    beside = held(conversation, watch.vouched)
    if policies.egress.opaque == "home":
        beside += opaque(conversation)
    past, before = _history(conversation, watch)
    result = screen_outbound(
        pieces,
        watch.screen,
        watch.known,
        own=watch.own,
        beside=beside,
        past=past,
        before=before,
    )
    noted = _noted(result.opened, _read(conversation, result.opened))
    observed: tuple[Finding, ...] = ()
    match result.verdict:
        case Allow():
            pass
        case BlockFallBackLocal(code, findings, failed):
            # SECURITY: a screen that failed has read nothing; no setting lets that leave.
            if failed or policies.egress.on_hit != "observe":
                no = Refusal(code, findings, _held_in(conversation, findings))
                return replace(begun, refusal=no, clean=result.clean, noted=noted)
            observed = findings
        case other:
            assert_never(other)
    passed = replace(
        begun,
        observed=observed,
        clean=result.clean,
        screened=result.screened,
        noted=noted,
    )
    if shown is not None:
        if (why := leans(conversation, shown.cut.window)) is not None:
            return replace(passed, refusal=why, screened=None)
        passed = replace(passed, cut=shown.cut, window=shown.window)
    return _framed(passed, conversation, remembered, policies, draw, verdict)


def unread(conversation: Conversation, watch: Watch) -> Iterator[Piece]:
    """The pieces that the screen is going to open."""
    past, before = _history(conversation, watch)
    pieces = (*watch.around, *conversation.pieces)
    return egress.unread(pieces, watch.screen, watch.known, own=watch.own, past=past, before=before)


def _history(conversation: Conversation, watch: Watch) -> tuple[tuple[int, int], int]:
    """The pieces of the conversation's past, from the first to the one after the last, and the one
    after the last of those that were its past before."""
    first = len(watch.around) + conversation.past.first
    return (first, first + conversation.past.messages), first + conversation.before.messages


def _bounded(leg: Leg, verdict: Verdict, limits: Limits) -> Decision:
    """What a verdict about the newest round begins a decision with."""
    level = verdict.level
    facts = {**verdict.facts, "level": level.name.lower()}
    events = (Event(verdict.code, verdict.at, facts),)
    match level:
        case Level.SOFT:
            return Decision(leg, events=events)
        case Level.HARD:
            return Decision(leg, events=events, tool_use=False, stops=verdict.code)
        case Level.BEYOND if limits.style == "error":
            no = Refusal(verdict.code, facts=verdict.facts)
            return Decision(leg, events=events, refusal=no)
        case Level.BEYOND:
            return Decision(leg, events=events, final=End(verdict.code, verdict.facts))
        case other:
            assert_never(other)


def _framed(
    passed: Decision,
    conversation: Conversation,
    remembered: Remembered,
    policies: Policies,
    draw: Callable[[], str],
    verdict: Verdict | None,
) -> Decision:
    """`passed` with the envelope, by the pins of the conversation or, for one that begins now, by
    the settings in force."""
    pins = remembered.pins or pinned_now(policies)
    if not pins.writable:
        # A newer version began this conversation; other bytes than its own would not do.
        return replace(passed, refusal=Refusal("framing-failed"), screened=None)
    plan = plan_frames(conversation, remembered, pins, draw)
    try:
        notes = known_notes(conversation, remembered)
    except Unwritable:
        return replace(passed, refusal=Refusal("framing-failed"), screened=None)
    frames = plan.frames
    if (note := new_note(conversation, verdict, notes, frames)) is not None:
        notes, frames = (*notes, note), marked(frames, note)
    begins = remembered.pins is None and bool(conversation.messages or conversation.prompt)
    window, removed, hollow = passed.window, plan.removed, plan.hollow
    if passed.leg is Leg.CLOUD:
        removed, hollow = left_out(conversation, removed, hollow)
    return replace(
        passed,
        window=dataclasses.replace(window, anew=True) if window and plan.anew else window,
        frames=frames,
        policy_text=plan.policy_text,
        adopted=plan.adopted,
        pins=dataclasses.replace(pins, explains=plan.explains) if begins else None,
        turn=plan.turn,
        anew=plan.anew,
        removed=removed,
        hollow=hollow,
        placed=plan.placed,
        notes=notes,
    )


def _held_in(conversation: Conversation, findings: Sequence[Finding]) -> Mapping[str, str]:
    """The field by which a request leans on what the upstream holds, where that was found."""
    found = any(finding.kind == HELD for finding in findings)
    return {"held": conversation.held[0]} if found else {}


def _noted(opened: Sequence[Opened], units: Sequence[Unit]) -> tuple[Finding, ...]:
    """What is worth telling about the pieces that the screen has opened, and about `units`, in
    which it has not seen the leaves of strings that are JSON themselves. All of it is new: what
    comes again is not looked at again."""
    strands = [
        strand
        for _, strings in opened
        if not all(map(str.isascii, strings.all))  # all of this is about what is no ASCII
        for strand in strings.strands
    ]
    strands += [
        Strand(unit.address + unit.inner, unit.text) for unit in units if unit.inner or not opened
    ]
    return (*report(strands), *openings(units))


def _unread(conversation: Conversation, remembered: Remembered) -> list[Unit]:
    """Units that no model has answered and the ledger does not know."""
    return [
        unit
        for number, unit in enumerate(conversation.units)
        if not unit.answered and number not in remembered.rows
    ]


def _read(conversation: Conversation, opened: Sequence[Opened]) -> list[Unit]:
    """Units in pieces that the screen has opened."""
    seen = {address for address, _ in opened}
    past = conversation.past
    # Mostly the history is known, and so are the units in it.
    newest = all(a[1] >= past.messages for a in seen if len(a) == 2 and isinstance(a[1], int))
    units = conversation.units[past.units if newest else 0 :]
    return [unit for unit in units if unit.address[:2] in seen or unit.address[:1] in seen]
