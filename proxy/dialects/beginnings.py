"""How far a list of messages is the one of last time: then its beginning is not split or hashed.

Owns the memory of lists, the comparison of their bytes, and nothing of what they say. A client
sends its whole history with every turn, and all but the end of it is the same, byte for byte.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field

from policies.conversation import Address, Message, Piece
from policies.past import NONE, Past
from proxy.dialects.facts import Facts, piece_of
from proxy.json_known import Source
from proxy.json_spans import array_spans
from proxy.lazyjson import Kind, Known, Node
from proxy.memory import Memory

LEAST: Final = 16 * 1024
"""Bytes of a list below which splitting and hashing it costs less than remembering it."""

_HEAD: Final = 512  # bytes by which the list of last time is found
_GROWN: Final = 8  # a body is kept anew when it has grown by one part in so many
_CHUNK: Final = 64 * 1024
_ITEM: Final = 1800  # bytes that one item takes beside its own, with what is known of it


Above = Mapping[str, tuple[bytes, Facts]]
_NOTHING: Final[Above] = MappingProxyType({})


class _Held(Struct, eq=False):
    """The body that pieces are read from: the newest one of those that have all of them."""

    body: bytes


class Beginning(Struct, frozen=True, eq=False):
    """A list as it was, but for its last item: how the body began, and for each item its facts and
    what a view has of it. Pieces are read from what is `held`, each with those that came with it;
    `before` are those that came earlier. `size`: bytes of that whole body. `above`: digest and
    facts of the members before the list."""

    known: Known
    size: int
    facts: tuple[Facts, ...] = ()
    messages: tuple[Message, ...] = ()
    before: tuple[Piece, ...] = ()
    past: Past = NONE
    held: tuple[_Held, ...] = ()
    above: Above = _NOTHING
    _pieces: list[tuple[Piece, ...]] = field(default_factory=list)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The piece of each item; those that are new here are made when they are asked for."""
        for made in self._pieces[:1]:
            return made
        new = slice(len(self.before), None)
        each = zip(self.known.spans[new], self.facts[new], self.messages[new], strict=True)
        new_ones = [_piece(self.held[-1], m, f, span) for span, f, m in each]
        self._pieces[:] = [(*self.before, *new_ones)]
        return self._pieces[0]


Beginnings = Memory[bytes, Beginning]


class Shared(Struct, frozen=True, eq=False):
    """The first items of a list that are known: where they lie in the body at hand. `messages`,
    `pieces`, `past` and `above`, where the whole body began alike, else `digests`."""

    spans: Sequence[tuple[int, int]] = ()
    facts: Sequence[Facts] = ()
    digests: Sequence[bytes] = ()
    messages: Sequence[Message] = ()
    pieces: Sequence[Piece] = ()
    past: Past = NONE
    above: Above = _NOTHING


def known(body: bytes, list_key: str, beginnings: Beginnings) -> Known | None:
    """How `body` begins, if one that began so up to its last item was read before. Where another
    one did, or only the list began alike, `shared` finds out."""
    if len(body) < LEAST:
        return None
    for colon in (":", ": "):
        name = f'"{list_key}"{colon}'.encode()
        # Wherever that stands: what counts is what is remembered, and that all bytes are the same.
        if (found := body.find(name + b"[")) >= 0:
            at = found + len(name)
            old = beginnings.get(body[at : at + _HEAD])
            same = old is not None and old.known.start == at and old.known.begins(body)
            return old.known if old is not None and same else None
    return None


def shared(node: Node, beginnings: Beginnings) -> Shared:
    """What the list `node` has in common with the one that began alike last time."""
    old = beginnings.get(_key(node)) if worth_it(node) else None
    if old is None:
        return Shared()
    if old.known is node.source.known:
        return Shared(old.known.spans, old.facts, (), old.messages, old.pieces, old.past, old.above)
    start, end = node.span
    moved = start - old.known.start
    same = _common(old.known, node.source.body, start, end)
    ends = [end for _, end in old.known.spans]
    count = bisect_right(ends, same)
    # SECURITY: only what ends itself is known by its bytes; the number 1 may go on as 12.
    while count and old.known.raw[ends[count - 1] - 1] not in b'}]"':
        count -= 1
    spans = [(s + moved, e + moved) for s, e in old.known.spans[:count]]
    digests = [message.digest for message in old.messages[:count]]
    return Shared(spans, old.facts[:count], digests)


def remember(
    node: Node,
    facts: Sequence[Facts],
    messages: Sequence[Message],
    beginnings: Beginnings,
    past: Past = NONE,
    above: Above = _NOTHING,
) -> None:
    """Keep the list `node` with the facts of all its items, which are `messages`, but for the last,
    for next time; with them the `past` that is among these, and what stands `above` the list."""
    here = node.item_spans() if worth_it(node) else []
    if len(here) < 2:
        return
    body, key = node.source.body, _key(node)
    spans, old = tuple(here[:-1]), beginnings.get(key)
    goes_on = old is not None and old.known is node.source.known
    before, held = (old.pieces, old.held) if old is not None and goes_on else ((), ())
    for each in held:
        # Nobody keeps the old body, and where its pieces lie the new one is the same.
        each.body = body
    new = Beginning(
        Known.of(body, here[-1][0], node.offset, spans),
        len(body),
        tuple(facts[:-1]),
        tuple(messages[:-1]),
        before,
        past,
        (*held, _Held(body)),
        above,
    )
    # The facts are in their own memory as well; here they are held on to, so they count.
    beginnings.renew(key, new, 3 * len(body) + _ITEM * len(here))


def passed(node: Node | None, beginnings: Beginnings) -> None:
    """Keep how the body began, up to the last item of its list `node`, where nobody looks into it:
    nothing is known of its items then but that they can be read."""
    if node is None or not worth_it(node):
        return
    source, old = node.source, beginnings.get(_key(node))
    serves = old is not None and old.known is source.known
    if old is not None and serves and _GROWN * (len(source.body) - old.size) < old.size:
        return
    spans = array_spans(source.scan, *node.span) if node.kind is Kind.ARRAY else []
    if len(spans) > 1:
        known = Known.of(source.body, spans[-1][0], node.offset, ())
        begun = Beginning(known, len(source.body))
        beginnings.renew(_key(node), begun, len(source.body) + _ITEM)


def _piece(held: _Held, message: Message, facts: Facts, span: tuple[int, int]) -> Piece:
    node, (start, end) = partial(_node, held, message.address, *span), span
    strands, texts = (lambda: node().strands()), (lambda: node().texts())
    return piece_of(facts, message.address, message.digest, end - start, strands, texts)


def _node(held: _Held, address: Address, start: int, end: int) -> Node:
    return Node(Source(held.body, held.body), address, start, end)


def worth_it(node: Node) -> bool:
    """Whether the list `node` is one to remember."""
    start, end = node.span
    # A body with a shadow is rare, and its items are not where its bytes say alone.
    return end - start >= LEAST and node.source.scan is node.source.body


def _key(node: Node) -> bytes:
    return node.source.body[node.offset : node.offset + _HEAD]


def _common(old: Known, body: bytes, start: int, end: int) -> int:
    """Where in `old` its list ends to be the one in `body[start:end]`."""
    raw, moved = old.raw, start - old.start
    most = min(len(raw), end - moved)
    at, step = old.start, _CHUNK
    while at < most and step:
        stop = min(at + step, most)
        # Two views would be compared byte by byte.
        if body.startswith(raw[at:stop], at + moved):
            at = stop
        else:
            step //= 2
    return at
