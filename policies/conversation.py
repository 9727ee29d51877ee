"""All that a policy may see of a request: messages, runs, units, tool calls, and whose they are.

Owns the dialect-free vocabulary. It must not know a vendor, a wire format or where bytes lie: an
`Address` is opaque to policies and only the dialect that made it turns it back into bytes.

What a history has by the hundred is a struct of msgspec: a frozen dataclass takes twenty times as
long to make.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import astuple

from policies.past import Past

Address = tuple[str | int, ...]
"""Way from the top of a JSON body to a value in it: keys and array indices, outermost first."""


class Origin(StrEnum):
    """Whose words a message holds. `UNKNOWN` counts as untrusted."""

    OPERATOR = "operator"
    AGENT = "agent"
    TOOL = "tool"
    MEMORY = "memory"
    UNKNOWN = "unknown"


class Strand(NamedTuple):
    """One decoded string of the body, a key or a value, with the way to it."""

    address: Address
    text: str
    is_key: bool = False

    def __repr__(self) -> str:
        """Without the text: what a body says is shown nowhere."""
        return f"Strand({len(self.address)} steps, {'key' if self.is_key else 'value'})"


class Texts(NamedTuple):
    """The decoded strings of a piece by what they may be a part of: `contents` each of one that was
    split, `keys` alike, `others` of none."""

    contents: list[str]
    keys: list[str]
    others: list[str]

    def __repr__(self) -> str:
        """Without the texts."""
        return f"Texts({', '.join(str(len(texts)) for texts in self)})"


class _Plain(Struct, frozen=True, eq=False):
    """Compared by all but what is worked out when it is asked for, and shown without its text."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._given() == other._given()

    def __repr__(self) -> str:
        pairs = zip(self.__struct_fields__, self._given(), strict=True)
        shown = [f"{name}={value!r}" for name, value in pairs if name != "text"]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _given(self) -> list[object]:
        return [None if callable(v) or isinstance(v, Past) else v for v in astuple(self)]


class Piece(_Plain, frozen=True, eq=False):
    """One top-level member or one message as it came: the unit by which clean verdicts are kept.

    `digest` is the SHA-256 of the raw bytes and of the piece's role in the body; equal digests are
    equal pieces. `strands()` parses the piece whole and strictly (duplicate keys, surrogates, NaN
    and depth refused with `ValueError`) and yields every string in it, keys included; for a
    top-level member its own key comes first. `size`: of the raw bytes. `texts()`: the same strings
    sorted, where they can be had without the ways to them, which takes half the time. `ending()`:
    the last of its contents (`policies.screening.parts.ending`), where they are known.
    """

    address: Address
    digest: bytes
    strands: Callable[[], tuple[Strand, ...]]
    size: int = 0
    texts: Callable[[], Texts] | None = None
    ending: Callable[[], list[str]] | None = None


class ToolCall(Struct, frozen=True, gc=False):
    """A call that the model made. `arguments` is the JSON text as it stands, or free text."""

    id: str
    name: str
    arguments: str = ""

    def __repr__(self) -> str:
        """Without the arguments."""
        return f"ToolCall({self.id!r}, {self.name!r})"


class Unit(_Plain, frozen=True, eq=False, dict=True):
    """One piece of third-party text that may be framed: a result string or one text part of it.

    `address` leads to the JSON string that holds it. Where that string is itself a JSON text whose
    leaves are framed one by one, `inner` is the way to the leaf inside it, else empty.
    `source` is `tool:<name>`, `web:<title or url>`, `memory:<name>`. `call` is the id of the call
    that it answers, empty where the dialect has none. `part` counts the text parts of one result
    from 0. `message` is the index into `Conversation.messages`. `answered` says that a message of
    the model follows, so that some model has read it. `digest()` is a SHA-256 of the text, worked
    out once for as long as the message is remembered. `span`: where the unit is only a part of
    that string, its first character and the one after its last.
    """

    address: Address
    text: str
    source: str
    tool: str = ""
    call: str = ""
    part: int = 0
    message: int = 0
    answered: bool = False
    inner: Address = ()
    digest: Callable[[], bytes] | None = None
    span: tuple[int, int] | None = None

    @property
    def names(self) -> dict[object, bytes]:
        """What was worked out about it, by what for. One that is made from another has its own."""
        names: dict[object, bytes] = self.__dict__.setdefault("names", {})
        return names


class Form(StrEnum):
    """What stands in place of what a call was given, or of what it found."""

    OBJECT = "object"
    JSON = "json"
    EMPTY = "empty"
    RESULT = "result"


class Half(Struct, frozen=True, gc=False):
    """A call, or a result, that may stay without its content: `way` leads to it, `holder` to the
    value that goes where none of the halves in it stays, `emptied` to its content, None for none,
    in whose place comes `form`. `call` is the id that both halves have, `name` is the tool's, empty
    for a result."""

    call: str
    name: str
    holder: Address
    way: Address
    emptied: Address | None
    form: Form


class Message(_Plain, frozen=True, eq=False):
    """One message, or one item of a Responses input. `role` is lower-case as the wire has it.

    `calls` are made here, `answers` are the ids of the calls whose results stand here (an empty id
    where the dialect has none). `sealed`: holds signed thinking or encrypted reasoning, which binds
    everything before it. `thoughts`: the ways to thinking that may be left out, `unsigned` those to
    thinking that no vendor has signed; `hollow` says that nothing else stands here. `signs()`: a
    digest of each call, however its arguments are spelled (`policies.loops.signature`);
    `results()`: digests of what came back, `size` its bytes. `texts`: the ways to what an operator
    or the model says here, `beside` to all else that is not needed for it, `halves` the calls and
    results among that. `grants`: what follows needs this message, for it declares tools or
    settings; `between`: it may only stand behind a message of the user and before one of the model.
    These ways start at the message.
    """

    index: int
    address: Address
    role: str
    origin: Origin
    digest: bytes
    calls: tuple[ToolCall, ...] = ()
    answers: tuple[str, ...] = ()
    sealed: bool = False
    thoughts: tuple[Address, ...] = ()
    hollow: bool = False
    signs: Callable[[], tuple[bytes, ...]] = tuple
    results: Callable[[], tuple[bytes, ...]] = tuple
    size: int = 0
    texts: tuple[Address, ...] = ()
    beside: tuple[Address, ...] = ()
    halves: tuple[Half, ...] = ()
    grants: bool = False
    between: bool = False
    unsigned: tuple[Address, ...] = ()


class Run(Struct, frozen=True, gc=False):
    """Messages `start` up to, not including, `stop` that lie between two outputs of the model."""

    start: int
    stop: int
    answers_call: bool
    has_user: bool


def _nothing(_: int) -> tuple[()]:
    return ()


class Conversation(_Plain, frozen=True, eq=False, dict=True):
    """A request body, read. `turn` is the index of the message at which the current turn starts.

    `tools`: names of all tools declared anywhere in the body (a declaration without a name counts
    under its type). `opaque`: places whose content cannot be read (images, PDFs, encrypted items).
    `unknown`: fields or blocks of a kind that the dialect does not know; screened, never edited.
    `held`: names of fields that lean on state the upstream holds (`previous_response_id`, …);
    `leans`: each with the id that it gives, empty where it is not one id, and `leaning` the same
    with the way to the message or member. `folded`: ways to what came before, in a form that nobody
    can take apart. `since`: what stands before this message is read as text alone, without calls,
    results and thinking, 0 where nothing is cut; `passed` are the units that stand there.
    `said(index)`: one digest per part of what a message says, however it is packed, worked out
    when it is asked for; `prompt`: the same, where a plain string stands in place of messages.
    `words(index)`: the texts that a user says in a message, with the way to each. `reminds`: the
    dialect has a place for a text of ours behind results; `notes`: it has one for system text
    there, and the model takes it. `past`: how far this history may be taken as read next time;
    `before`: how far it was read before. `home`: messages of the model that were given at home, by
    their index; no cloud is shown them.
    """

    dialect: str
    model: str
    stream: bool
    messages: tuple[Message, ...]
    runs: tuple[Run, ...]
    turn: int
    units: tuple[Unit, ...]
    tools: tuple[str, ...]
    pieces: tuple[Piece, ...]
    opaque: tuple[Address, ...] = ()
    unknown: tuple[Address, ...] = ()
    held: tuple[str, ...] = ()
    prompt: tuple[bytes, ...] = ()
    said: Callable[[int], tuple[bytes, ...]] = _nothing
    words: Callable[[int], tuple[Strand, ...]] = _nothing
    reminds: bool = False
    leans: tuple[tuple[str, str], ...] = ()
    notes: bool = False
    leaning: tuple[tuple[Address, tuple[str, str]], ...] = ()
    folded: tuple[Address, ...] = ()
    since: int = 0
    passed: tuple[Unit, ...] = ()
    past: Past = field(default_factory=Past)
    before: Past = field(default_factory=Past)
    home: frozenset[int] = frozenset()

    @property
    def names(self) -> dict[object, Any]:
        """What was worked out about it, by what for. One that is made from another has its own."""
        names: dict[object, Any] = self.__dict__.setdefault("names", {})
        return names
