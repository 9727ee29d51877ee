"""What is wrong with a configuration: all of it at once, each with its place and the way out.

Owns how a problem reads. It must not know a setting. No problem ever holds a value that was
written: a secret in the wrong place would be printed with it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

_SAFE_NAME: Final = re.compile(r"[A-Za-z][A-Za-z_-]{0,40}[0-9]{0,3}")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `path`: the setting or the variable, empty for the whole file;
    `file` and `line` (from 1) where it was written, empty and 0 if nowhere."""

    path: str
    words: str
    hint: str = ""
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return ": ".join(part for part in (place, self.path, self.words) if part)


class Invalid(Exception):
    """The configuration cannot be used. `problems` holds all that is wrong with it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def report(self) -> str:
        """All problems, one a line, and the different hints below them."""
        hints = dict.fromkeys(problem.hint for problem in self.problems if problem.hint)
        lines = [str(problem) for problem in self.problems]
        if hints:
            lines += ["", *(f"hint: {hint}" for hint in hints)]
        return "\n".join(lines)


def near(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?` for the one of `known` that `word` comes close to, else nothing."""
    names = {name.lower(): name for name in known}
    typed = word.lower()
    found = get_close_matches(typed, list(names), n=1, cutoff=0.6)
    if not found and len(typed) >= 3:
        found = [name for name in names if name.startswith(typed)]
    return f"; did you mean `{names[found[0]]}`?" if found else ""


def shown(name: str) -> str:
    """`name` if it looks like the name of a setting, else `*`."""
    # SECURITY: a key may be a secret that was pasted in the wrong place.
    return name if _SAFE_NAME.fullmatch(name) else "*"
