"""Changes to a body: which spans of it are exchanged, and nothing else.

Owns the four edits, `splice`, and below both `exchange`. All bytes outside the edited spans, white
space included, stay. It must not know why something is edited.
"""

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, assert_never

import msgspec
from msgspec import Struct

from policies.conversation import Address
from proxy.json_faults import parser

if TYPE_CHECKING:
    from proxy.lazyjson import Document, Node


class _Plain(Struct, frozen=True):
    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"  # what is written is in no repr


class Replace(_Plain, frozen=True):
    """Put `raw` in the place of the value at `address`; a member keeps its key."""

    address: Address
    raw: bytes


class Insert(_Plain, frozen=True):
    """Put `raw` before the item that has `index` now; an index equal to the length appends.

    Several at one index keep the order in which they are given.
    """

    address: Address
    index: int
    raw: bytes


class Member(_Plain, frozen=True):
    """Append `key` with the value `raw` to the object at `address`."""

    address: Address
    key: str
    raw: bytes


class Remove(_Plain, frozen=True):
    """Take out the array item or object member at `address`, and one comma."""

    address: Address


Edit = Replace | Insert | Member | Remove
Cut = tuple[int, int, bytes]
"""First byte, end, and what stands there afterwards. An empty span inserts."""


class Spliced(_Plain, frozen=True, eq=False):
    """How a body was spliced up to byte `stop`: by `cuts`, in order, which came to the first
    `length` bytes of `result`. The same cuts of the same bytes up to there come to the same."""

    cuts: tuple[Cut, ...]
    stop: int
    result: bytes
    length: int

    @classmethod
    def of(cls, cuts: Sequence[Cut], stop: int, result: bytes) -> "Spliced | None":
        """What is known of a body that became `result` by `cuts`, in order; None where one of them
        goes beyond `stop`."""
        count = bisect_left(cuts, stop, key=_first)
        before = tuple(cuts[:count])
        if before and before[-1][1] > stop:
            return None
        grown = sum([start - end + len(new) for start, end, new in before])
        return cls(before, stop, result, stop + grown)


_SHORT = 4096
_span = itemgetter(0, 1)
_first = itemgetter(0)
_strict = parser(bool)
_well_formed = msgspec.json.Decoder(msgspec.Raw).decode


@dataclass(slots=True)
class _Plan:
    """What happens to the children of one container."""

    gone: set[int] = field(default_factory=set)
    new: dict[int, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    keys: set[str] = field(default_factory=set)


def splice(document: "Document", edits: Iterable[Edit], cuts: Sequence[Cut] = ()) -> bytes:
    """The body after `edits`, which all speak of it as it is; the identical object without any.

    `cuts` are edits that somebody has worked out: each exchanges the exact span of a value for
    bytes known to be one JSON value, and no edit touches the same value.

    Raises `ValueError` for an address that leads nowhere, two edits of one value, an edit inside a
    value that goes, a `raw` that is not one JSON value and a member whose key is there already.
    """
    found = in_order(document, edits, cuts)
    return exchange(document.body, found) if found else document.body


def in_order(document: "Document", edits: Iterable[Edit], cuts: Sequence[Cut] = ()) -> list[Cut]:
    """The cuts that carry out what `splice` is given, as they stand in the body."""
    todo = tuple(edits)
    taken: set[Address] = set()
    found = list(cuts)
    plans: dict[Address, _Plan] = defaultdict(_Plan)
    for edit in todo:
        match edit:
            case Replace(address, raw):
                _take(taken, address)
                found.append((*_find(document, address).span, _value(raw)))
            case Remove(address):
                _take(taken, address)
                plans[address[:-1]].gone.add(_position(document, address))
            case Insert(address, index, raw):
                _insert(plans[address], _find(document, address), index, raw)
            case Member(address, key, raw):
                _member(plans[address], _find(document, address), key, raw)
            case unreachable:
                assert_never(unreachable)
    for edit in todo:
        _refuse_inside(taken, edit)
    for address, plan in plans.items():
        found += _cuts(_find(document, address), plan)
    return sorted(found, key=_span)


def exchange(raw: bytes, cuts: Iterable[Cut], known: Spliced | None = None) -> bytes:
    """`raw` with the bytes of each cut in the place of its span. One join, whatever they are.
    `known`: what an earlier body with the same bytes became, as far as the cuts are the same."""
    todo = sorted(cuts, key=_span)
    parts: list[bytes | memoryview] = []
    at = 0
    # SECURITY: a cut that is another one now, or one more, makes other bytes of the same ones.
    if known is not None and _goes_on(todo, known):
        parts, at = [memoryview(known.result)[: known.length]], known.stop
        todo = todo[len(known.cuts) :]
    for start, end, new in todo:
        assert start >= at, "cuts of one body overlap"
        parts += (raw[at:start], new)
        at = end
    parts.append(raw[at:])
    return b"".join(parts)


def _goes_on(cuts: Sequence[Cut], known: Spliced) -> bool:
    """Whether the `cuts` are the known ones up to where those stop."""
    count = len(known.cuts)
    same = tuple(cuts[:count]) == known.cuts
    return same and (len(cuts) == count or cuts[count][0] >= known.stop)


def _find(document: "Document", address: Address) -> "Node":
    node = document.root
    for step in address:
        child = node.child(step)
        if child is None:
            raise ValueError("an edit's address leads nowhere")
        node = child
    return node


def _position(document: "Document", address: Address) -> int:
    if not address:
        raise ValueError("the top level cannot be removed")
    target = _find(document, address)
    return _find(document, address[:-1]).children().index(target)


def _value(raw: bytes) -> bytes:
    # What is put in is mostly the same few texts of ours; long ones are not kept.
    return _remembered(raw) if len(raw) <= _SHORT else _judged(raw)


def _judged(raw: bytes) -> bytes:
    try:
        text = raw.decode()
        try:
            _well_formed(raw)
            plain = raw[:1] not in b"{[ \t\r\n"
        except msgspec.DecodeError:
            plain = False
        # Only containers can hold equal keys, and only lone surrogates stop the fast reader alone.
        if not plain:
            _strict(text)
    except ValueError:
        raise ValueError("an edit's raw bytes are not one JSON value") from None
    return raw


_remembered = lru_cache(maxsize=256)(_judged)


def _take(taken: set[Address], address: Address) -> None:
    if address in taken:
        raise ValueError("two edits of one value")
    taken.add(address)


def _refuse_inside(taken: set[Address], edit: Edit) -> None:
    address = edit.address
    whole = isinstance(edit, Insert | Member)
    for depth in range(len(address) + whole):
        if address[:depth] in taken:
            raise ValueError("an edit inside a value that another edit replaces or removes")


def _insert(plan: _Plan, node: "Node", index: int, raw: bytes) -> None:
    if node.kind != "array" or not 0 <= index <= len(node.children()):
        raise ValueError("no such place in an array")
    plan.new[index].append(_value(raw))


def _member(plan: _Plan, node: "Node", key: str, raw: bytes) -> None:
    if node.kind != "object":
        raise ValueError("a member can be added only to an object")
    if key in plan.keys:
        raise ValueError("a member whose key is there already")
    plan.keys.add(key)
    name = json.dumps(key).encode()
    plan.new[len(node.children())].append(name + b":" + _value(raw))


def _cuts(node: "Node", plan: _Plan) -> list[Cut]:
    """Cuts that carry out one plan; commas are right whatever goes and comes."""
    children = node.children()
    if any(
        children[i].address[-1] in plan.keys for i in range(len(children)) if i not in plan.gone
    ):
        raise ValueError("a member whose key is there already")
    spans = [child.whole_span for child in children]
    kept = [i for i in range(len(spans)) if i not in plan.gone]
    if not kept:
        start = spans[0][0] if spans else node.offset + 1
        end = spans[-1][1] if spans else start
        return [(start, end, b",".join(raw for i in sorted(plan.new) for raw in plan.new[i]))]
    cuts = [] if kept[0] == 0 else [(spans[0][0], spans[kept[0]][0], b"")]
    cuts += [(spans[a][1], spans[b - 1][1], b"") for a, b in pairwise(kept) if b > a + 1]
    if kept[-1] < len(spans) - 1:
        cuts.append((spans[kept[-1]][1], spans[-1][1], b""))
    for index in sorted(plan.new):
        after = next((k for k in kept if k >= index), None)
        for raw in plan.new[index]:
            if after is None:
                cuts.append((spans[kept[-1]][1],) * 2 + (b"," + raw,))
            else:
                cuts.append((spans[after][0],) * 2 + (raw + b",",))
    return cuts
