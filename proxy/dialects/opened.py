"""A message or member that has been parsed whole, read like a node but many times faster.

Owns the walk over parsed values with the ways to them, and the rule that a known key in other
letters is refused. It must not know a dialect. It lives while one message is read, no longer.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from policies.conversation import Address
from proxy.lazyjson import Node

_NONE: frozenset[str] = frozenset()


class Opened(Struct, frozen=True, eq=False, gc=False):
    """A value in a message. `value` is as `Node.value` parses it, strictly: equal keys, anywhere in
    the message, were refused before there is one of these. `way` leads to it from the message, or
    member, down."""

    value: object
    way: Address
    _top: Node

    def __repr__(self) -> str:
        return f"Opened({type(self.value).__name__} at {self.way})"

    @property
    def raw(self) -> bytes:
        """The exact bytes in the body."""
        return self._top.raw_below(self.way, self.value)

    def text(self) -> str | None:
        """The string, None for any other kind."""
        return self.value if isinstance(self.value, str) else None

    def members(self) -> Iterator[tuple[str, "Opened"]]:
        """Keys and values of an object in order; none for any other kind."""
        if isinstance(self.value, dict):
            for key, value in self.value.items():
                yield key, Opened(value, (*self.way, key), self._top)

    def items(self) -> list["Opened"]:
        """The items of an array in order; none for any other kind."""
        if not isinstance(self.value, list):
            return []
        return [
            Opened(value, (*self.way, index), self._top) for index, value in enumerate(self.value)
        ]

    def item(self, index: int) -> "Opened":
        """One item of an array, which has so many."""
        assert isinstance(self.value, list)
        return Opened(self.value[index], (*self.way, index), self._top)

    def below(self, way: Address, value: object) -> "Opened":
        """The `value` to which `way` leads, for a caller that has gone there."""
        return Opened(value, way, self._top)

    def get(self, key: str) -> "Opened | None":
        """The member `key` (lower-case); None where there is none or this is no object. Raises
        `Malformed` when there is a key that differs from it only in case."""
        if not isinstance(self.value, dict):
            return None
        self._check_case(key)
        if key not in self.value:
            return None
        return Opened(self.value[key], (*self.way, key), self._top)

    def word(self, key: str) -> str:
        """The string in the member `key`, empty if there is none; raises as `get` does."""
        if not isinstance(self.value, dict):
            return ""
        self._check_case(key)
        text = self.value.get(key)
        return text if isinstance(text, str) else ""

    def block(self, known: Mapping[str, frozenset[str]]) -> "tuple[str, Fields | None]":
        """What `word("type")` gives, and the members if all of them are known: `known` are the
        fields of each kind. With no others there is no key whose case would have to be looked at.
        """
        value = self.value
        if isinstance(value, dict):
            kind = value.get("type")
            if isinstance(kind, str) and value.keys() <= known.get(kind, _NONE):
                return kind, Fields(value, self.way, self._top)
        return self.word("type"), None

    def fields(self) -> "Fields":
        """The members of an object by key, for a caller that has checked the keys."""
        return Fields(self.value if isinstance(self.value, dict) else {}, self.way, self._top)

    def _check_case(self, key: str) -> None:
        for name in self.value if isinstance(self.value, dict) else ():
            if name != key and name.casefold() == key:
                self.refuse_case(key)

    def refuse_case(self, key: str) -> None:
        """Raise `Malformed` for the key here that differs from the known `key` only in case."""
        # SECURITY: some upstreams match keys without regard to case and would read what was not
        # read here; asking the node for the known key raises with the place of its twin.
        self._node().get(key)

    def _node(self) -> Node:
        node = self._top
        for step in self.way:
            below = node.child(step)
            assert below is not None
            node = below
        return node


class Fields(Struct, frozen=True, eq=False, gc=False):
    """The members of an object whose keys have been checked; no values for anything else."""

    _values: Mapping[str, object]
    _way: Address
    _top: Node

    def __repr__(self) -> str:
        return f"Fields({len(self._values)} at {self._way})"

    def get(self, key: str) -> Opened | None:
        """The member `key`, None where there is none."""
        if key not in self._values:
            return None
        return Opened(self._values[key], (*self._way, key), self._top)

    def text(self, key: str) -> str:
        """The string in the member `key`, empty for anything else."""
        text = self._values.get(key)
        return text if isinstance(text, str) else ""


def opened(node: Node) -> Opened:
    """Parse a message or member whole. Raises `Malformed` as `Node.value` does."""
    return Opened(node.value(), (), node)
