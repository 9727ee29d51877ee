"""What the proof is told of a decision: what of a body goes, and which texts of ours stand in it.

It must not know how a body is rendered, nor what of it was proved before.
"""

from functools import lru_cache

from policies.authored import AUTHORED, LEFT_OUT
from policies.conversation import Conversation
from policies.decision import Claimed, Decision
from policies.proof_plan import Planned
from proxy.dialects.placing import standing


def planned(conversation: Conversation, decision: Decision) -> Planned:
    """What may be missing or placed in a body, and whether tools may be used."""
    removed, placed, cut = frozenset(decision.removed), decision.placed, decision.cut
    if not conversation.messages:
        return Planned(removed, placed, decision.tool_use)
    if cut is not None and cut.window.mode == "off":
        cut = None  # all is shown, wherever the turn begins
    key, home = str(conversation.messages[0].address[0]), conversation.home
    return Planned(removed, placed, decision.tool_use, cut, key, home)


def authored(decision: Decision, claimed: Claimed) -> frozenset[str]:
    """The texts of the registry that were decided to stand in the body."""
    decided = {decision.policy_text, LEFT_OUT if decision.hollow else ""}
    if decision.notes:
        decided |= {text for _, text in standing(decision, claimed)}
    return _registered(frozenset(decided))


@lru_cache(maxsize=64)
def _registered(texts: frozenset[str]) -> frozenset[str]:
    return frozenset(AUTHORED.values()) & texts
