"""What the owner is told when something has happened several times.

Owns the numbers. It must not know who counts or for how long anything is kept.
"""

from typing import Final

from policies.kinds import LONG_TURN, REFUSED_CALL

MANY_REFUSALS: Final = 5
"""So many different refused calls within `REFUSALS_WITHIN` are told (EG 18)."""

MANY_LONG_TURNS: Final = 3
"""So many turns of a session that reached `limits.max_turns` are told (EG 19)."""


def follows(kind: str, *, recent: int, tainted: int) -> str:
    """The notice that follows from a new event when there were `recent` different ones lately, it
    among them, `tainted` of them with third-party text in the conversation; empty for none.

    Refusals beside third-party text may be somebody else's doing; without it they are most likely a
    setting that is too tight, and the two must not be told in the same words (EG 18).
    """
    if kind == REFUSED_CALL and tainted >= MANY_REFUSALS:
        return "refusals-untrusted"
    if kind == REFUSED_CALL and recent >= MANY_REFUSALS:
        return "refusals-repeated"
    if kind == LONG_TURN and recent >= MANY_LONG_TURNS:
        return "turn-limit-repeated"
    return ""
