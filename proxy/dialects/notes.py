"""The notebook of a reader that walks one message: what it saw, as facts.

Owns the collecting and the tolerance for wrong shapes (noted as unknown, never an exception). It
must not know a vendor: which fields and kinds are known is the dialect's to say.
"""

from collections.abc import Sequence
from hashlib import sha256

from msgspec import Struct, field

from policies.conversation import Address, Form, Half, Origin, ToolCall
from proxy.dialects.facts import Facts, Found
from proxy.dialects.opened import Fields, Opened
from proxy.said import MARKS

_RESULT_ROLES = ("tool", "function")


class Notes(Struct, eq=False):
    """Collects the facts about one message or top-level member. What is noted is addressed from
    there down."""

    role: str = ""
    origin: Origin = Origin.UNKNOWN
    spoken: bool = False
    sealed: bool = False
    calls: list[ToolCall] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    opaque: list[Address] = field(default_factory=list)
    unknown: list[Address] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    leans: list[tuple[str, str]] = field(default_factory=list)
    leaning: list[tuple[Address, tuple[str, str]]] = field(default_factory=list)
    thoughts: list[Address] = field(default_factory=list)
    unsigned: list[Address] = field(default_factory=list)
    hollow: bool = False
    others: list[tuple[bytes, int]] = field(default_factory=list)
    texts: list[Address] = field(default_factory=list)
    beside: list[Address] = field(default_factory=list)
    halves: list[Half] = field(default_factory=list)
    grants: bool = False
    between: bool = False
    _parts: int = 0

    def __repr__(self) -> str:
        return f"Notes({self.role or 'member'})"

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
            tuple(self.others),
            tuple(self.texts),
            _outermost([*self.beside, *self.unknown]) if self.unknown else tuple(self.beside),
            self._whole_halves() if self.unknown else tuple(self.halves),
            self.grants,
            self.between,
            tuple(self.leaning),
            tuple(self.unsigned),
            bool(self.tools or self.opaque or self.unknown or self.held),
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
        if node is None or node.value is None:
            return ()
        if isinstance(node.value, list):
            return node.items()
        self.unknown_at(node)
        return ()

    def unknown_at(self, node: Opened) -> None:
        """A value of a kind that the dialect does not know, or of a wrong shape."""
        self.unknown.append(node.way)

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
        self.opaque.append(node.way)

    def thought_at(self, node: Opened) -> None:
        """Thinking of the model, which may be left out."""
        self.thoughts.append(node.way)

    def unsigned_at(self, way: Address) -> None:
        """Thinking that a vendor would not take back."""
        self.unsigned.append(way)

    def other(self, node: Opened | None) -> None:
        """Something in a result that is no text of its own: it counts where results are compared,
        but for where an upstream may cache."""
        if node is None:
            return
        parts = node.members() if isinstance(node.value, dict) else [("", node)]
        raws = [value.raw for key, value in parts if key not in MARKS]
        self.others.append((sha256(b"\0".join(raws)).digest(), sum(map(len, raws))))

    def says(self, node: Opened, text: object) -> bool:
        """What the operator or the model says, in `node`; a `text` of blanks says nothing, and
        False is returned."""
        if isinstance(text, str) and text.strip():
            self.texts.append(node.way)
            return True
        self.aside(node)
        return False

    def aside(self, node: Opened | None) -> None:
        """A value, if it is there and not empty, that is not needed for what is said."""
        if node is not None and (node.value or node.value == 0):
            self.beside.append(node.way)

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
        outer = node.way if holder is None else holder.way
        emptied = None if content is None else content.way
        self.halves.append(Half(call, name, outer, node.way, emptied, form))

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
        if node is not None and node.value is not None:
            self.lean(name, node.value, node.way)

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
            self.found.append(Found(node.way, text, source, call, name, self._parts, inner))
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
