"""What one message says about itself, and the memory of it by the digest of the message's bytes.

Owns `Facts` (addresses from the message down, texts, calls, answers) and their bounded store. It
must not know a vendor, nor hold a node of a document: facts outlive the request, bodies do not.
They are structs of msgspec, made by the hundred while a history is read for the first time.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from sys import getsizeof
from typing import TYPE_CHECKING

from msgspec import Struct, field

from policies.conversation import (
    Address,
    Half,
    Message,
    Origin,
    Piece,
    Strand,
    Texts,
    ToolCall,
    Unit,
)
from policies.loops import signature
from policies.screening.parts import ending
from proxy.memory import Memory
from proxy.said import Said, said, text_digest

if TYPE_CHECKING:
    from proxy.dialects.beginnings import Beginning
    from proxy.dialects.framing import Finished

STORE_BYTES = 8 * 1024 * 1024
"""Default bound of one store, in bytes of the interpreter's memory as far as they can be told."""

_MOST_SAID = 8  # parts; a message that says more is read again where it matters
_ENTRY = 1200  # digest, facts, what is said, their tuples and the slot in the store
_ENDING = 1200  # the last of what a message says, with its list
_PART = 500  # one unit, as found and as made last, call or address, with its tuples
_Units = tuple[Message, tuple[str, ...], bool, tuple[Unit, ...]]


class Found(Struct, frozen=True, eq=False, gc=False):
    """One piece of third-party text in a message. `call` and `name` are what stands beside it; the
    tool's name is resolved later, from the whole body. `source` is set where no tool is behind it.
    `address`, and `inner` within a JSON text, are as in `policies.conversation.Unit`, but `address`
    starts at the message."""

    address: Address
    text: str
    source: str = ""
    call: str = ""
    name: str = ""
    part: int = 0
    inner: Address = ()
    _digest: list[bytes] = field(default_factory=list)

    def digest(self) -> bytes:
        """The digest of the text, worked out when it is first asked for."""
        if kept := self._digest[:1]:
            return kept[0]
        digest = text_digest(self.text)
        self._digest[:] = [digest]
        return digest

    def __repr__(self) -> str:
        return f"Found(at {self.address}, {len(self.text)} characters)"


class Facts(Struct, frozen=True, eq=False, gc=False):
    """All that the view needs of one message or one top-level member. `spoken`: it is output of the
    model, so it ends a run. `thoughts`, `unsigned`, `hollow`, `texts`, `beside`, `halves`, `grants`
    and `between` are as in `policies.conversation.Message`. `others`: digest and bytes of what came
    back from calls and is no text. `notable`: there is something that counts for the body as a
    whole. Addresses start at the message (or member)."""

    role: str = ""
    origin: Origin = Origin.UNKNOWN
    spoken: bool = False
    sealed: bool = False
    calls: tuple[ToolCall, ...] = ()
    answers: tuple[str, ...] = ()
    found: tuple[Found, ...] = ()
    tools: tuple[str, ...] = ()
    opaque: tuple[Address, ...] = ()
    unknown: tuple[Address, ...] = ()
    held: tuple[str, ...] = ()
    thoughts: tuple[Address, ...] = ()
    hollow: bool = False
    leans: tuple[tuple[str, str], ...] = ()
    others: tuple[tuple[bytes, int], ...] = ()
    texts: tuple[Address, ...] = ()
    beside: tuple[Address, ...] = ()
    halves: tuple[Half, ...] = ()
    grants: bool = False
    between: bool = False
    leaning: tuple[tuple[Address, tuple[str, str]], ...] = ()
    unsigned: tuple[Address, ...] = ()
    notable: bool = False
    _said: list[Said] = field(default_factory=list)
    _signs: list[tuple[bytes, ...]] = field(default_factory=list)
    _ending: list[list[str]] = field(default_factory=list)
    _placed: list[Message] = field(default_factory=list)
    _units: list[_Units] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"Facts({self.role or 'member'}, {self.found})"

    def said(self, read: Callable[[], object]) -> Said:
        """What it says, however it is packed; `read` gives the parsed value when it is not known.
        Nothing for output of the model."""
        if self.spoken:
            return ()
        if kept := self._said[:1]:
            return kept[0]
        words = said(read())
        if len(words) <= _MOST_SAID:
            self._said[:] = [words]
        return words

    def strings(self, read: Callable[[], Texts]) -> Texts:
        """The strings of the message, which `read` gives."""
        strings = read()
        last = ending(strings.contents)
        # Very many parts may say nothing, and letters of the Far East take twice as much.
        if sum(map(getsizeof, last)) <= _ENDING:
            self._ending[:] = [last]
        return strings

    def ending(self, read: Callable[[], Texts]) -> list[str]:
        """The last of its contents; `read` gives its strings when they are not known."""
        for kept in self._ending[:1]:
            return kept
        return ending(self.strings(read).contents)

    def _size(self) -> int:
        """Bytes of what came back from calls."""
        size = sum([size for _, size in self.others]) if self.others else 0
        for found in self.found:
            if not found.source:
                size += _bytes(found.text)
        return size

    def message(self, index: int, address: Address, digest: bytes) -> Message:
        """The message that these facts describe, at its place in a body. The one made last is
        kept: a history that comes again has its messages where they were."""
        # Threads share facts: what is returned is never read back from where it is kept.
        if (kept := self._placed[:1]) and kept[0].address == address:
            return kept[0]
        message = Message(
            index,
            address,
            self.role,
            self.origin,
            digest,
            self.calls,
            self.answers,
            self.sealed,
            tuple([address + way for way in self.thoughts]) if self.thoughts else (),
            self.hollow,
            # Not methods of this: it keeps the message, and nobody looks for circles through it.
            partial(_signs, self.calls, self._signs) if self.calls else _nothing,
            partial(_results, self.found, self.others) if self.answers else _nothing,
            self._size() if self.answers else 0,
            self.texts,
            self.beside,
            self.halves,
            self.grants,
            self.between,
            tuple([address + way for way in self.unsigned]) if self.unsigned else (),
        )
        self._placed[:] = [message]
        return message

    def units(
        self, message: Message, tools: tuple[str, ...], *, answered: bool
    ) -> tuple[Unit, ...]:
        """The units found, in `message`, each from the tool at its place in `tools`. The ones made
        last are kept, too."""
        for there, named, read, kept in self._units[:1]:
            if there is message and named == tools and read == answered:
                return kept
        units = tuple(
            [
                Unit(
                    message.address + found.address,
                    found.text,
                    found.source or f"tool:{tool}",
                    tool,
                    found.call,
                    found.part,
                    message.index,
                    answered,
                    found.inner,
                    found.digest,
                )
                for found, tool in zip(self.found, tools, strict=True)
            ]
        )
        self._units[:] = [(message, tools, answered, units)]
        return units


def piece_of(
    facts: Facts,
    address: Address,
    digest: bytes,
    size: int,
    strands: Callable[[], tuple[Strand, ...]],
    texts: Callable[[], Texts],
) -> Piece:
    """The piece of a message with these `facts`, of `size` bytes."""
    read = partial(facts.strings, texts)
    return Piece(address, digest, strands, size, read, partial(facts.ending, texts))


def _nothing() -> tuple[()]:
    return ()


def _signs(calls: Sequence[ToolCall], kept: list[tuple[bytes, ...]]) -> tuple[bytes, ...]:
    """The signatures of `calls`, worked out when they are first asked for."""
    for signs in kept[:1]:
        return signs
    signs = tuple([signature(call) for call in calls])
    kept[:] = [signs]
    return signs


def _results(founds: Sequence[Found], others: Sequence[tuple[bytes, int]]) -> tuple[bytes, ...]:
    """Digests of what came back from calls."""
    texts = [found.digest() for found in founds if not found.source]
    return (*texts, *[digest for digest, _ in others])


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def size(facts: Facts) -> int:
    """Memory of `facts` in bytes, close enough for a bound: strings counted, tuples guessed."""
    parts = 2 * (len(facts.found) + len(facts.calls) + len(facts.halves))
    parts += (
        len(facts.answers)
        + len(facts.thoughts)
        + len(facts.unsigned)
        + len(facts.texts)
        + len(facts.beside)
    )
    total = 0
    for found in facts.found:
        total += getsizeof(found.text) + (getsizeof(found.source) if found.source else 0)
    for call in facts.calls:
        total += getsizeof(call.arguments) + getsizeof(call.name)
    if facts.notable:
        parts += len(facts.opaque) + len(facts.unknown) + len(facts.tools)
        total += sum(map(getsizeof, facts.tools))
    return total + _ENTRY + _PART * parts + (_ENDING if facts.role else 0)


class FactStore:
    """Facts by digest, least recently used out first, bounded in bytes. In memory only.

    `opened` counts the messages and members that had to be opened because they were not known.
    `finished` are messages as they leave, framed; `beginnings` lists of messages as they came last.
    Each is bounded alike.
    """

    def __init__(self, limit: int = STORE_BYTES) -> None:
        self.opened = 0
        self.finished: Finished = Memory(limit)
        self.beginnings: Memory[bytes, Beginning] = Memory(limit)
        self._facts: Memory[bytes, Facts] = Memory(limit)

    def get(self, digest: bytes) -> Facts | None:
        """The facts under `digest`, which become the most recently used."""
        return self._facts.get(digest)

    def put(self, digest: bytes, facts: Facts) -> None:
        """Remember `facts` under a `digest`. Facts that alone exceed the bound are not kept."""
        self.put_all({digest: facts})

    def put_all(self, made: Mapping[bytes, Facts]) -> None:
        """`put` for many at once, by digest."""
        self.opened += len(made)
        self._facts.put_all([(digest, facts, size(facts)) for digest, facts in made.items()])

    def __len__(self) -> int:
        return len(self._facts)

    @property
    def bytes(self) -> int:
        """Bytes in use, as `size` counts them."""
        return self._facts.used
