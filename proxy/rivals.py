"""Other distributions that install packages of our names into the same environment.

Owns that question. Whoever is installed second overwrites files of the first, and no installer
objects; so it is asked before anything is served. It is asked at every start, so of what is
installed only lists are read: 0.01 s for 80 distributions, where
`importlib.metadata.packages_distributions` takes 0.08 s.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import Distribution, distributions
from typing import Final

OURS: Final = "transom"
NAMES: Final = ("proxy", "policies")

# One file per line; an egg's list begins at its own folder, and names with a comma are quoted.
_LISTED: Final = re.compile(rf'^"?(?:\.\./)?({"|".join(NAMES)})(?:/|\.py\b)', re.MULTILINE)
_LISTS: Final = ("RECORD", "installed-files.txt", "SOURCES.txt")


def rivals() -> list[str]:
    """Names of the distributions, sorted."""
    found = owners()
    return sorted({owner for name in NAMES for owner in found.get(name, ()) if owner != OURS})


def owners(path: Sequence[str] | None = None) -> Mapping[str, Sequence[str]]:
    """Each of our names that is installed → the distributions that install it. `path`: where to
    look instead of `sys.path`."""
    found: dict[str, list[str]] = defaultdict(list)
    for each in distributions() if path is None else distributions(path=list(path)):
        for name in dict.fromkeys(_tops(each)):
            found[name].append(each.metadata["Name"])
    return found


def _tops(of: Distribution) -> Iterator[str]:
    """Our names among those that it declares, or else among the files that it lists."""
    if declared := (of.read_text("top_level.txt") or "").split():
        yield from (name for name in declared if name in NAMES)
        return
    listed = next(filter(None, map(of.read_text, _LISTS)), "")
    yield from (match[1] for match in _LISTED.finditer(listed))
