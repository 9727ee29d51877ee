"""Names of tools that every local server takes, and the way back to the caller's names.

Owns the mapping of one request. It must not know a dialect, nor what a tool does.
"""

import re
from typing import Final

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST: Final = 64
"""As OpenAI's `tools[].function.name`, which the local servers follow."""


class Names:
    """The first tool of a name keeps it; others that would have the same one get a number."""

    def __init__(self) -> None:
        self._here: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()

    def here(self, name: str, namespace: str = "") -> str:
        """How the tool `name` of `namespace` is called at home; always the same."""
        key = namespace, name
        if key not in self._here:
            self._here[key] = self._free("__".join(filter(None, key)))
        return self._here[key]

    def _free(self, name: str) -> str:
        safe = _UNSAFE.sub("_", name)[:_LONGEST] or "tool"
        found, number = safe, 1
        while found in self._taken:
            number += 1
            ending = f"_{number}"
            found = safe[: _LONGEST - len(ending)] + ending
        self._taken.add(found)
        return found
