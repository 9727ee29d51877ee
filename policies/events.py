"""What happened that the owner counts: a kind, what it is about, and facts that are safe to keep.

Owns the shape. It must not know who records events, how often one was seen (an event has an
identity: its kind, and the unit or run it is about; a history that comes again raises only
`times`), nor which of them become notices.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. `kind`: a lower-case word with dashes. `at`: index of the message
    that it is about, which stands for its run or its unit; -1 for the request or its session.
    `facts`: our own words and counts, and names in a safe shape; never a value of a body."""

    kind: str
    at: int = -1
    facts: Mapping[str, str] = field(default_factory=lambda: _NONE)
