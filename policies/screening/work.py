"""Counts the bytes that the screen looks at, so that hostile text costs no more than its length.

Owns the bound. It must not know what is looked for.
"""

from collections import defaultdict
from typing import NoReturn

FACTOR = 12
"""Bytes looked at per stage, at most this many times the bytes that were given."""
FLOOR = 1 << 16
"""Bytes per stage that even the shortest text may cost."""


class Exhausted(Exception):
    """A text costs more than its length allows. What was not read is ambiguous."""


class Work:
    """The counter of one text of `size` bytes. Stages: `anchors`, `words`, `labels`, `decode`,
    `mended`, `pairs`, and each view by its name."""

    __slots__ = ("limit", "spent")

    def __init__(self, size: int) -> None:
        self.limit = max(FACTOR * size, FLOOR)
        self.spent: defaultdict[str, int] = defaultdict(int)

    def spend(self, stage: str, count: int) -> None:
        """Note `count` more bytes; raises `Exhausted` once the stage would be over its bound."""
        spent = self.spent[stage] + count
        if spent > self.limit:
            raise Exhausted(stage)
        self.spent[stage] = spent

    def give_up(self, stage: str) -> NoReturn:
        """The text has shown that its cost cannot be foreseen."""
        raise Exhausted(stage)
