"""The decision about one request: the policies in their argued order.

Owns the order and nothing else. It must not know a vendor, and it carries nothing out.

    1  screen     reads what would leave, the client's own strings, before frames put marker lines
                  between the halves of a secret; a local leg leaves nothing and is not read
    2  envelope   last: nothing after it may touch untrusted text

The proof (`policies.prove`) reads the finished body afterwards and shares no code with either.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import assert_never

from policies.conversation import Conversation, Piece
from policies.decision import (
    Allow,
    BlockFallBackLocal,
    Decision,
    Finding,
    Leg,
    Refusal,
    Remembered,
)
from policies.egress import screen_outbound
from policies.envelope.plan import plan_frames
from policies.screening import Screen
from policies.settings import Policies


@dataclass(frozen=True, slots=True)
class Watch:
    """What the screen reads with: the rules in force, and the marks of what they found clean.
    `around` are pieces beside the body: header values and the query."""

    screen: Screen
    known: Container[bytes]
    around: Sequence[Piece] = ()


def looks_inside(leg: Leg, policies: Policies) -> bool:
    """Whether any policy asks about the conversation of a request on `leg`.

    Here it is argued once. The screen and the proof ask about all that leaves for a cloud. Frames
    are put on both legs, unless they are off. Where neither asks, the body goes on as it came: what
    lies below its top level is not opened, so nothing there is refused, counted or remembered.
    """
    return leg is Leg.CLOUD or policies.envelope.enabled


def decide(
    conversation: Conversation,
    *,
    watch: Watch | None,
    remembered: Remembered,
    policies: Policies,
    draw: Callable[[], str],
) -> Decision:
    """Decide about a request. `watch` is None on a local leg.

    `draw` returns 32 lower-case hex digits from the operating system's source, fresh on each call.
    Raises `ValueError` when a piece is not JSON that may leave (duplicate keys, surrogates, …).
    """
    if watch is None:
        plan = plan_frames(conversation, remembered, policies.envelope, draw)
        return Decision(Leg.LOCAL, plan.frames, plan.policy_text, plan.adopted)
    pieces = (*watch.around, *conversation.pieces)
    result = screen_outbound(pieces, watch.screen, watch.known)
    observed: tuple[Finding, ...] = ()
    match result.verdict:
        case Allow():
            pass
        case BlockFallBackLocal(code, findings, failed):
            # SECURITY: a screen that failed has read nothing; no setting lets that leave.
            if failed or policies.egress.on_hit != "observe":
                return Decision(Leg.CLOUD, refusal=Refusal(code, findings), clean=result.clean)
            observed = findings
        case other:
            assert_never(other)
    plan = plan_frames(conversation, remembered, policies.envelope, draw)
    return Decision(
        Leg.CLOUD,
        plan.frames,
        plan.policy_text,
        plan.adopted,
        observed=observed,
        clean=result.clean,
        screened=result.screened,
    )
