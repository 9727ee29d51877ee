"""What a model is told when earlier turns are not shown to it: our words, counts, and tool names.

Owns the text and which names may stand in it (systems.md, DN; X-7, X-8). It must not know what is
dropped, or where the notice is put. It may omit, never deny: what it says is true of this request,
and a name stands in it only if it is of a safe shape and the tool is granted now.
"""

from collections.abc import Container, Iterable
from typing import Final

from policies.envelope import field_name

OPENING: Final = "[dropped history"
"""How every notice begins."""

SHOWN: Final = 4
"""Names that are shown at most."""

_DROPPED = (
    "[dropped history — {count} earlier message(s) were dropped from this window at iteration"
    " {iteration} by the '{strategy}' window strategy. "
)
_NAMES = (
    "Tool results are among them ({names}) — call the tool again if you need its output; do not"
    " reconstruct ids or values from memory. "
)
_KEPT = (
    "Nothing was summarized: those turns are simply not being re-sent."
    " The client still holds them in its own history.]"
)


def build_drop_notice(
    *,
    count: int,
    iteration: int,
    strategy: str,
    names: Iterable[str] = (),
    granted: Container[str] = (),
    spared: int | None = None,
) -> str:
    """The notice for `count` dropped messages, empty where none fits.

    `iteration`: 1 and the rounds of calls since the request. `names`: of the tools whose results
    are among them, in order; only those `granted` now are shown. `spared`: size of what was
    dropped; a notice that is not shorter goes without names, then goes itself. None: there has to
    be one.
    """
    head = _DROPPED.format(count=count, iteration=iteration, strategy=strategy)
    told = _told(names, granted)
    named = _NAMES.format(names=told) if told else ""
    for middle in dict.fromkeys((named, "")):
        text = head + middle + _KEPT
        if spared is None or len(text) < spared:
            return text
    return ""


def is_safe(name: str) -> bool:
    """Whether a tool's name may stand in a text of ours: `[A-Za-z0-9_.:-]{1,48}`, all of it, and
    nothing of a marker."""
    return field_name(name) == name


def _told(names: Iterable[str], granted: Container[str]) -> str:
    # SECURITY: a name that is cut or cleaned is another name; it is left out as a whole. A tool
    # that is not granted now belongs to another turn.
    safe = [name for name in dict.fromkeys(names) if is_safe(name) and name in granted]
    return ", ".join([*safe[:SHOWN], *(["…"] if len(safe) > SHOWN else [])])
