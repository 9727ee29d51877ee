"""Streamed answers as events: incremental codecs for server-sent events and for JSON lines. Pure.

Owns where an event begins and ends, whatever way the bytes were cut, and keeps the exact bytes of
each, so that events that nobody touched can be joined to the very stream that came. It must not
know a dialect's events or what is done with them. Source for the grammar of server-sent events:
HTML Living Standard, 9.2.6.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

Kind = Literal["sse", "ndjson", ""]
"""How a body is cut into events; empty: it is one whole answer."""

EVENT_LIMIT: Final = 64 * 1024 * 1024
"""Longest event that a decoder holds before it gives up, in bytes."""

_KINDS: Final[dict[str, Kind]] = {
    "text/event-stream": "sse",
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/x-jsonlines": "ndjson",
}
_EOL: Final = re.compile(rb"\r\n|\n|\r")
# The end of a line, then an empty line. CR before LF is no end of its own: CRLF is one, not two.
_BLANK: Final = re.compile(rb"(?:\r\n|\n|\r(?!\n))(?:\r\n|\n|\r(?!\n))")
_BLANK_LENGTH: Final = 4
_BOM: Final = b"\xef\xbb\xbf"


class TooLong(ValueError):
    """An event does not end within the limit, as a rule `EVENT_LIMIT` bytes."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `raw` is every byte of it, its end included. `data` is what it carries, decoded,
    or None where it carries nothing (comments, blank lines). `name` is the SSE event type."""

    raw: bytes = field(repr=False)
    data: str | None = field(repr=False)
    name: str = ""


class Decoder(Protocol):
    """Bytes in, events out. The `raw` of all events, `end()` included, joined is the input."""

    def feed(self, chunk: bytes) -> list[Event]:
        """Events that `chunk` completes. Raises `TooLong`."""
        ...

    def end(self) -> list[Event]:
        """What is left at the end: an event that was never finished, read as if it were."""
        ...


def kind_of(content_type: str) -> Kind:
    """Whether an answer with this Content-Type is a stream of events, and in which grammar."""
    return _KINDS.get(content_type.partition(";")[0].strip().lower(), "")


def decoder(kind: Kind) -> Decoder:
    """A fresh decoder. For a whole answer the one event is the body, given at its end."""
    return _DECODERS[kind]()


class _Buffer:
    """Bytes not yet given out. Looks at each byte once, however small the pieces are."""

    def __init__(self, limit: int | None = None) -> None:
        self._bytes = bytearray()
        self._seen = 0
        self._limit = EVENT_LIMIT if limit is None else limit

    def cut(self, chunk: bytes, mark: re.Pattern[bytes], overlap: int) -> list[bytes]:
        """Everything up to and with each `mark`. `overlap`: how many bytes before the end a mark
        that is not whole yet may begin. A mark that ends in the very last byte, a CR, may grow by
        an LF and waits for the next byte."""
        self._bytes += chunk
        pieces, start, at = [], 0, self._seen
        while found := mark.search(self._bytes, at):
            at = found.end()
            if at == len(self._bytes) and self._bytes.endswith(b"\r"):
                break
            pieces.append(bytes(self._bytes[start:at]))
            start = at
        del self._bytes[:start]
        if len(self._bytes) > self._limit:
            raise TooLong(f"an event is longer than {self._limit} bytes")
        self._seen = max(0, len(self._bytes) - overlap)
        return pieces

    def rest(self) -> bytes:
        left = bytes(self._bytes)
        self._bytes.clear()
        return left


class SseDecoder:
    """Server-sent events: any of CR, LF, CRLF; comments; fields with or without a space."""

    def __init__(self) -> None:
        self._buffer = _Buffer()
        self._first = True

    def feed(self, chunk: bytes) -> list[Event]:
        """See `Decoder`."""
        # The CR before the mark's own end may be half of a CRLF, hence one byte less than a mark.
        pieces = self._buffer.cut(chunk, _BLANK, _BLANK_LENGTH - 1)
        return [self._read(piece) for piece in pieces]

    def end(self) -> list[Event]:
        """See `Decoder`. Clients read an event that breaks off as if it were whole; so do we."""
        rest = self._buffer.rest()
        found = _BLANK.search(rest)
        at = found.end() if found else len(rest)
        return [self._read(piece) for piece in (rest[:at], rest[at:]) if piece]

    def _read(self, raw: bytes) -> Event:
        block = raw.removeprefix(_BOM) if self._first else raw
        self._first = False
        data, name = [], ""
        for line in _EOL.split(block):
            label, _, value = line.partition(b":")
            text = value.removeprefix(b" ").decode("utf-8", "replace")
            if label == b"data":
                data.append(text)
            elif label == b"event":
                name = text
        return Event(raw, "\n".join(data) if data else None, name)


class LineDecoder:
    """JSON lines: one object per line, ended by LF. Blank lines carry nothing. `limit`: longest
    line that is held, in bytes."""

    _END: Final = re.compile(rb"\n")

    def __init__(self, limit: int | None = None) -> None:
        self._buffer = _Buffer(limit)

    def feed(self, chunk: bytes) -> list[Event]:
        """See `Decoder`."""
        return [_line(piece) for piece in self._buffer.cut(chunk, self._END, 0)]

    def end(self) -> list[Event]:
        """See `Decoder`. The last line may lack its LF."""
        rest = self._buffer.rest()
        return [_line(rest)] if rest else []


class WholeDecoder:
    """An answer that is no stream: one event, at the end."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Event]:
        """See `Decoder`."""
        self._size += len(chunk)
        if self._size > EVENT_LIMIT:
            raise TooLong(f"an answer is longer than {EVENT_LIMIT} bytes")
        self._parts.append(chunk)
        return []

    def end(self) -> list[Event]:
        """See `Decoder`."""
        raw = b"".join(self._parts)
        self._parts.clear()
        return [Event(raw, raw.decode("utf-8", "replace"))] if raw else []


_DECODERS: Final[dict[Kind, Callable[[], Decoder]]] = {
    "sse": SseDecoder,
    "ndjson": LineDecoder,
    "": WholeDecoder,
}


def _line(raw: bytes) -> Event:
    text = raw.strip().decode("utf-8", "replace")
    return Event(raw, text or None)


def sse(data: str, name: str = "") -> bytes:
    """One server-sent event. `ValueError` if `data` or `name` cannot be written as one."""
    if "\r" in data or not set("\r\n").isdisjoint(name):
        raise ValueError("a server-sent event cannot carry this line end")
    lines = [f"event: {name}"] if name else []
    lines += [f"data: {line}" for line in data.split("\n")]
    return "\n".join([*lines, "", ""]).encode("utf-8")


def ndjson(data: str) -> bytes:
    """One JSON line. `ValueError` if `data` is blank or holds a line end."""
    if not data.strip() or "\n" in data:
        raise ValueError("a JSON line is one line that is not blank")
    return data.encode("utf-8") + b"\n"


class Edge:
    """Whether what was sent so far ends between two events, told from its last bytes alone."""

    def __init__(self, kind: Kind) -> None:
        self._clean: Callable[[bytes], bool] = _ENDS[kind]
        self._tail = b""

    def feed(self, chunk: bytes) -> None:
        """`chunk` went out."""
        end = chunk[-_BLANK_LENGTH:]
        self._tail = end if len(end) == _BLANK_LENGTH else (self._tail + end)[-_BLANK_LENGTH:]

    @property
    def clean(self) -> bool:
        """True where an event of ours may follow without touching another one. Never true within
        a whole answer once its first byte is out."""
        return not self._tail or self._clean(self._tail)


def _ends_blank(tail: bytes) -> bool:
    return any(found.end() == len(tail) for found in _BLANK.finditer(tail))


_ENDS: Final[dict[Kind, Callable[[bytes], bool]]] = {
    "sse": _ends_blank,
    "ndjson": lambda tail: tail.endswith(b"\n"),
    "": lambda tail: False,
}
