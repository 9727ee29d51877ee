"""Answers through filters: decoded events that a filter passes, drops, replaces or holds.

Owns what a filter is, the order of several, and how a stream is kept alive while one holds it. It
must not know a client's socket, a dialect or what filters look for.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from enum import Enum
from typing import Final, Protocol

from proxy.coming import Coming
from proxy.dialects.streams import Event, Kind, TooLong, decoder
from proxy.errors import Refused

QUIET: Final = 15.0
"""Seconds after which a stream that is held gets a sign of life: clients give up on silence after
some minutes, proxies between after one or less."""

KeepAlive = Callable[[bool], bytes]
"""An event that says nothing; told whether anything of the answer is out already."""


class Filter(Protocol):
    """Decides about each event of one answer; made anew for each. Where an answer is no stream,
    its body is the one event.

    It passes an event by returning it, drops it by returning nothing, replaces it by returning
    another, holds it by returning it later. It ends the answer by raising `Refused`.
    """

    def event(self, event: Event) -> Iterable[Event]:
        """What goes on now that `event` has come."""
        return (event,)

    def held(self) -> "asyncio.Future[None] | None":
        """Done when `let_go` has something to give although no event has come; None while nothing
        is held, or only until another event comes."""
        return None

    def let_go(self) -> Iterable[Event]:
        """What goes on now that `held` is done."""
        return ()

    def end(self) -> Iterable[Event]:
        """What goes on now that no event will come, and nothing is held."""
        return ()


class _News(Enum):
    """What there is besides a chunk: a filter has something to give, nothing came for `QUIET`
    seconds while one holds something, or no chunk will come."""

    FREED = "freed"
    QUIET = "quiet"
    ENDED = "ended"


async def filtered(
    chunks: AsyncIterator[bytes], kind: Kind, filters: Sequence[Filter], alive: KeepAlive
) -> AsyncGenerator[bytes, None]:
    """The events in `chunks`, in the grammar `kind`, that the filters let go, as bytes; each item
    holds whole events. Raises what `chunks` raises, and `Refused` for an event without end."""
    events, coming, begun, ended = decoder(kind), Coming(chunks), False, False
    try:
        while not (ended and _holds(filters) == []):
            news = await _news(None if ended else coming, _holds(filters))
            out, broken = b"", None
            match news:
                case bytes():
                    out, broken = _each(filters, events.feed(news))
                case _News.FREED:
                    out = _freed(filters)
                case _News.ENDED:
                    ended = True
                    out, broken = _each(filters, events.end())
                case _News.QUIET if kind:
                    yield alive(begun)
                case _News.QUIET:
                    pass
            if out:
                begun = True
                yield out
            if broken is not None:
                raise broken
        if last := _through(filters, (), ended=True):
            yield last
    except TooLong:
        raise Refused("upstream-unreachable", reason="an event in its answer never ended") from None
    finally:
        await coming.give_up()


async def _news(
    coming: Coming[bytes] | None, holds: Sequence["asyncio.Future[None]"]
) -> "bytes | _News":
    if holds:
        awaited: set[asyncio.Future[None] | asyncio.Task[bytes | None]] = {*holds}
        if coming is not None:
            awaited.add(coming.task())
        done, _ = await asyncio.wait(awaited, timeout=QUIET, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            return _News.QUIET
        if not done.isdisjoint(holds):
            return _News.FREED
    assert coming is not None
    chunk = await coming.item()
    return _News.ENDED if chunk is None else chunk


def _holds(filters: Sequence[Filter]) -> "list[asyncio.Future[None]]":
    return [held for each in filters if (held := each.held()) is not None]


def _each(filters: Sequence[Filter], events: Iterable[Event]) -> tuple[bytes, Refused | None]:
    """What goes on of the events one by one, and why a filter has ended the answer among them."""
    out: list[bytes] = []
    for event in events:
        try:
            out.append(_through(filters, (event,)))
        except Refused as broken:
            return b"".join(out), broken
    return b"".join(out), None


def _through(filters: Sequence[Filter], events: Iterable[Event], *, ended: bool = False) -> bytes:
    for each in filters:
        passed = [let_go for event in events for let_go in each.event(event)]
        events = [*passed, *each.end()] if ended else passed
    return b"".join([event.raw for event in events])


def _freed(filters: Sequence[Filter]) -> bytes:
    out = b""
    for number, each in enumerate(filters, 1):
        if (held := each.held()) is not None and held.done():
            out += _through(filters[number:], each.let_go())
    return out
