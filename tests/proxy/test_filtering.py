"""Filters that hold: what is held comes in order, nothing is lost, and the stream is kept alive."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import pytest

from proxy import filtering
from proxy.dialects import ALL
from proxy.dialects.streams import Event, Kind
from proxy.errors import Refused
from proxy.filtering import Filter, filtered
from tests.proxy.holding import hold_tool_call

STREAMS = sorted((Path(__file__).parents[1] / "wire" / "streams").glob("*.txt"))
GOLDEN = pytest.mark.parametrize(
    "path", [path for path in STREAMS if ".dropped" not in path.name], ids=lambda path: path.stem
)


def kind_of(path: Path) -> Kind:
    return "ndjson" if path.name.startswith("ollama") else "sse"


async def chunks(*given: bytes | float | Exception) -> AsyncIterator[bytes]:
    for step in given:
        match step:
            case bytes():
                yield step
            case Exception():
                raise step
            case _:
                await asyncio.sleep(step)


async def out(
    given: AsyncIterator[bytes], *filters: Filter, kind: Kind = "sse", alive: bytes = b""
) -> list[bytes]:
    return [part async for part in filtered(given, kind, filters, lambda begun: alive)]


@GOLDEN
async def test_a_stream_that_is_held_is_the_same_under_every_split(path: Path) -> None:
    """Byte by byte and cut anywhere: what goes on is what came."""
    raw, kind = path.read_bytes(), kind_of(path)
    for at in range(0, len(raw), 1 + len(raw) // 500):
        given = chunks(raw[:at], raw[at:])
        assert b"".join(await out(given, hold_tool_call(0), kind=kind)) == raw
    given = chunks(*[raw[at : at + 1] for at in range(len(raw))])
    assert b"".join(await out(given, hold_tool_call(0), kind=kind)) == raw


@pytest.mark.parametrize(
    "dialect", ["anthropic_messages", "openai_chat", "openai_responses", "ollama_chat"]
)
async def test_a_held_stream_is_kept_alive(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signs of life between whole events, as long as it takes, also behind the upstream's end."""
    monkeypatch.setattr(filtering, "QUIET", 0.02)
    path = next(path for path in STREAMS if path.name == f"{dialect}.mixed.txt")
    raw, kind, told = path.read_bytes(), kind_of(path), []

    def alive(begun: bool) -> bytes:
        told.append(begun)
        return ALL[dialect].keep_alive(begun=begun)

    hold = hold_tool_call(0.11)
    parts = [part async for part in filtered(chunks(raw), kind, [hold], alive)]
    assert 3 <= len(told) <= 6
    assert all(told)
    sign = ALL[dialect].keep_alive()
    assert parts[1:-1] == [sign] * len(told)
    assert parts[0] + parts[-1] == raw


async def test_the_first_event_may_be_held_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sign of life is told that nothing of the answer is out."""
    monkeypatch.setattr(filtering, "QUIET", 0.01)
    told = []

    def alive(begun: bool) -> bytes:
        told.append(begun)
        return b": x\n\n"

    raw = b'data: {"tool_calls":[]}\n\n'
    parts = [part async for part in filtered(chunks(raw), "sse", [hold_tool_call(0.03)], alive)]
    assert not any(told)
    assert parts == [*[b": x\n\n"] * len(told), raw]


async def test_chunks_go_on_being_read_while_a_call_is_held() -> None:
    """What comes meanwhile is held behind it, in order, and an upstream is not made to wait."""
    call, after = b'data: "tool_use"\n\n', b"data: 2\n\n"
    given = chunks(b"data: 1\n\n", call, 0.01, after, 0.01, after)
    assert await out(given, hold_tool_call(0.05)) == [b"data: 1\n\n", call + after + after]


async def test_what_is_held_by_one_passes_the_next() -> None:
    """Filters behind the one that held see what it lets go."""

    class Shout(Filter):
        def event(self, event: Event) -> Iterable[Event]:
            return (Event(event.raw.upper(), event.data),)

        def end(self) -> Iterable[Event]:
            return (Event(b"data: bye\n\n", "bye"),)

    raw = b'data: a\n\ndata: "tool_use"\n\n'
    given = chunks(raw)
    assert b"".join(await out(given, hold_tool_call(0.01), Shout())) == raw.upper() + (
        b"data: bye\n\n"
    )


async def test_a_whole_answer_is_held_without_signs_of_life(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is no place for any."""
    monkeypatch.setattr(filtering, "QUIET", 0.01)
    raw = b'{"type":"tool_use","x":"tool_use"}'
    assert await out(chunks(raw), hold_tool_call(0.05), kind="", alive=b"x") == [raw]


async def test_an_answer_that_breaks_off_while_it_is_held_breaks_off() -> None:
    """The reason comes through; nobody waits for what is held."""
    given = chunks(b'data: "tool_use"\n\n', Refused("upstream-timeout"))
    with pytest.raises(Refused, match="upstream-timeout"):
        await out(given, hold_tool_call(60))


async def test_whoever_stops_listening_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The chunk that was awaited is given up with the answer."""
    monkeypatch.setattr(filtering, "QUIET", 0.01)
    closed = []

    async def endless() -> AsyncIterator[bytes]:
        try:
            yield b'data: "tool_use"\n\n'
            await asyncio.sleep(60)
        finally:
            closed.append(True)

    parts = filtered(endless(), "sse", [hold_tool_call(60)], lambda begun: b": x\n\n")
    assert await anext(parts) == b": x\n\n"
    await parts.aclose()
    assert closed == [True]


async def test_a_filter_that_says_nothing_passes_everything() -> None:
    """The protocol's own bodies: pass, hold nothing, add nothing."""

    class Nothing(Filter):
        pass

    raw = b"data: 1\n\n: c\n\ndata: 2"
    assert b"".join(await out(chunks(raw), Nothing())) == raw
    assert list(Nothing().let_go()) == []
