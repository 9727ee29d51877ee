"""JSON that is opened only where needed: values that nobody touches keep their bytes.

Owns reading a body into nodes, and the rules of DESIGN 3.1: strict UTF-8, no duplicate keys, a
bounded depth, offsets and addresses in every error. It must not know a dialect or a policy. A node
pins the body; whatever `text`, `value`, `strands` and `digest` return does not.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Final, assert_never

import msgspec

from policies.conversation import Address, Strand
from proxy.edits import Edit, Insert, Member, Remove, Replace, splice
from proxy.json_faults import (
    Fault,
    Malformed,
    address_at,
    check_depth,
    decoded_key,
    has_lone_surrogate,
    parser,
    syntax_fault,
)

__all__ = [
    "Document",
    "Edit",
    "Insert",
    "Kind",
    "Malformed",
    "Member",
    "Node",
    "Remove",
    "Replace",
    "dump",
    "read",
    "splice",
]

_WHITE: Final = b" \t\n\r"
_OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ARRAY: Final = msgspec.json.Decoder(list[msgspec.Raw])
_STRING: Final = msgspec.json.Decoder(str)
_KEY: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_GAP: Final = re.compile(rb"[ \t\n\r]*")
_COLON: Final = re.compile(rb"[ \t\n\r]*:[ \t\n\r]*")
_COMMA: Final = re.compile(rb"[ \t\n\r]*,[ \t\n\r]*")
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class Kind(StrEnum):
    """What a value is. `LITERAL`: true, false or null."""

    OBJECT = "object"
    ARRAY = "array"
    STRING = "string"
    NUMBER = "number"
    LITERAL = "literal"


_KINDS: Final = {
    ord("{"): Kind.OBJECT,
    ord("["): Kind.ARRAY,
    ord('"'): Kind.STRING,
    ord("t"): Kind.LITERAL,
    ord("f"): Kind.LITERAL,
    ord("n"): Kind.LITERAL,
}


@dataclass(frozen=True, slots=True)
class _Source:
    """`scan` is `body`, save that each lone surrogate escape is `\\u0020` there: as long, and
    readable for the fast reader, which refuses lone surrogates where we must let them pass."""

    body: bytes
    scan: bytes


class Node:
    """A value of the body that has not been opened. `offset` counts bytes from the body's start."""

    __slots__ = (
        "_by_key",
        "_children",
        "_end",
        "_folds",
        "_key_start",
        "_source",
        "address",
        "offset",
    )

    def __init__(
        self, source: _Source, address: Address, start: int, end: int, key_start: int = -1
    ) -> None:
        self._source = source
        self.address = address
        self.offset = start
        self._end = end
        self._key_start = key_start
        self._children: tuple[Node, ...] | None = None
        self._by_key: dict[str, Node] = {}
        self._folds: frozenset[str] | None = None

    def __repr__(self) -> str:
        return f"<Node {self.kind} of {self._end - self.offset} bytes at {self.offset}>"

    @property
    def kind(self) -> Kind:
        return _KINDS.get(self._source.body[self.offset], Kind.NUMBER)

    @property
    def raw(self) -> bytes:
        """The exact bytes, without white space around them."""
        return self._source.body[self.offset : self._end]

    @property
    def span(self) -> tuple[int, int]:
        """First byte and the byte after the last."""
        return self.offset, self._end

    @property
    def whole_span(self) -> tuple[int, int]:
        """Like `span`, from the quote of the key on where the value is a member of an object."""
        return (self.offset if self._key_start < 0 else self._key_start), self._end

    def children(self) -> tuple["Node", ...]:
        """Members' values or items, in order; none for a value that is neither.

        Raises `Malformed` for keys that are equal once decoded.
        """
        if self._children is None:
            match self.kind:
                case Kind.OBJECT:
                    self._by_key = {str(node.address[-1]): node for node in _members(self)}
                    self._children = tuple(self._by_key.values())
                case Kind.ARRAY:
                    self._children = tuple(_items(self))
                case Kind.STRING | Kind.NUMBER | Kind.LITERAL:
                    self._children = ()
                case unreachable:
                    assert_never(unreachable)
        return self._children

    def members(self, *, free: bool = False) -> tuple[tuple[str, "Node"], ...]:
        """Keys and values of an object in order; empty for any other kind.

        Raises `Malformed` for keys that are equal once decoded, and, unless the keys are `free` (of
        somebody else's choice: tool arguments, schemas), for keys equal after case folding: some
        upstreams match keys without regard to case.
        """
        self.children()
        if not free:
            self._fold()
        return tuple(self._by_key.items())

    def items(self) -> tuple["Node", ...]:
        """The items of an array in order; empty for any other kind."""
        return self.children() if self.kind is Kind.ARRAY else ()

    def get(self, key: str) -> "Node | None":
        """The member `key`; None where there is none or this is no object.

        Asking makes `key` known: another key that is equal to it after case folding is a duplicate
        of it (DESIGN 3.1) and raises `Malformed`, whether or not `key` itself is there.
        """
        self.children()
        folds = self._fold()
        found = self._by_key.get(key)
        if found is None and folds and key.casefold() in folds:
            twin = next(k for k in self._by_key if k.casefold() == key.casefold())
            raise self._twins(self._by_key[twin])
        return found

    def _fold(self) -> frozenset[str]:
        if self._folds is None:
            folds = frozenset(map(str.casefold, self._by_key))
            if len(folds) != len(self._by_key):
                seen: set[str] = set()
                for key, node in self._by_key.items():
                    if key.casefold() in seen:
                        raise self._twins(node)
                    seen.add(key.casefold())
            self._folds = folds
        return self._folds

    def _twins(self, node: "Node") -> Malformed:
        reason = "a key that differs only in case from another or a known one"
        return Malformed(reason, node.address, node.whole_span[0])

    def text(self) -> str | None:
        """The decoded string, None for any other kind. Lone surrogates stay as they are."""
        if self.kind is not Kind.STRING:
            return None
        if self._source.scan is self._source.body:
            return _STRING.decode(self._view())
        return str(json.loads(self.raw))

    def value(self) -> object:
        """The value parsed whole and strictly: dict, list, str, int, Decimal, bool or None.

        Raises `Malformed` for equal keys and for numbers that nothing can hold.
        """
        return self._parsed(_parse_value)

    def strands(self, *, keyed: bool = False) -> tuple[Strand, ...]:
        """Every key and string from here down, parsed whole and strictly, in the order they stand.

        `keyed`: begin with this member's own key. Raises `Malformed` for equal keys and for lone
        surrogates, which no reader may be trusted to treat alike.
        """
        value = self._parsed(_parse_strings)
        own = self.address[-1:] if keyed else ()
        found = [Strand(self.address, key, is_key=True) for key in own if isinstance(key, str)]
        found += _strands(value, self.address)
        if b"\\u" in self.raw or keyed:
            for strand in found:
                if has_lone_surrogate(strand.text):
                    raise Malformed("half of a surrogate pair", strand.address, self.offset)
        return tuple(found)

    def digest(self, salt: bytes = b"") -> bytes:
        """SHA-256 over `salt` and the raw bytes."""
        state = hashlib.sha256(salt)
        state.update(self._view())
        return state.digest()

    def _view(self) -> memoryview:
        return memoryview(self._source.body)[self.offset : self._end]

    def _parsed(self, parse: object) -> object:
        try:
            return parse(self.raw.decode())  # type: ignore[operator]
        except (Fault, RecursionError) as fault:
            raise Malformed(str(fault), self.address, self.offset) from None


@dataclass(frozen=True, slots=True)
class Document:
    """A body and the node of its top level."""

    body: bytes = field(repr=False)
    root: Node


def read(body: bytes) -> Document:
    """Read a JSON object without opening more than its top level.

    Raises `Malformed` for a byte order mark, bytes that are not UTF-8, anything but one object, and
    nesting deeper than 100 levels.
    """
    if body.startswith(b"\xef\xbb\xbf"):
        raise Malformed("a byte order mark", (), 0)
    try:
        body.decode()
    except UnicodeDecodeError as error:
        where = address_at(body, error.start)
        raise Malformed("bytes that are not UTF-8", where, error.start) from None
    check_depth(body)
    start = len(body) - len(body.lstrip(_WHITE))
    if body[start : start + 1] not in (b"{", b""):
        raise Malformed("a body that is not one JSON object", (), start)
    try:
        _OBJECT.decode(body)
        source = _Source(body, body)
    except msgspec.DecodeError:
        source = _Source(body, _without_lone_surrogates(body))
    root = Node(source, (), start, len(body.rstrip(_WHITE)))
    root.children()
    return Document(body, root)


def dump(value: object) -> bytes:
    """Compact JSON in UTF-8 for what we write ourselves; lone surrogates stay escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if has_lone_surrogate(text):
        text = re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)
    return text.encode()


def _without_lone_surrogates(body: bytes) -> bytes:
    scan = _ESCAPE.sub(lambda m: b"\\u0020" if m["lone"] else m[0], body)
    try:
        _OBJECT.decode(scan)
    except (msgspec.DecodeError, RecursionError):
        raise syntax_fault(body) from None
    return scan


def _members(node: Node) -> Iterator[Node]:
    """Walk an object; every byte of it is accounted for, or it is refused.

    The fast reader keeps the last of two equal keys and says nothing. So each member must stand
    where the one before it ends: its own key, a colon, exactly its bytes, a comma.
    """
    source, (start, end) = node._source, node.span
    scan = source.scan
    at = _skip(_GAP, scan, start + 1)
    last = end - 1
    for key, value in _OBJECT.decode(memoryview(scan)[start:end]).items():
        literal = _KEY.match(scan, at)
        if literal is None:
            raise _unaccounted(node)
        if decoded_key(literal[0]) != key:
            raise _unaccounted(node)
        begin = _skip(_COLON, scan, literal.end())
        raw = bytes(value)
        # SECURITY: comparing the bytes, not only their count, makes this walk a proof.
        if not scan.startswith(raw, begin):
            raise _unaccounted(node)
        stop = begin + len(raw)
        name = key if scan is source.body else decoded_key(source.body[at : literal.end()])
        yield Node(source, (*node.address, name), begin, stop, at)
        comma = _COMMA.match(scan, stop)
        at = comma.end() if comma else _skip(_GAP, scan, stop)
        if comma is None and at != last:
            raise _unaccounted(node)
    if at != last:
        raise _unaccounted(node)


def _items(node: Node) -> Iterator[Node]:
    source, (start, end) = node._source, node.span
    scan = source.scan
    at = _skip(_GAP, scan, start + 1)
    for index, value in enumerate(_ARRAY.decode(memoryview(scan)[start:end])):
        stop = at + memoryview(value).nbytes
        yield Node(source, (*node.address, index), at, stop)
        comma = _COMMA.match(scan, stop)
        at = comma.end() if comma else stop


def _skip(pattern: re.Pattern[bytes], scan: bytes, at: int) -> int:
    match = pattern.match(scan, at)
    return match.end() if match else at


def _unaccounted(node: Node) -> Malformed:
    return syntax_fault(node.raw, node.address, node.offset)


def _number(text: str) -> object:
    if len(text) <= 4000 and text.lstrip("-").isdigit():
        return int(text)
    try:
        return Decimal(text)
    except InvalidOperation:
        raise Fault("a number beyond every range") from None


_parse_value: Final = parser(_number)
_parse_strings: Final = parser(bool)


def _strands(value: object, address: Address) -> Iterator[Strand]:
    if isinstance(value, str):
        yield Strand(address, value)
    elif isinstance(value, dict):
        for key, member in value.items():
            yield Strand((*address, key), key, is_key=True)
            yield from _strands(member, (*address, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _strands(item, (*address, index))
