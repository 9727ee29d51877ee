"""Where the children of one JSON container lie, once they were asked for.

Owns what is known of an opened container and the kinds of values. It must not know what a node can
do: those of its children that were asked for are kept here, and made elsewhere.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, Generic, TypeVar

from proxy.json_spans import ObjectSpan

N = TypeVar("N")


class Kind(StrEnum):
    """What a value is. `LITERAL`: true, false or null."""

    OBJECT = "object"
    ARRAY = "array"
    STRING = "string"
    NUMBER = "number"
    LITERAL = "literal"


KINDS: Final = {
    ord("{"): Kind.OBJECT,
    ord("["): Kind.ARRAY,
    ord('"'): Kind.STRING,
    ord("t"): Kind.LITERAL,
    ord("f"): Kind.LITERAL,
    ord("n"): Kind.LITERAL,
}
"""First byte of a value → its kind; every other one begins a number."""


class Opened(Generic[N]):
    """`members`: where the members of an object lie, by key and in order; `spans`: where the items
    of an array do. `named` and `items` are the nodes of those that were asked for; `ordered`: all
    members are in `named`, in their order. `twin_fold`: a key that case folding makes equal to one
    before it."""

    __slots__ = ("items", "members", "named", "ordered", "own_folds", "spans", "twin_fold")

    def __init__(self, members: dict[str, ObjectSpan], spans: Sequence[tuple[int, int]]) -> None:
        self.members = members
        self.spans = spans
        self.named: dict[str, N] = {}
        self.ordered = False
        self.items: dict[int, N] = {}
        joined = "".join(members)
        self.own_folds = joined.casefold() == joined  # the common case: no key needs folding
        self.twin_fold = None if self.own_folds else _twin_fold(members)


def _twin_fold(keys: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for key in keys:
        fold = key.casefold()
        if fold in seen:
            return key
        seen.add(fold)
    return None
