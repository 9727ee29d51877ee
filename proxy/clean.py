"""Marks of what the screen has found clean. In memory only, bounded, first in first out.

Owns the memory; it must not know what a mark stands for. Marks hold the version of the rules, so
those of older rules match nothing and age out.
"""

from collections import OrderedDict
from collections.abc import Iterable, Set

ENTRIES = 65_536  # marks of some 64 bytes: about 12 MB with the overhead of the interpreter


class CleanMarks:
    """A set that forgets its oldest members beyond `entries`."""

    def __init__(self, entries: int = ENTRIES) -> None:
        self._entries = entries
        self._marks: OrderedDict[bytes, None] = OrderedDict()

    @property
    def marks(self) -> Set[bytes]:
        """The members, as they are at each moment: to be asked often."""
        return self._marks.keys()

    def __len__(self) -> int:
        return len(self._marks)

    def add(self, marks: Iterable[bytes]) -> None:
        """Remember `marks`; those that were there already count as new."""
        for mark in marks:
            self._marks[mark] = None
            self._marks.move_to_end(mark)
        while len(self._marks) > self._entries:
            self._marks.popitem(last=False)
