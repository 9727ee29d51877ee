"""The proof's look at members that say whether tools may be called.

Part of the proof, and as independent: it shares no code with what writes them. It must not know why
tool use is off.
"""

from policies import proof_json as own
from policies.proof_plan import CHOICES, forbids
from policies.proof_reading import ProofFailed, parsed, shown


def turned_off(key: str, sent: bytes) -> bool:
    """Whether the member turns tool use off."""
    return key in CHOICES.values() and forbids(parsed(sent, key))


def silent(sent: own.Members) -> None:
    """Tool use is off, for all tools that are declared in `sent`; else `ProofFailed`."""
    off = {key for key, raw in sent if turned_off(key, raw)}
    for key, raw in sent:
        # SECURITY: a turn that has gone on for too long must not go on.
        if key in CHOICES and CHOICES[key] not in off and parsed(raw, key):
            raise ProofFailed(shown(key))
