"""Where the children of a JSON container lie in its bytes.

Owns the walk that accounts for every byte of an opened container. It must not know nodes, addresses
or dialects. All functions take bytes that are UTF-8; positions count from the start of those bytes.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from proxy.json_faults import decoded_key

ObjectSpan = tuple[str, int, int, int]
"""Key as the fast reader decodes it, first byte of its literal, first byte and end of its value."""

ObjectSpans = list[ObjectSpan]

OBJECT: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
ARRAY: Final = msgspec.json.Decoder(list[msgspec.Raw])
_KEY: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_COLON: Final = re.compile(rb"[ \t\n\r]*:[ \t\n\r]*")
_WHITE: Final = b" \t\n\r"
_COMMA: Final = re.compile(rb"[ \t\n\r]*,?[ \t\n\r]*")


class Unaccounted(ValueError):
    """The bytes of an object are not its keys, colons, values, commas and white space, once each.

    `offset` is where a key stands that has an equal.
    """

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


def object_spans(scan: bytes, start: int, end: int) -> ObjectSpans:
    """Members of the object at `start:end` in order. Raises `Unaccounted` for equal keys.

    The fast reader keeps the last of two equal keys and says nothing. So the lengths are added up:
    a member too many, an escape in a key or white space makes the object longer than the sum of
    what was read, never shorter. Where they are not equal, every byte is accounted for in turn.
    """
    members = OBJECT.decode(memoryview(scan)[start:end])
    spans: ObjectSpans = []
    at = start + 1
    ascii_keys = "".join(members).isascii()
    for key, value in members.items():
        begin = at + (len(key) if ascii_keys else len(key.encode())) + 3
        stop = begin + len(value)
        spans.append((key, at, begin, stop))
        at = stop + 1
    # SECURITY: only this equality proves that no key stands there twice.
    return spans if at == (end if spans else end - 1) else _walk(scan, start, end, members)


def _walk(scan: bytes, start: int, end: int, members: dict[str, msgspec.Raw]) -> ObjectSpans:
    """Each member must stand where the one before it ends, and the last must end the object."""
    spans: ObjectSpans = []
    last = end - 1
    at = _after(_COMMA, scan, start + 1)
    for key, value in members.items():
        begin = _after_colon(scan, _key_end(scan, at, key))
        raw = bytes(value)
        # SECURITY: the bytes are compared and not only counted, so that a key that comes again
        # with another value cannot pass.
        if not scan.startswith(raw, begin):
            raise Unaccounted(at)
        stop = begin + len(raw)
        spans.append((key, at, begin, stop))
        following = _after_comma(scan, stop)
        if following == stop != last:
            raise Unaccounted(at)
        at = following
    if at != last:
        raise Unaccounted(at)
    return spans


def array_spans(
    scan: bytes, start: int, end: int, known: Sequence[tuple[int, int]] = ()
) -> list[tuple[int, int]]:
    """First byte and end of each item of the array at `start:end`. `known`: those of the first
    items, for who has seen the same bytes before."""
    if known:
        at = _after_comma(scan, known[-1][1])
        rest = array_spans(b"[" + scan[at:end], 0, end - at + 1)
        return [*known, *((s + at - 1, e + at - 1) for s, e in rest)]
    items = ARRAY.decode(memoryview(scan)[start:end])
    spans: list[tuple[int, int]] = []
    at = start + 1
    for value in items:
        stop = at + len(value)
        spans.append((at, stop))
        at = stop + 1
    if at == (end if spans else end - 1):
        return spans
    spans = []
    at = _after(_COMMA, scan, start + 1)
    for value in items:
        stop = at + len(value)
        spans.append((at, stop))
        usual = scan.startswith(b", ", stop) and scan[stop + 2] not in _WHITE
        at = stop + 2 if usual else _after(_COMMA, scan, stop)
    return spans


def _key_end(scan: bytes, at: int, key: str) -> int:
    # The usual key, without escapes, needs no reader: nothing else begins with these bytes.
    plain = b'"%b"' % key.encode()
    if scan.startswith(plain, at):
        return at + len(plain)
    literal = _KEY.match(scan, at)
    if literal is None or decoded_key(literal[0]) != key:
        raise Unaccounted(at)
    return literal.end()


def _after_colon(scan: bytes, at: int) -> int:
    """Past a colon and the white space round it."""
    if scan.startswith(b": ", at) and scan[at + 2] not in _WHITE:
        return at + 2
    return _after(_COLON, scan, at)


def _after_comma(scan: bytes, at: int) -> int:
    """Past a comma, if there is one, and the white space round it."""
    if scan.startswith(b", ", at) and scan[at + 2] not in _WHITE:
        return at + 2
    return _after(_COMMA, scan, at)


def _after(pattern: re.Pattern[bytes], scan: bytes, at: int) -> int:
    match = pattern.match(scan, at)
    return match.end() if match else at
