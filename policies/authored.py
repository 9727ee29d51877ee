"""Registry of every text that Transom may place in a conversation.

Owns the list and the texts that need no module of their own; the proof lets no other text pass.
Marker lines and intro are not here: they hold a nonce, and `policies.envelope` makes them. It must
not know where a text is placed.

Versions of a text stay for ever: a conversation that began with one is served with it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from policies.envelope.markers import CUT_MARK
from policies.envelope.policy_text import POLICY_TEXT, POLICY_TEXTS

__all__ = [
    "AUTHORED",
    "CUT_MARK",
    "FORMS",
    "HOME_LEFT_OUT",
    "LEFT_OUT",
    "LOOP_NOTE",
    "NOTES",
    "OPERATOR",
    "POLICY_TEXT",
    "POLICY_TEXTS",
    "RESULT_LEFT_OUT",
    "TURN_NOTE",
    "reminder",
]

LEFT_OUT: Final = "[reasoning left out by Transom]"
"""Stands in a message of the model that held nothing but thinking which had to go."""

RESULT_LEFT_OUT: Final = "[result left out by Transom: call the tool again if it is needed]"
"""Stands in place of what an earlier call found."""

HOME_LEFT_OUT: Final = "[An answer that was given at home is left out here.]"
"""All that stands in place of what a model at home has said and a cloud must not see."""

NOTES: Mapping[str, str] = MappingProxyType(
    {
        "loop-note/1": (
            "[Transom] The last tool calls repeat what was already done in this turn. Do not make"
            " them again: use what is there, try another way, or answer now and say what is"
            " missing."
        ),
        "turn-note/1": (
            "[Transom] Most of what this turn may take of tool calls is used. Finish what is begun,"
            " then answer with what is there."
        ),
    }
)
"""Name and version → a note about a loop, placed as system text behind results."""

LOOP_NOTE: Final = "loop-note/1"
TURN_NOTE: Final = "turn-note/1"

OPERATOR: Final = "[operator] "
"""Stands before words of the operator that are repeated."""

REMINDER_CHARS: Final = 600
"""Most characters of a reminder, its label included."""

AUTHORED: Mapping[str, str] = MappingProxyType(
    {
        **{f"policy/{version}": text for version, text in POLICY_TEXTS.items()},
        "left-out/1": LEFT_OUT,
        "result-left-out/1": RESULT_LEFT_OUT,
        "home-left-out/1": HOME_LEFT_OUT,
        **NOTES,
    }
)
"""Name and version → text that is placed as it stands."""

FORMS: Mapping[str, str] = MappingProxyType({"cut-mark/1": CUT_MARK, "operator/1": OPERATOR})
"""Name and version → what is placed with what it is about; the proof knows these forms."""


def reminder(request: str) -> str:
    """The operator's `request`, labelled; at most `REMINDER_CHARS` characters, cut with an
    ellipsis. Empty for a request that says nothing."""
    text = OPERATOR + request
    if not request.strip():
        return ""
    return text if len(text) <= REMINDER_CHARS else f"{text[: REMINDER_CHARS - 1]}…"
