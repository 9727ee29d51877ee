"""Profiles: sets of defaults, expanded to the values that they stand for.

Owns the table. It must not know where a setting is written: a written one beats it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

PROFILES: Final[Mapping[str, Mapping[str, object]]] = MappingProxyType(
    {
        "private": MappingProxyType({"minimality.mode": "strict", "fallback.prefer": "local"}),
        "balanced": MappingProxyType({"minimality.mode": "dialogue", "fallback.prefer": "cloud"}),
        "relay": MappingProxyType({"minimality.mode": "off", "fallback.prefer": "cloud"}),
    }
)
"""Profile → setting → its default under that profile."""

DEFAULT: Final = "balanced"
"""What holds where none is written."""


def prefers(profile: str) -> str:
    """Who is asked first under a profile."""
    return str(PROFILES[profile]["fallback.prefer"])


def mode_of(profile: str) -> str:
    """The minimality mode that a profile stands for."""
    return str(PROFILES[profile]["minimality.mode"])
