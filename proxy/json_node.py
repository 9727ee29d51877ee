"""One value of a JSON body: where it lies, what it is, and how far it has been opened.

Owns `Node`. Opening a value reads its children's places and nothing more; `value` and `strands`
parse it whole. It must not know what a value means, nor how a body is checked before. A node pins
the body; whatever `text`, `value`, `strands` and `digest` return does not.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from policies.conversation import Address, Strand, Texts
from policies.screening.parts import sort_out, sort_value
from proxy.json_bounds import check_depth, crowded
from proxy.json_faults import (
    DISAGREE,
    MAX_DEPTH,
    TWIN,
    Fault,
    Malformed,
    key_at,
    lone_surrogate,
)
from proxy.json_known import Source
from proxy.json_numbers import number_rows
from proxy.json_opened import KINDS, Kind, Opened
from proxy.json_spans import (
    ARRAY,
    OBJECT,
    ObjectSpan,
    ObjectSpans,
    Unaccounted,
    array_spans,
    object_spans,
)
from proxy.json_whole import (
    SLOWLY,
    Writer,
    deeper,
    gather,
    parse_quickly,
    parse_strings,
    parse_value,
    writer_of,
)

_STRING: Final = msgspec.json.Decoder(str)

_BRACE, _BRACKET, _QUOTE = b'{["'


class Node:
    """A value of the body that has not been opened. `offset` counts bytes from the body's start."""

    __slots__ = (
        "_end",
        "_key_start",
        "_opened",
        "_source",
        "_value",
        "_write",
        "address",
        "offset",
    )

    def __init__(
        self, source: Source, address: Address, start: int, end: int, key_start: int = -1
    ) -> None:
        self._source = source
        self.address = address
        self.offset = start
        self._end = end
        self._key_start = key_start
        self._opened: Opened[Node] | None = None
        self._value: object = SLOWLY
        self._write: Writer | None = None

    def __repr__(self) -> str:
        return f"<Node {self.kind} of {self._end - self.offset} bytes at {self.offset}>"

    @property
    def kind(self) -> Kind:
        return KINDS.get(self._source.body[self.offset], Kind.NUMBER)

    @property
    def raw(self) -> bytes:
        """The exact bytes, without white space around them."""
        return self._source.body[self.offset : self._end]

    def raw_below(self, way: Address, value: object) -> bytes:
        """The exact bytes of the `value` that `way` leads to from here. Only where this has been
        parsed by `value`, so that no key can stand there twice: the way is read and not kept."""
        if self._write is not None:
            return self._write(value)
        node, source = self, self._source
        if source.scan is not source.body:
            for step in way:
                below = node.child(step)
                assert below is not None
                node = below
            return node.raw
        raw: bytes | msgspec.Raw | memoryview = self._view()
        for step in way:
            raw = OBJECT.decode(raw)[step] if isinstance(step, str) else ARRAY.decode(raw)[step]
        return bytes(raw)

    @property
    def source(self) -> Source:
        """What all nodes of a body share."""
        return self._source

    @property
    def span(self) -> tuple[int, int]:
        """First byte and the byte after the last."""
        return self.offset, self._end

    @property
    def size(self) -> int:
        """How many bytes that are."""
        return self._end - self.offset

    @property
    def whole_span(self) -> tuple[int, int]:
        """Like `span`, but from the key on where the value is a member of an object."""
        return (self.offset if self._key_start < 0 else self._key_start), self._end

    def children(self) -> "tuple[Node, ...]":
        """Items, or values of members, in order; none for a value that is neither.

        Raises `Malformed` for keys that are equal once decoded.
        """
        opened = self.opened()
        if opened.members:
            return tuple(self._named(opened).values())
        return tuple(map(self.item, range(len(opened.spans))))

    def names(self) -> tuple[str, ...]:
        """The keys of an object in order, as `members` has them; empty for any other kind."""
        opened = self.opened()
        if opened.twin_fold is not None:
            raise self._cased(opened.twin_fold)
        return tuple(opened.members)

    def members(self, *, free: bool = False) -> "tuple[tuple[str, Node], ...]":
        """Keys and values of an object in order; empty for any other kind.

        Raises `Malformed` for keys that are equal once decoded. Unless the keys are `free`, of
        somebody else's choice as in tool arguments and schemas, so do keys that are equal after
        case folding: some upstreams match keys without regard to case.
        """
        opened = self.opened()
        if opened.twin_fold is not None and not free:
            raise self._cased(opened.twin_fold)
        return tuple(self._named(opened).items())

    def items(self, known: Sequence[tuple[int, int]] = ()) -> tuple["Node", ...]:
        """The items of an array in order; empty for any other kind. `known`: where the first ones
        lie, for who has seen the same bytes before."""
        if self.kind is not Kind.ARRAY:
            return ()
        self.opened(known)
        return self.children()

    def item(self, index: int) -> "Node":
        """One item of an array, which has so many."""
        opened = self.opened()
        if (item := opened.items.get(index)) is None:
            start, end = opened.spans[index]
            item = Node(self._source, (*self.address, index), start, end)
            # Of two threads that ask at once both get the first one.
            item = opened.items.setdefault(index, item)
        return item

    def get(self, key: str) -> "Node | None":
        """The member `key`; None where there is none, or this is no object.

        Asking makes `key` a known one: a key that only case folding makes equal to it is a
        duplicate (DESIGN 3.1) and raises `Malformed`, whether or not `key` itself is there.
        """
        opened = self.opened()
        if opened.twin_fold is not None:
            raise self._cased(opened.twin_fold)
        if (span := opened.members.get(key)) is not None:
            return self._member(opened, span)
        if not (opened.own_folds and key.isascii() and key.islower()):
            fold = key.casefold()
            for other in opened.members:
                if other.casefold() == fold:
                    raise self._cased(other)
        return None

    def get_text(self, key: str) -> str | None:
        """What `get(key)` has for a text, None where there is none; `key` in lower case. For who
        asks an object for nothing else: it is read as strictly, and not opened."""
        source = self._source
        closed = self._opened is None and source.scan is source.body
        if closed and source.body[self.offset] == _BRACE and (spans := self._usual()) is not None:
            found = [span[2:] for span in spans if span[0] == key]
            return Node(source, self.address, *found[0]).text() if found else None
        node = self.get(key)
        return None if node is None else node.text()

    def _usual(self) -> ObjectSpans | None:
        """Where the members of an object lie whose keys are unlike and fold to themselves."""
        self.judge()
        try:
            spans = object_spans(self._source.scan, self.offset, self._end)
        except Unaccounted:
            return None
        keys = "".join([span[0] for span in spans])
        return spans if keys.casefold() == keys else None

    def child(self, step: str | int) -> "Node | None":
        """The member or item that `step` of an address leads to; None where it leads nowhere."""
        opened = self.opened()
        if isinstance(step, str):
            span = opened.members.get(step)
            return None if span is None else self._member(opened, span)
        return self.item(step) if 0 <= step < len(opened.spans) else None

    def _member(self, opened: "Opened[Node]", span: ObjectSpan) -> "Node":
        key, key_start, start, end = span
        if (node := opened.named.get(key)) is None:
            node = Node(self._source, (*self.address, key), start, end, key_start)
            # Of two threads that ask at once both get the first one.
            node = opened.named.setdefault(key, node)
        return node

    def _named(self, opened: "Opened[Node]") -> "dict[str, Node]":
        """All members of an object, in order."""
        if not opened.ordered:  # those in it stand as they were asked for
            source, address, old = self._source, self.address, opened.named
            opened.named = {
                key: old.get(key) or Node(source, (*address, key), s, e, k)
                for key, k, s, e in opened.members.values()
            }
            opened.ordered = True
        return opened.named

    def opened(self, known: Sequence[tuple[int, int]] = ()) -> "Opened[Node]":
        """Where the children lie. `known` is as for `items`. Raises `Malformed` for keys that are
        equal once decoded."""
        if self._opened is None:
            source, address, start, end = self._source, self.address, self.offset, self._end
            members: dict[str, ObjectSpan] = {}
            spans: Sequence[tuple[int, int]] = ()
            first = source.body[start]
            # The items of a list at the top are judged one by one, when they are opened: a known
            # message is not judged again.
            if address and not (len(address) == 1 and first == _BRACKET):
                self.judge()
            if first == _BRACE:
                members = self._members()
            elif first == _BRACKET:
                if source.known is not None and start == source.known.start:
                    known = source.known.spans
                spans = array_spans(source.scan, start, end, known)
            self._opened = Opened(members, spans)
        return self._opened

    def judge(self) -> None:
        """Raise `Malformed` where this nests deeper than 100 levels, as opening and parsing do."""
        address = self.address
        depth = len(address)
        if depth > 2 or (depth == 2 and isinstance(address[1], str)):
            return  # it was reached through one that was judged
        # SECURITY: what lies deeper is reached only through here, so no reader meets it unjudged.
        if not self._source.judged:
            room = MAX_DEPTH - depth
            if crowded(self._source.scan, self.offset, self._end, room):
                check_depth(self._source.scan, [(self.offset, self._end, room)])

    def _members(self) -> dict[str, ObjectSpan]:
        source, address = self._source, self.address
        try:
            if source.known is not None and not address:
                spans = source.known.members(source.scan, self.offset, self._end)
            else:
                spans = object_spans(source.scan, self.offset, self._end)
        except Unaccounted as error:
            key = key_at(source.body, error.offset)
            raise Malformed(TWIN, (*address, key), error.offset) from None
        if source.scan is not source.body:
            spans = [(key_at(source.body, k), k, s, e) for _, k, s, e in spans]
        return {span[0]: span for span in spans}

    def _cased(self, key: str) -> Malformed:
        reason = "a key differs only in case from another one"
        return Malformed(reason, (*self.address, key), self.opened().members[key][1])

    def text(self) -> str | None:
        """The decoded string, None for any other kind. Lone surrogates stay as they are."""
        source = self._source
        if source.body[self.offset] != _QUOTE:
            return None
        if source.scan is source.body:
            return _STRING.decode(memoryview(source.body)[self.offset : self._end])
        return str(json.loads(self.raw))

    def value(self) -> object:
        """The value parsed whole and strictly: dict, list, str, int, Decimal, bool or None.

        Raises `Malformed` for equal keys anywhere in it and for numbers that nothing can hold. It
        is parsed once in the life of the document.
        """
        if self._quick() is SLOWLY:
            self._value = self._parsed(parse_value)
        return self._value

    def _quick(self) -> object:
        """`value` if it is known or can be had quickly, else `SLOWLY`."""
        if self._value is SLOWLY:
            write = writer_of(raw := self.raw)
            value = parse_quickly(raw, write)
            # SECURITY: nothing that nests deeper than allowed is taken; `judge` says where it is.
            if not deeper([value], MAX_DEPTH - len(self.address)):
                self.parsed(value, write)
        return self._value

    def parsed(self, value: object, write: Writer) -> None:
        """Take the `value` that `parse_quickly` gives with `write`, for who has judged this."""
        if value is not SLOWLY:
            self._value, self._write = value, write

    @property
    def writer(self) -> Writer | None:
        """What gives these very bytes for `value`, and the bytes in them for each part of it; None
        if there is no such writer, or `value` was not asked for."""
        return self._write

    def strands(self, *, keyed: bool = False) -> tuple[Strand, ...]:
        """Every key and string from here down, parsed whole and strictly, in the order they stand.

        `keyed`: begin with this member's own key. Rows of small numbers are a string, too: they may
        be bytes. Raises `Malformed` for equal keys anywhere in it and for lone surrogates, which no
        two readers can be trusted to treat alike.
        """
        found: list[Strand] = []
        if keyed and self._key_start >= 0:
            found.append(Strand(self.address, str(self.address[-1]), is_key=True))
        if (value := self._quick()) is SLOWLY:
            value = self._parsed(parse_strings)
        if gather(value, self.address, found) and (rows := number_rows(self.raw)):
            found.append(Strand(self.address, rows))
        # Only a body with lone surrogates has a shadow to be scanned in its place.
        if self._source.scan is not self._source.body:
            for half in (strand for strand in found if lone_surrogate(strand.text)):
                raise Malformed("half of a surrogate pair", half.address, self._offset_of(half))
        return tuple(found)

    def texts(self, *, keyed: bool = False) -> Texts:
        """The strings of `strands`, sorted, and as strictly read."""
        source = self._source
        if source.scan is not source.body or (value := self._quick()) is SLOWLY:
            return sort_out(self.strands(keyed=keyed))
        step = self.address[-1]
        found = Texts([], [str(step)] if keyed and self._key_start >= 0 else [], [])
        # A row that is a part of a string is read there.
        if sort_value(value, step, found) and (rows := number_rows(self.raw)):
            sort_value(rows, step, found)
        return found

    def digest(self, salt: bytes = b"") -> bytes:
        """SHA-256 over `salt` and the raw bytes."""
        return hashlib.sha256(salt + self.raw).digest()

    def item_spans(self, known: Sequence[tuple[int, int]] = ()) -> Sequence[tuple[int, int]]:
        """`span` of each item of an array. `known` is as for `items`."""
        return self.opened(known).spans

    def item_digests(self, salt: bytes, start: int = 0) -> list[bytes]:
        """`digest` of each item of an array, from item `start` on."""
        body, sha256 = self._source.body, hashlib.sha256
        return [sha256(salt + body[s:e]).digest() for s, e in self.item_spans()[start:]]

    def _view(self) -> memoryview:
        return memoryview(self._source.body)[self.offset : self._end]

    def _parsed(self, parse: Callable[[str], object]) -> object:
        self.judge()
        try:
            return parse(str(self._view(), "utf-8"))
        except ValueError as fault:
            self._open_all()
            reason = str(fault) if isinstance(fault, Fault) else DISAGREE
            raise Malformed(reason, self.address, self.offset) from None

    def _open_all(self) -> None:
        """Raise the `Malformed` of the first object below that has equal keys."""
        for child in self.children():
            child._open_all()

    def _offset_of(self, strand: Strand) -> int:
        node = self
        for step in strand.address[len(self.address) :]:
            node = node.child(step) or node
        return node.whole_span[0] if strand.is_key else node.offset
