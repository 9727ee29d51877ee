"""The pace of an answer from home: the first byte, signs of life, and what is remembered when."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import pytest

from proxy.errors import Refused
from proxy.lazyjson import read
from proxy.local import telling
from proxy.local.talk import Called, Ended, Named, Speech, Text, Thinking
from proxy.local.telling import Telling
from proxy.local.writers import writer


class Told:
    """One answer, from what a server says and when."""

    def __init__(self, *steps: Speech | float | Refused, stream: bool = True) -> None:
        self.remembered: list[Sequence[str]] = []
        self.late: list[Sequence[str]] = []
        self.closed = 0
        self._steps = steps
        writes = writer(
            "openai_chat", model="m", stream=stream, key="k", now=1, names={"f": Named("f")},
            asked=read(b"{}"),
        )  # fmt: skip
        self.telling = Telling(cast(Any, self), writes, self.told, self.late.append)

    async def told(self, texts: Sequence[str]) -> None:
        self.remembered.append(texts)

    def close(self) -> None:
        self.closed += 1

    def __aiter__(self) -> AsyncIterator[tuple[Speech, ...]]:
        return self._each()

    async def __anext__(self) -> tuple[Speech, ...]:
        self._it = getattr(self, "_it", None) or self._each()
        return await anext(self._it)

    async def _each(self) -> AsyncIterator[tuple[Speech, ...]]:
        for step in self._steps:
            match step:
                case float():
                    await asyncio.sleep(step)
                case Refused():
                    raise step
                case _:
                    yield (step,)


ALL = (Text("Hello "), Text("there"), Called("f", {"a": ["x", 1, {"b": "y"}]}), Ended("stop", 3, 4))


async def test_all_of_it_is_remembered_before_the_end_goes_out() -> None:
    """The text in one piece, and what calls are given."""
    told = Told(*ALL)
    parts = []
    async for part in told.telling.chunks(9):
        assert (b"[DONE]" in part) <= bool(told.remembered)
        parts.append(part)
    assert b"[DONE]" in parts[-1]
    assert told.remembered == [["Hello there", "x", "y"]]
    told.telling.close()
    assert (told.late, told.closed) == ([], 1)


async def test_a_whole_answer_is_one_value() -> None:
    """Remembered likewise."""
    told = Told(*ALL, stream=False)
    assert read(await told.telling.whole(9)).root.get("choices") is not None
    assert told.remembered == [["Hello there", "x", "y"]]


async def test_a_failure_within_the_first_seconds_is_raised_before_anything_is_written() -> None:
    """So it keeps its status."""
    told = Told(0.01, Refused("home-unavailable"))
    with pytest.raises(Refused):
        await told.telling.held()


async def test_the_first_byte_is_not_held_back_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then come signs of life, and then all of the answer."""
    monkeypatch.setattr(telling, "HOLD", 0.01)
    monkeypatch.setattr(telling, "QUIET", 0.02)
    told = Told(0.1, *ALL)
    await told.telling.held()
    parts = [part async for part in told.telling.chunks(9)]
    assert b"".join(parts).count(b"keep-alive") >= 2
    assert b'"there"' in b"".join(parts)


async def test_what_nobody_hears_to_its_end_is_remembered_late() -> None:
    """As far as it was said; once."""
    told = Told(Text("Hello "), 60.0)
    chunks = told.telling.chunks(9)
    assert [await anext(chunks), await anext(chunks)]
    pending = asyncio.ensure_future(anext(chunks))
    await asyncio.sleep(0)
    told.telling.close()
    told.telling.close()
    assert told.late == [["Hello "]]
    assert told.closed == 2
    pending.cancel()
    await asyncio.wait({pending})


async def test_thoughts_that_are_not_told_are_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often something is thought, the client hears that it goes on, and not more often
    than it has to."""
    monkeypatch.setattr(telling, "QUIET", 0.05)
    steps: list[Speech | float] = [Thinking("hm"), 0.005] * 40
    told = Told(*steps, *ALL)
    parts = [part async for part in told.telling.chunks(9)]
    assert 2 <= b"".join(parts).count(b"keep-alive") <= 8


async def test_a_burst_of_thoughts_is_no_silence_either(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the next one is always there already."""
    monkeypatch.setattr(telling, "QUIET", 0.0)
    told = Told(*[Thinking("hm")] * 5, *ALL)
    assert b"".join([part async for part in told.telling.chunks(9)]).count(b"keep-alive") >= 5
