"""The notebook of a reader that walks one message: what it saw, as facts.

Owns the collecting and the tolerance for wrong shapes (noted as unknown, never an exception). It
must not know a vendor: which fields and kinds are known is the dialect's to say.
"""

from collections.abc import Collection

from policies.conversation import Address, Origin, ToolCall
from proxy.dialects.facts import Facts, Found
from proxy.lazyjson import Kind, Node


class Notes:
    """Collects the facts about one message or top-level member. `depth` is the length of its
    address: what is noted is addressed from there down."""

    __slots__ = (
        "_depth",
        "_parts",
        "answers",
        "calls",
        "found",
        "held",
        "opaque",
        "origin",
        "role",
        "sealed",
        "spoken",
        "tools",
        "unknown",
    )

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._parts = 0
        self.role = ""
        self.origin = Origin.UNKNOWN
        self.spoken = False
        self.sealed = False
        self.calls: list[ToolCall] = []
        self.answers: list[str] = []
        self.found: list[Found] = []
        self.tools: list[str] = []
        self.opaque: list[Address] = []
        self.unknown: list[Address] = []
        self.held: list[str] = []

    def facts(self) -> Facts:
        """Everything noted, frozen."""
        return Facts(
            self.role,
            self.origin,
            self.spoken,
            self.sealed,
            tuple(self.calls),
            tuple(self.answers),
            tuple(self.found),
            tuple(self.tools),
            tuple(self.opaque),
            tuple(self.unknown),
            tuple(dict.fromkeys(self.held)),
        )

    def open(self, node: Node, known: Collection[str]) -> dict[str, Node]:
        """The members of an object by key; keys outside `known` are noted. Anything but an object
        is noted as unknown and has no members. Raises `Malformed` as `Node.members` does."""
        if node.kind is not Kind.OBJECT:
            self.unknown_at(node)
            return {}
        members = dict(node.members())
        for key, value in members.items():
            if key not in known:
                check_case(node, key, known)
                self.unknown_at(value)
        return members

    def list_of(self, node: Node | None) -> tuple[Node, ...]:
        """The items of a list; none for an absent value or null; anything else is noted."""
        if node is None or is_null(node):
            return ()
        if node.kind is Kind.ARRAY:
            return node.items()
        self.unknown_at(node)
        return ()

    def unknown_at(self, node: Node) -> None:
        """A value of a kind that the dialect does not know, or of a wrong shape."""
        self.unknown.append(node.address[self._depth :])

    def opaque_at(self, node: Node) -> None:
        """A value whose content cannot be read."""
        self.opaque.append(node.address[self._depth :])

    def held_if(self, name: str, node: Node | None) -> None:
        """The field `name`, unless it is absent or null, leans on what the upstream holds."""
        if node is not None and not is_null(node):
            self.held.append(name)

    def begin_result(self) -> None:
        """What follows belongs to another result: its text parts are counted from 0."""
        self._parts = 0

    def text(
        self,
        node: Node,
        *,
        call: str = "",
        name: str = "",
        source: str = "",
        text: str | None = None,
        inner: Address = (),
    ) -> None:
        """Third-party text in the string `node`, or at `inner` within it (then `text` is the leaf).

        An empty string is no unit; anything but a string is noted as unknown.
        """
        if text is None:
            text = node.text()
            if text is None:
                self.unknown_at(node)
                return
        if text:
            address = node.address[self._depth :]
            self.found.append(Found(address, text, source, call, name, self._parts, inner))
            self._parts += 1


def words(names: str) -> frozenset[str]:
    """The names in a text, for the tables of known fields."""
    return frozenset(names.split())


def check_case(node: Node, key: str, known: Collection[str]) -> None:
    """Raise `Malformed` if `key` is a known key in other letters: some upstreams match keys without
    regard to case, and would read what was not read here."""
    folded = key.casefold()
    if folded in known:
        node.get(folded)  # SECURITY: raises; `{"Content": …}` must not pass for an unknown field


def first(*nodes: Node | None) -> Node | None:
    """The first node that is there."""
    return next((node for node in nodes if node is not None), None)


def is_null(node: Node) -> bool:
    """Whether the value is `null`."""
    return node.kind is Kind.LITERAL and node.raw == b"null"


def text_of(node: Node | None) -> str:
    """The decoded string, or an empty one for everything else."""
    return (node.text() or "") if node is not None else ""


def json_text(node: Node | None) -> str:
    """The text of a string, the raw JSON of any other value, nothing for none."""
    if node is None:
        return ""
    return text_of(node) if node.kind is Kind.STRING else node.raw.decode()


def role_of(node: Node | None) -> str:
    """A role as it is compared: lower-case."""
    return text_of(node).lower()
