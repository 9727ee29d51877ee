"""Signs of life in a stream of somebody else's: when, and where."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from policies.decision import Leg
from proxy.answer import Answer
from proxy.config import UpstreamSettings
from proxy.errors import Refused
from proxy.local import lively
from proxy.local.late import Late, given_up
from proxy.local.lively import Lively

UPSTREAM = UpstreamSettings("home", Leg.LOCAL, "http://127.0.0.1:9", ("openai",), "none")


async def stepped(*steps: bytes | float | Refused) -> AsyncIterator[bytes]:
    for step in steps:
        match step:
            case bytes():
                yield step
            case Refused():
                raise step
            case _:
                await asyncio.sleep(step)


def alive(*, begun: bool) -> bytes:
    return b": late\n\n" if begun else b": early\n\n"


async def heard(*steps: bytes | float, late: bool = False) -> list[bytes]:
    return [each async for each in Lively(stepped(*steps), "sse", alive, late=late)]


async def test_what_comes_in_time_comes_as_it_is() -> None:
    """Nothing is added, nothing is joined."""
    assert await heard(b"data: 1\n\n", b"data: ", b"2\n\n") == [b"data: 1\n\n", b"data: ", b"2\n\n"]


async def test_signs_stand_between_events_and_never_within(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first one another sign than behind it, and none where half an event is out."""
    monkeypatch.setattr(lively, "QUIET", 0.02)
    found = await heard(0.05, b"data: 1\n\n", 0.05, b"data:", 0.05, b" 2\n\n")
    assert set(found[: found.index(b"data: 1\n\n")]) == {b": early\n\n"}
    between = found[found.index(b"data: 1\n\n") + 1 : found.index(b"data:")]
    assert set(between) == {b": late\n\n"}
    assert found[found.index(b"data:") + 1 :] == [b" 2\n\n"]


async def test_where_it_is_late_already_the_first_sign_comes_at_once() -> None:
    """And only that one."""
    assert await heard(0.01, b"data: 1\n\n", late=True) == [b": early\n\n", b"data: 1\n\n"]


async def test_why_it_broke_off_is_raised() -> None:
    """Where it stands."""
    broken = Lively(stepped(b"data: 1\n\n", Refused("x")), "sse", alive)
    assert await anext(broken) == b"data: 1\n\n"
    with pytest.raises(Refused):
        await anext(broken)


async def test_once_closed_nothing_is_awaited() -> None:
    """Also where a sign has just gone out and a chunk is still to come."""
    given = asyncio.Event()

    async def never() -> AsyncIterator[bytes]:
        try:
            await asyncio.sleep(60)
        finally:
            given.set()
        yield b""

    each = Lively(never(), "sse", alive, late=True)
    assert await anext(each) == b": early\n\n"
    each.close()
    await asyncio.wait_for(given.wait(), 1)


class Sent:
    """An answer that is sent for, and whether it was closed."""

    def __init__(self, *steps: bytes, stream: Any = "sse") -> None:
        self.closed = 0
        self.answer = Answer(200, [], stepped(*steps), stream, close=self._close)

    def _close(self) -> None:
        self.closed += 1

    async def come(self) -> Answer:
        return self.answer


async def test_an_answer_that_comes_late_is_read_from_its_beginning() -> None:
    """Asked for once."""
    sending = asyncio.ensure_future(Sent(b"1", b"2").come())
    assert [each async for each in Late(UPSTREAM, sending)] == [b"1", b"2"]


async def test_an_answer_that_is_no_stream_is_too_late() -> None:
    """The client has been told of a stream."""
    sending = asyncio.ensure_future(Sent(b"{}", stream="").come())
    with pytest.raises(Refused) as caught:
        await anext(Late(UPSTREAM, sending))
    assert caught.value.code == "home-unavailable"


async def test_what_is_given_up_is_closed_whenever_it_comes() -> None:
    """There already, not yet, or as a failure that nobody hears of."""
    there = Sent()
    sending = asyncio.ensure_future(there.come())
    await sending
    Late(UPSTREAM, sending).close()
    await asyncio.sleep(0)
    assert there.closed == 1
    coming = asyncio.ensure_future(asyncio.sleep(60, there.answer))
    given_up(coming)
    await asyncio.wait({coming})
    assert coming.cancelled()

    async def fails() -> Answer:
        raise Refused("home-unavailable")

    failed = asyncio.ensure_future(fails())
    await asyncio.wait({failed})
    given_up(failed)
    await asyncio.sleep(0)
    assert there.closed == 1
