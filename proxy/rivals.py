"""Other distributions that install packages of our names into the same environment.

Owns that question. Whoever is installed second overwrites files of the first, and no installer
objects; so it is asked before anything is served.
"""

from importlib.metadata import packages_distributions
from typing import Final

OURS: Final = "transom"
NAMES: Final = ("proxy", "policies")


def rivals() -> list[str]:
    """Names of the distributions, sorted."""
    owners = packages_distributions()
    return sorted({owner for name in NAMES for owner in owners.get(name, ()) if owner != OURS})
