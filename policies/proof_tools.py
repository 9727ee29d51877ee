"""The proof's look at members that say whether tools may be called.

Part of the proof, and as independent: it shares no code with what writes them. It must not know why
tool use is off.
"""

from policies import proof_json as own
from policies.proof_plan import CHOICES, Planned, forbids
from policies.proof_reading import ProofFailed, parsed, shown


def turned_off(planned: Planned, key: str, sent: bytes) -> bool:
    """Whether the member turns tool use off, as planned."""
    if planned.tool_use or key not in CHOICES.values():
        return False
    return forbids(parsed(sent, key))


def silent(planned: Planned, sent: own.Members) -> None:
    """Where tool use is planned to be off, it is: for all tools that are declared in `sent`."""
    if planned.tool_use:
        return
    off = {key for key, raw in sent if turned_off(planned, key, raw)}
    for key, raw in sent:
        # SECURITY: a turn that has gone on for too long must not go on.
        if key in CHOICES and CHOICES[key] not in off and parsed(raw, key):
            raise ProofFailed(shown(key))
