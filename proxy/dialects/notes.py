"""The notebook of a reader that walks one message: what it saw, as facts.

Owns the collecting and the tolerance for wrong shapes (noted as unknown, never an exception). It
must not know a vendor: which fields and kinds are known is the dialect's to say.
"""

from collections.abc import Sequence
from hashlib import sha256

from policies.conversation import Address, Form, Half, Origin, ToolCall
from proxy.dialects.facts import Facts, Found
from proxy.dialects.opened import Fields, Opened
from proxy.lazyjson import Kind
from proxy.said import MARKS

_RESULT_ROLES = ("tool", "function")


class Notes:
    """Collects the facts about one message or top-level member. `depth` is the length of its
    address: what is noted is addressed from there down."""

    __slots__ = (
        "_depth",
        "_parts",
        "answers",
        "beside",
        "between",
        "calls",
        "found",
        "grants",
        "halves",
        "held",
        "hollow",
        "leaning",
        "leans",
        "opaque",
        "origin",
        "others",
        "role",
        "sealed",
        "spoken",
        "texts",
        "thoughts",
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
        self.leans: list[tuple[str, str]] = []
        self.leaning: list[tuple[Address, tuple[str, str]]] = []
        self.thoughts: list[Address] = []
        self.hollow = False
        self.others: list[tuple[bytes, int]] = []
        self.texts: list[Address] = []
        self.beside: list[Address] = []
        self.halves: list[Half] = []
        self.grants = False
        self.between = False

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
            tuple(dict.fromkeys(self.held)) if self.held else (),
            tuple(self.thoughts),
            self.hollow,
            tuple(dict.fromkeys(self.leans)) if self.leans else (),
            others=tuple(self.others),
            texts=tuple(self.texts),
            beside=_outermost([*self.beside, *self.unknown])
            if self.unknown
            else tuple(self.beside),
            halves=self._whole_halves() if self.unknown else tuple(self.halves),
            grants=self.grants,
            between=self.between,
            leaning=tuple(self.leaning),
        )

    def open(self, node: Opened, known: frozenset[str]) -> Fields:
        """The members of an object; keys outside `known` are noted. Anything but an object
        is noted as unknown and has no members. Raises `Malformed` for a known key in other letters,
        which is no unknown field: some upstreams would read it."""
        if not isinstance(node.value, dict):
            self.unknown_at(node)
        elif not node.value.keys() <= known:
            self._strangers(node, known)
        return node.fields()

    def _strangers(self, node: Opened, known: frozenset[str]) -> None:
        for key, value in node.members():
            if key not in known:
                if (folded := key.casefold()) in known:
                    node.refuse_case(folded)
                self.unknown_at(value)

    def list_of(self, node: Opened | None) -> Sequence[Opened]:
        """The items of a list; none for an absent value or null; anything else is noted."""
        if node is None or node.null:
            return ()
        if node.kind is Kind.ARRAY:
            return node.items()
        self.unknown_at(node)
        return ()

    def unknown_at(self, node: Opened) -> None:
        """A value of a kind that the dialect does not know, or of a wrong shape."""
        self.unknown.append(node.address[self._depth :])

    def unknown_role(self, members: Fields, message: Opened) -> None:
        """The role of a message is none that the dialect knows, or there is none."""
        role = members.get("role")
        self.unknown_at(message if role is None else role)
        self.answers_by_role()

    def answers_by_role(self) -> None:
        """A role of results, where the dialect has none: a result all the same, which continues a
        turn."""
        if self.role in _RESULT_ROLES and not self.spoken and not self.answers:
            self.answers.append("")

    def unknown_part(self, node: Opened) -> None:
        """A part of a kind that the dialect does not know. Another dialect's result is one all the
        same: it continues a turn."""
        self.unknown_at(node)
        if not self.spoken and node.word("type") == "tool_result":
            self.answers.append("")

    def opaque_at(self, node: Opened) -> None:
        """A value whose content cannot be read."""
        self.opaque.append(node.address[self._depth :])

    def thought_at(self, node: Opened) -> None:
        """Thinking of the model, which may be left out."""
        self.thoughts.append(node.address[self._depth :])

    def other(self, node: Opened | None) -> None:
        """Something in a result that is no text of its own: it counts where results are compared,
        but for where an upstream may cache."""
        if node is None:
            return
        parts = node.members() if node.kind is Kind.OBJECT else [("", node)]
        raws = [value.raw for key, value in parts if key not in MARKS]
        self.others.append((sha256(b"\0".join(raws)).digest(), sum(map(len, raws))))

    def way(self, node: Opened) -> Address:
        """The way to `node` from the message down."""
        return node.address[self._depth :]

    def says(self, node: Opened, text: object) -> bool:
        """What the operator or the model says, in `node`; a `text` of blanks says nothing, and
        False is returned."""
        if isinstance(text, str) and text.strip():
            self.texts.append(node.address[self._depth :])
            return True
        self.aside(node)
        return False

    def aside(self, node: Opened | None) -> None:
        """A value, if it is there and not empty, that is not needed for what is said."""
        if node is not None and node.value not in (None, "", [], {}):
            self.beside.append(node.address[self._depth :])

    def half(
        self,
        call: str,
        node: Opened,
        content: Opened | None,
        form: Form,
        *,
        name: str = "",
        holder: Opened | None = None,
    ) -> None:
        """A call or a result in `node`, which may stay without its `content`."""
        way = node.address[self._depth :]
        outer = way if holder is None else holder.address[self._depth :]
        emptied = None if content is None else content.address[self._depth :]
        self.halves.append(Half(call, name, outer, way, emptied, form))

    def _whole_halves(self) -> tuple[Half, ...]:
        """The halves in which all is known but for their content."""
        return tuple(
            half
            for half in self.halves
            if not half.way
            or not any(
                way[: len(half.way)] == half.way
                and (half.emptied is None or way[: len(half.emptied)] != half.emptied)
                for way in self.unknown
            )
        )

    def held_if(self, name: str, node: Opened | None) -> None:
        """The field `name`, unless it is absent or null, leans on what the upstream holds."""
        if node is not None and not node.null:
            self.lean(name, node.value, node.address[self._depth :])

    def lean(self, name: str, value: object, way: Address = ()) -> None:
        """The field `name`, at `way` from the message down, leans on what the upstream holds by
        `value`: an id or ids, or an object that has one."""
        self.held.append(name)
        before = len(self.leans)
        self._lean(name, value)
        self.leaning += [(way, pair) for pair in self.leans[before:]]

    def _lean(self, name: str, value: object) -> None:
        match value:
            case str():
                self.leans.append((name, value))
            case {"id": str() as given}:
                self.leans.append((name, given))
            case [*given] if given and all(isinstance(each, str) for each in given):
                self.leans += [(name, str(each)) for each in given]
            case _:
                self.leans.append((name, ""))

    def begin_result(self) -> None:
        """What follows belongs to another result: its text parts are counted from 0."""
        self._parts = 0

    def text(
        self,
        node: Opened,
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


def _outermost(ways: Sequence[Address]) -> tuple[Address, ...]:
    """`ways` without those that lead into what another one leads to."""
    if len(ways) < 2:
        return tuple(ways)
    all_ways = dict.fromkeys(ways)
    return tuple(
        way for way in all_ways if not any(way[:end] in all_ways for end in range(len(way)))
    )


def words(names: str) -> frozenset[str]:
    """The names in a text, for the tables of known fields."""
    return frozenset(names.split())


def first(*nodes: Opened | None) -> Opened | None:
    """The first node that is there."""
    return next((node for node in nodes if node is not None), None)


def json_text(node: Opened | None) -> str:
    """The text of a string, the raw JSON of any other value, nothing for none."""
    if node is None:
        return ""
    text = node.text()
    return node.raw.decode() if text is None else text
