"""Opening lines that only the parts of an agent write, seen in third-party text: counted, no more.

Owns the list. Such a line grants nothing inside of a frame, so it is left there as evidence; taking
it out would hide the attempt from the model and from the owner. It must not know what becomes of a
finding, and no decision may ask it.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from policies.conversation import Unit
from policies.decision import Finding
from policies.envelope import INTRO
from policies.screening.places import place

FAMILY: Final = "opening"

OPENINGS: Final = {
    "frame_intro": INTRO.partition(":")[0],
    "steer_opening": "Runner update: your task inputs changed after this run started.",
    "drop_notice": "[dropped history",
    "operator_label": "[operator]",
}
"""Kind → how a line begins: a frame's intro, a steer envelope, a drop notice, a reminder."""


_ANY: Final = re.compile(f"\n(?:{'|'.join(map(re.escape, OPENINGS.values()))})")


def openings(units: Iterable[Unit]) -> tuple[Finding, ...]:
    """One finding for each kind that begins a line in a unit, in order."""
    told = list(units)
    # Most texts have none: one look at all of them.
    if _ANY.search("\n".join(["", *(unit.text for unit in told)])) is None:
        return ()
    return tuple(
        Finding(kind, place(unit.address + unit.inner), FAMILY)
        for unit in told
        for kind in _opened(unit.text)
    )


def _opened(text: str) -> Iterator[str]:
    for kind, opening in OPENINGS.items():
        if text.startswith(opening) or f"\n{opening}" in text:
            yield kind
