"""Scripted answers: what to write, when, and what goes wrong on the way.

Owns the vocabulary of answers and faults and how they are put on a socket. It must not know a
dialect or what was asked.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from http import HTTPStatus

Headers = Sequence[tuple[str, str]]


class Fault(Enum):
    """What goes wrong: `RESET` drops the connection with a TCP reset, `STALL` goes silent until
    the client leaves, `CLOSE` ends the connection cleanly in the middle of whatever was being
    sent."""

    RESET = "reset"
    STALL = "stall"
    CLOSE = "close"


class Framing(Enum):
    """How the end of an answer is told: a length (the bytes in `chunks` are added up first),
    chunked, the end of the connection, or not at all: with `RAW` the chunks are all that is
    written, status line included."""

    LENGTH = "length"
    CHUNKED = "chunked"
    CLOSE = "close"
    RAW = "raw"


Step = bytes | float | asyncio.Event | Fault
"""One step of an answer: bytes to write, seconds to wait, an event to wait for, or a fault."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `chunks` are written one by one, each flushed; with `Framing.CHUNKED`, `CLOSE`
    and `RAW` they may be endless. Content length, transfer coding and the end of the connection
    come from `framing`, all other headers from `headers`."""

    status: int = 200
    headers: Headers = ()
    chunks: Iterable[Step] = ()
    framing: Framing = Framing.LENGTH

    @classmethod
    def of(cls, value: object, status: int = 200, headers: Headers = ()) -> "Reply":
        """A whole JSON answer."""
        return cls(status, (("content-type", "application/json"), *headers), (compact(value),))

    @classmethod
    def stream(
        cls, chunks: Iterable[Step], content_type: str = "text/event-stream", headers: Headers = ()
    ) -> "Reply":
        """A streamed answer, chunked, by default of server-sent events."""
        return cls(200, (("content-type", content_type), *headers), chunks, Framing.CHUNKED)

    def slow(self, seconds: float) -> "Reply":
        """The same answer with a wait of so many seconds before each chunk."""
        return replace(self, chunks=tuple(s for c in self.chunks for s in (seconds, c)))

    def cut(self, after: int, fault: Fault = Fault.CLOSE) -> "Reply":
        """The same answer, promised whole (a length is that of all the bytes), that breaks off
        with `fault` after so many bytes of its body."""
        chunks = tuple(self.chunks)
        headers, framing = tuple(self.headers), self.framing
        if framing is Framing.LENGTH:
            headers += (("content-length", str(_length(chunks))),)
        return replace(self, headers=headers, chunks=(*_first(chunks, after), fault))


def compact(value: object) -> bytes:
    """JSON without white space, not limited to ASCII."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _length(chunks: Iterable[Step]) -> int:
    return sum(len(step) for step in chunks if isinstance(step, bytes))


def _first(chunks: Iterable[Step], count: int) -> Iterator[Step]:
    for step in chunks:
        if isinstance(step, bytes):
            step = step[:count]
            count -= len(step)
        if step != b"":
            yield step
        if not count:
            return


def _head(reply: Reply, chunks: Iterable[Step]) -> bytes:
    headers = list(reply.headers)
    names = {name.lower() for name, _ in headers}
    match reply.framing:
        case Framing.LENGTH if "content-length" not in names:
            headers.append(("content-length", str(_length(chunks))))
        case Framing.CHUNKED:
            headers.append(("transfer-encoding", "chunked"))
        case Framing.CLOSE:
            headers.append(("connection", "close"))
        case _:
            pass
    phrase = HTTPStatus(reply.status).phrase if reply.status in set(HTTPStatus) else "Unknown"
    lines = [f"HTTP/1.1 {reply.status} {phrase}", *(f"{k}: {v}" for k, v in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def steps(reply: Reply, *, head_only: bool = False) -> Iterator[Step]:
    """Everything that goes on the socket for this answer, in order. `head_only` for HEAD."""
    chunks = tuple(reply.chunks) if reply.framing is Framing.LENGTH else reply.chunks
    if reply.framing is not Framing.RAW:
        yield _head(reply, chunks)
    if head_only or reply.status in (204, 304):
        return
    chunked = reply.framing is Framing.CHUNKED
    for step in chunks:
        if chunked and isinstance(step, bytes):
            if step:  # an empty chunk would end the body
                yield b"%x\r\n%b\r\n" % (len(step), step)
        else:
            yield step
    if chunked:
        yield b"0\r\n\r\n"
