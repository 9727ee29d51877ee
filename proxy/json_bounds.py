"""How deep and how wide a JSON body may be, checked before anything of it is built.

Owns the two bounds and a scanner that sees only what stands outside strings. It must not know what
the values mean. Costs next to nothing on bodies with few brackets, and is linear on all others.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from proxy.json_faults import MAX_DEPTH, Malformed, address_at, twin
from proxy.json_spans import Unaccounted, array_spans, object_spans

MAX_VALUES: Final = 1_000_000
"""Values of one body. Each one that is opened costs some 200 bytes beside its own."""

_CHUNK: Final = 256 * 1024
_PROBE: Final = 8 * 1024
_LEVELS: Final = 8  # levels that are opened one after the other before scanning is cheaper
_BRACKETS: Final = bytes.maketrans(b"[{]}", b"(())")
_NO_OPENING: Final = bytes(set(range(256)) - set(b"[{"))
_TEXT: Final = bytes(set(range(256)) - set(b"[]{},"))
_TOKEN: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_REST: Final = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)


def check_width(body: bytes) -> None:
    """Raise `Malformed` for a body of more than `MAX_VALUES` values."""
    if len(body) < 2 * MAX_VALUES or body.count(b",") < MAX_VALUES:
        return
    values = 1
    for start, _, outside in _chunks(body, 0, len(body)):
        values += outside.count(b",")
        if values > MAX_VALUES:
            raise Malformed(f"more than {MAX_VALUES} values", (), start)


Span = tuple[int, int, int]
"""First byte, end, and how many levels may begin there."""


def check_depth(body: bytes, spans: Iterable[Span]) -> None:
    """Raise `Malformed` where one of the well-formed values at `spans` nests too deep.

    A span cannot be deeper than it has opening brackets, in strings or not. So only spans with more
    of them than there is room for are opened, and judged child by child.
    """
    todo = list(spans)
    budget = _LEVELS * len(body)
    while todo:
        start, end, room = todo.pop()
        if body[start] not in b"[{" or not crowded(body, start, end, room):
            continue
        if room == 0:
            raise too_deep(body, start)
        budget -= end - start
        if budget < 0:
            scan_depth(body, start, end, room)
        else:
            todo += [(s, e, room - 1) for s, e in _children(body, start, end)]


def crowded(body: bytes, start: int, end: int, room: int) -> bool:
    """Whether more than `room` opening brackets stand in a span, in strings or not."""
    if end - start < 2 * room:
        return False
    if end - start <= _PROBE:
        return body.count(b"[", start, end) + body.count(b"{", start, end) > room
    opening, step = 0, _PROBE
    while start < end and opening <= room:
        stop = min(end, start + step)
        opening += len(body[start:stop].translate(None, _NO_OPENING))
        start, step = stop, 8 * step
    return opening > room


def _children(body: bytes, start: int, end: int) -> list[tuple[int, int]]:
    if body[start] == ord("["):
        return array_spans(body, start, end)
    try:
        return [(s, e) for _, _, s, e in object_spans(body, start, end)]
    except Unaccounted as error:
        raise twin(body, error.offset) from None


def scan_depth(body: bytes, start: int, end: int, room: int = MAX_DEPTH) -> None:
    """Raise `Malformed` where `start:end`, well-formed or not, nests deeper than `room`."""
    depth = 0
    for at, in_string, outside in _chunks(body, start, end):
        brackets = outside.translate(None, b",")
        before, depth = depth, depth + 2 * brackets.count(b"(") - len(brackets)
        if _deepest(b"(" * before + brackets + b")" * depth, room) > room:
            raise too_deep(body, _place_of_depth(body, at, in_string, room - before))
        if depth < 0:
            return


def _deepest(brackets: bytes, room: int) -> int:
    """How deep balanced brackets nest: each round takes the innermost pairs out."""
    rounds = 0
    while brackets and rounds <= room:
        inner = brackets.replace(b"()", b"")
        if len(inner) == len(brackets):
            return rounds
        brackets = inner
        rounds += 1
    return rounds


def _place_of_depth(body: bytes, at: int, in_string: bool, room: int) -> int:
    if in_string and (rest := _REST.match(body, at)):
        at = rest.end()
    for match in _TOKEN.finditer(body, at):  # pragma: no branch: there is such a place
        if match[0] in (b"[", b"{"):
            room -= 1
        elif match[0] in (b"]", b"}"):
            room += 1
        if room < 0:
            at = match.start()
            break
    return at


def _chunks(body: bytes, start: int, end: int) -> Iterator[tuple[int, bool, bytes]]:
    """For each chunk: its start, whether that lies in a string, and the brackets and commas that
    stand outside strings, brackets as ( and )."""
    in_string = False
    while start < end:
        chunk = body[start : min(start + _CHUNK, end)]
        if (len(chunk) - len(chunk.rstrip(b"\\"))) % 2:
            # A chunk begins outside an escape, so it may not end inside one.
            chunk = body[start : min(start + _CHUNK + 1, end)]
        # Pairs of backslashes go first, so that a quote with a backslash left before it is escaped.
        bare = chunk.replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = bare.split(b'"')
        outside = b"".join(parts[in_string::2]).translate(_BRACKETS, _TEXT)
        yield start, in_string, outside
        in_string ^= len(parts) % 2 == 0
        start += len(chunk)


def too_deep(body: bytes, offset: int) -> Malformed:
    """The error for a container at `offset` that stands too deep."""
    return Malformed(f"nested deeper than {MAX_DEPTH} levels", address_at(body, offset), offset)
