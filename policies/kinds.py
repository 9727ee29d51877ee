"""The kinds of events: what one of each is about, which notice it becomes, whether it is audited.

Owns the table. It must not know when an event of a kind happens, nor who counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

About = Literal["unit", "run", "turn", "session"]

REFUSED_CALL: Final = "call-refused"
LONG_TURN: Final = "turn-limit"

REFUSALS_WITHIN: Final = 600.0
"""Seconds within which refused calls are counted together (EG 18)."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How events of a kind are kept. `about`: what one of them is about, so what makes two the
    same. `notice`: the code that is raised by a new one, empty for none. `audited`: the word of its
    row in the audit, empty where it has none. `within`: seconds to look back for others of the
    session, 0 for all."""

    about: About = "run"
    notice: str = ""
    audited: str = ""
    within: float = 0.0


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        # What a decision says.
        "truncated": Kind("turn", audited="truncated"),
        "cloud-while-home-up": Kind("run", "cloud-while-home-up", "escalated"),
        "egress-observed": Kind("run", audited="observed"),
        "adopted": Kind("turn", "adopted"),
        "unknown-part": Kind("run", "unknown-part"),
        "unframed-part": Kind("run", "unframed-part"),
        "hidden-characters": Kind("run", "hidden-characters"),
        "forged-opening": Kind("run", "forged-opening"),
        # Loops and rates. A turn is told once for each level that it reaches, also where the first
        # that is seen of it is the last.
        "read-loop": Kind("turn", "read-loop", "bounded"),
        "read-loop-soft": Kind("turn", "read-loop-soft"),
        "read-loop-beyond": Kind("turn", "read-loop", "bounded"),
        LONG_TURN: Kind("turn", "turn-limit", "bounded"),
        "turn-limit-soft": Kind("turn", "turn-limit-soft"),
        "turn-limit-beyond": Kind("turn", "turn-limit", "bounded"),
        "rate-soft": Kind("session", "rate-soft"),
        "rate-hard": Kind("session", "rate-hard"),
        # What answers do.
        REFUSED_CALL: Kind("run", within=REFUSALS_WITHIN),
        "arguments-invalid": Kind("run"),
        "marker-leak": Kind("run", "marker-leak"),
    }
)

PLAIN: Final = Kind()
"""For every other kind: it is counted and recorded, and nobody is told."""

TOLD: Final = frozenset({"adopted", "hidden-characters", "forged-opening", "rate-hard"})
"""Notices that the log has in a line about their request, so that they need none of their own."""

BLOCKED: Final = frozenset(
    {"egress-blocked", "egress-ambiguous", "secrets-unreadable", "proof-failed", "not-minimal",
     "home-only", "framing-failed"}
)  # fmt: skip
"""Refusals that kept something from leaving; in the audit they are `blocked`, others `refused`."""

KEPT: Final = frozenset(
    {
        "egress-blocked", "egress-ambiguous", "secrets-unreadable", "proof-failed", "not-minimal",
        "framing-failed", "home-only", "home-not-local", "read-loop", "turn-limit", "rate-hard",
        "tool-refused", "memory-refused", "client-unknown", "state-unavailable",
        "internal-error",
    }
)  # fmt: skip
"""Refusals that become notices. The others are the caller's to repair, who reads them at once; they
are counted and have their rows in the audit."""


def level_of(kind: str, facts: Mapping[str, str]) -> str:
    """The kind of an event about a bound with several levels: the bare name is the hard one."""
    level = facts.get("level", "")
    return f"{kind}-{level}" if level in ("soft", "beyond") else kind
