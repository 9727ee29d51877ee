"""A message or member that has been parsed whole, read like a node but many times faster.

Owns the walk over parsed values with their addresses, and the rule that a known key in other
letters is refused. It must not know a dialect. It lives while one message is read, no longer.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal

from policies.conversation import Address
from proxy.lazyjson import Kind, Node

_NONE: frozenset[str] = frozenset()
_KINDS = {
    dict: Kind.OBJECT,
    list: Kind.ARRAY,
    str: Kind.STRING,
    int: Kind.NUMBER,
    Decimal: Kind.NUMBER,
    bool: Kind.LITERAL,
    type(None): Kind.LITERAL,
}


class Opened:
    """A value in a message. `value` is as `Node.value` parses it, strictly: equal keys, anywhere in
    the message, were refused before there is one of these."""

    __slots__ = ("_top", "address", "value")

    def __init__(self, value: object, address: Address, top: Node) -> None:
        self.value = value
        self.address = address
        self._top = top

    @property
    def kind(self) -> Kind:
        """What the value is."""
        return _KINDS[type(self.value)]

    @property
    def null(self) -> bool:
        """Whether the value is `null`."""
        return self.value is None

    @property
    def raw(self) -> bytes:
        """The exact bytes in the body."""
        return self._top.raw_below(self.address[len(self._top.address) :], self.value)

    def text(self) -> str | None:
        """The string, None for any other kind."""
        return self.value if isinstance(self.value, str) else None

    def members(self) -> Iterator[tuple[str, "Opened"]]:
        """Keys and values of an object in order; none for any other kind."""
        if isinstance(self.value, dict):
            for key, value in self.value.items():
                yield key, Opened(value, (*self.address, key), self._top)

    def items(self) -> list["Opened"]:
        """The items of an array in order; none for any other kind."""
        if not isinstance(self.value, list):
            return []
        return [
            Opened(value, (*self.address, index), self._top)
            for index, value in enumerate(self.value)
        ]

    def items_but(self, kind: str, known: frozenset[str]) -> list["Opened"]:
        """The items but those objects of this `type` that have no other members than `known`, about
        which there is nothing to say; with no others there is no key whose case would matter."""
        if not isinstance(self.value, list):
            return []
        return [
            Opened(value, (*self.address, index), self._top)
            for index, value in enumerate(self.value)
            if not (isinstance(value, dict) and value.get("type") == kind and value.keys() <= known)
        ]

    def get(self, key: str) -> "Opened | None":
        """The member `key` (lower-case); None where there is none or this is no object. Raises
        `Malformed` when there is a key that differs from it only in case."""
        if not isinstance(self.value, dict):
            return None
        self._check_case(key)
        if key not in self.value:
            return None
        return Opened(self.value[key], (*self.address, key), self._top)

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
                return kind, Fields(value, self.address, self._top)
        return self.word("type"), None

    def fields(self) -> "Fields":
        """The members of an object by key, for a caller that has checked the keys."""
        return Fields(self.value if isinstance(self.value, dict) else {}, self.address, self._top)

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
        for step in self.address[len(self._top.address) :]:
            below = node.child(step)
            assert below is not None
            node = below
        return node


class Fields:
    """The members of an object whose keys have been checked; no values for anything else."""

    __slots__ = ("_address", "_top", "_values")

    def __init__(self, values: Mapping[str, object], address: Address, top: Node) -> None:
        self._values = values
        self._address = address
        self._top = top

    def get(self, key: str) -> Opened | None:
        """The member `key`, None where there is none."""
        if key not in self._values:
            return None
        return Opened(self._values[key], (*self._address, key), self._top)

    def text(self, key: str) -> str:
        """The string in the member `key`, empty for anything else."""
        text = self._values.get(key)
        return text if isinstance(text, str) else ""


def opened(node: Node) -> Opened:
    """Parse a message or member whole. Raises `Malformed` as `Node.value` does."""
    return Opened(node.value(), node.address, node)
