"""Facts as they may be shown: on one line, not long, the first of several.

Owns that shape. It must not know a notice.
"""

import unicodedata
from collections.abc import Sequence
from typing import Final

from policies.decision import Finding

FACT_LENGTH: Final = 120
"""Longest fact shown, in characters; also the longest place that is ever shown."""


def summary(findings: Sequence[Finding]) -> dict[str, str]:
    """The facts `kinds` and `places` of some findings: the first of each, and how many more."""
    return {
        "kinds": _first([finding.kind for finding in findings]),
        "places": _first([finding.place for finding in findings]),
    }


def one_line(text: str) -> str:
    """`text` as a fact may be shown: one line, no control, format or bidi characters, not long."""
    # SECURITY: a fact may hold a name that a stranger chose; it must not steer a terminal.
    safe = "".join(" " if unicodedata.category(mark)[0] in "CZ" else mark for mark in text)
    safe = " ".join(safe.split())
    return safe if len(safe) <= FACT_LENGTH else safe[: FACT_LENGTH - 1] + "…"


def _first(names: Sequence[str]) -> str:
    different = list(dict.fromkeys(name for name in names if name))
    if len(different) < 2:
        return "".join(different)
    return f"{different[0]} and {len(different) - 1} more"


def at_home(why: str, model: str) -> str:
    """What stands before an answer from home where the owner wants it said in the text. `why`: the
    words of the notice; `model`: the one that answers."""
    return f"{why} Answered here, by {model}."
