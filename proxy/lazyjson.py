"""JSON that is opened only where needed: values that nobody touches keep their bytes.

The public face of the house's JSON: `read` a body, look at its nodes, `splice` edits into its
bytes, `dump` what we write ourselves. Owns the order in which a body is checked (DESIGN 3.1). It
must not know a dialect or a policy.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

import msgspec

from proxy.edits import Edit, Insert, Member, Remove, Replace, splice
from proxy.json_bounds import check_depth, check_width, crowded, scan_depth
from proxy.json_faults import MAX_DEPTH, Malformed, address_at, lone_surrogate, syntax_fault
from proxy.json_known import Known, Source
from proxy.json_node import Node
from proxy.json_opened import Kind
from proxy.json_whole import deeper, parse_quickly, writer_of

__all__ = [
    "Document",
    "Edit",
    "Insert",
    "Kind",
    "Known",
    "Malformed",
    "Member",
    "Node",
    "Remove",
    "Replace",
    "dump",
    "parsed",
    "read",
    "splice",
]

_WHITE: Final = b" \t\n\r"
_WHOLE: Final = msgspec.json.Decoder(msgspec.Raw)
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")
# Escaped backslashes are matched so that none of them is taken for the beginning of an escape.
_ESCAPE: Final = re.compile(
    rb"(?:\\\\)+|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


class Document(msgspec.Struct, frozen=True, eq=False):
    """A body and the node of its top level."""

    body: bytes
    root: Node

    def __repr__(self) -> str:
        return f"<Document of {len(self.body)} bytes>"  # what is in it is in no repr

    def judge(self) -> None:
        """Raise `Malformed` where anything nests deeper than 100 levels. Once is enough."""
        source = self.root.source
        if source.judged:
            return
        source.judged = True
        try:
            check_depth(source.scan, _to_judge(self.root))
        except Malformed:
            source.judged = False
            raise


def read(body: bytes, *, judge: bool = True, known: Known | None = None) -> Document:
    """Read a JSON object without opening more than its top level.

    Without `judge` the depth below the top is looked at only when something there is opened: for
    who needs one scalar of the top and sends the body on as it came. `known`: how `body` begins, if
    that was read before.

    Raises `Malformed` for a byte order mark, bytes that are not UTF-8, anything but one JSON
    object, equal keys at the top, nesting deeper than 100 levels and more than 1,000,000 values.
    """
    if body.startswith(b"\xef\xbb\xbf"):
        raise Malformed("it begins with a byte order mark", (), 0)
    rest = body if known is None else body[len(known.raw) :]
    try:
        # A look at each byte is cheaper than a string that is as long as the body.
        _ = rest.isascii() or rest.decode()
    except UnicodeDecodeError as error:
        at = len(body) - len(rest) + error.start
        raise Malformed("bytes that are not UTF-8", address_at(body, at), at) from None
    check_width(body)
    start = len(body) - len(body.lstrip(_WHITE))
    end = len(body.rstrip(_WHITE))
    if start >= end:
        raise Malformed("it is empty", (), 0)
    if body[start] != ord("{"):
        raise Malformed("it is not one JSON object", (), start)
    document = Document(body, _root(body, start, end, known))
    if judge:
        document.judge()
    return document


def parsed(body: bytes) -> object:
    """What `read(body).root.value()` gives, with the same faults; of a body that is written in one
    of the usual ways in half the time."""
    check_width(body)
    value = parse_quickly(body, writer_of(body))
    if isinstance(value, dict) and not deeper([value], MAX_DEPTH):
        return value
    return read(body).root.value()


def _root(body: bytes, start: int, end: int, known: Known | None) -> Node:
    """The top level, opened. Lone surrogates make the fast reader stumble, as bad syntax does."""
    try:
        root = Node(Source(body, body, known=known), (), start, end)
        root.opened()
    except (msgspec.DecodeError, RecursionError):
        # Before any reader that recurses sees it again.
        scan_depth(body, 0, len(body))
        root = Node(Source(body, _blanked(body)), (), start, end)
        root.opened()
    return root


def _blanked(body: bytes) -> bytes:
    if not _HALF.search(body):
        raise syntax_fault(body)
    scan = _ESCAPE.sub(lambda m: b"\\u0020" if m["lone"] else m[0], body)
    try:
        _WHOLE.decode(scan)
    except (msgspec.DecodeError, RecursionError):
        raise syntax_fault(body) from None
    return scan


def _to_judge(root: Node) -> Iterator[tuple[int, int, int]]:
    """The spans that may be too deep, with the levels left to them; long lists item by item."""
    room = MAX_DEPTH - 1
    for member in root.children():
        start, end = member.span
        if member.kind is Kind.ARRAY and crowded(root.source.scan, start, end, room):
            yield from ((*item.span, room - 1) for item in member.children())
        else:
            yield start, end, room


_written = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def dump(value: object) -> bytes:
    """Compact JSON in UTF-8 for what we write ourselves; lone surrogates become escapes."""
    text = _written(value)
    if lone_surrogate(text):
        text = re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)
    return text.encode()
