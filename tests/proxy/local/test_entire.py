"""`proxy.local.entire`: the end of an answer goes on where it came, and when all is remembered."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from proxy.dialects.streams import Event, Kind, decoder
from proxy.errors import Refused
from proxy.local.entire import Entire


@dataclass
class Reading:
    """One answer through the filter, and who remembers it."""

    dialect: str
    stream: Kind = "sse"
    told: list[Sequence[str]] = field(default_factory=list)
    late: list[Sequence[str]] = field(default_factory=list)
    kept: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.Future[None]())

    def __post_init__(self) -> None:
        self.entire = Entire(
            self.dialect, self.stream, told=self.tell, late=self.late.append, broken=self.broken
        )
        self.events = decoder(self.stream)

    def tell(self, texts: Sequence[str]) -> "asyncio.Future[None]":
        self.told.append(texts)
        return self.kept

    def broken(self, reason: str) -> Refused:
        return Refused("home-unavailable", upstream="home", reason=reason)

    def feed(self, data: bytes) -> bytes:
        """What goes on of it at once."""
        return _raw(each for event in self.events.feed(data) for each in self.entire.event(event))

    def end(self) -> bytes:
        """The same of what is left; `entire.end` is the caller's."""
        return _raw(each for event in self.events.end() for each in self.entire.event(event))


def _raw(events: Any) -> bytes:
    return b"".join(event.raw for event in events if isinstance(event, Event))


def sse(*values: Any) -> bytes:
    return b"".join(
        f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n".encode()
        for value in values
    )


CHUNK = {"choices": [{"delta": {"content": "Hi."}, "finish_reason": None}]}
STOP = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
USAGE = {"choices": [], "usage": {}}
DELTA = {"type": "content_block_delta", "delta": {"text": "Hi."}}
SAID = {"type": "response.output_text.delta", "delta": "Hi."}
ENDING: dict[str, tuple[str, bytes, bytes]] = {
    "messages": ("anthropic_messages", sse(DELTA), sse({"type": "message_stop"})),
    "a failure": ("anthropic_messages", sse(DELTA), sse({"type": "error", "error": {}})),
    "chat": ("openai_chat", sse(CHUNK, STOP, USAGE), sse("[DONE]")),
    "responses": ("openai_responses", sse(SAID), sse({"type": "response.completed"})),
    "cut by a limit": ("openai_responses", sse(SAID), sse({"type": "response.incomplete"})),
    "failed": ("openai_responses", sse(SAID), sse({"type": "response.failed"})),
}


@pytest.mark.parametrize("name", ENDING)
async def test_the_last_event_waits(name: str) -> None:
    """What it says is told once; what stands before the end goes on at once, what stands behind it
    waits with it."""
    dialect, said, last = ENDING[name]
    reading = Reading(dialect)
    assert reading.feed(said) == said
    assert (reading.entire.held(), reading.told) == (None, [])
    assert reading.feed(last + b": bye\n\n") == b""
    assert reading.told == [["Hi."]]
    assert reading.entire.held() is reading.kept
    reading.kept.set_result(None)
    assert _raw(reading.entire.let_go()) == last + b": bye\n\n"
    assert reading.entire.held() is None
    assert reading.feed(b": bye\n\n") == b": bye\n\n"
    assert list(reading.entire.end()) == []
    reading.entire.close()
    assert (len(reading.told), reading.late) == (1, [])


@pytest.mark.parametrize("name", ENDING)
async def test_a_stream_without_its_last_event_has_broken_off(name: str) -> None:
    """But for a chat that has told why it ends. What came is remembered all the same."""
    dialect, said, _ = ENDING[name]
    reading = Reading(dialect)
    reading.feed(said)
    if name == "chat":
        assert list(reading.entire.end()) == []
    else:
        with pytest.raises(Refused, match="home-unavailable"):
            reading.entire.end()
    reading.entire.close()
    reading.entire.close()
    assert reading.late == [["Hi."]]


async def test_an_error_of_a_chat_is_its_end() -> None:
    """Nothing need come behind it."""
    reading = Reading("openai_chat")
    assert reading.feed(sse({"error": {"message": "no"}}))
    assert list(reading.entire.end()) == []


async def test_an_error_without_a_name_is_no_end_of_a_message() -> None:
    """Anthropic's SDK passes over such events, and takes what came before for the whole."""
    reading = Reading("anthropic_messages")
    reading.feed(sse(DELTA, {"error": {"message": "no"}}))
    with pytest.raises(Refused, match="home-unavailable"):
        reading.entire.end()


async def test_half_an_event_is_none() -> None:
    """The last one, cut. What is no JSON but whole is the server's to answer for."""
    reading = Reading("openai_chat")
    assert reading.feed(sse("no JSON", "7", CHUNK)) == sse("no JSON", "7", CHUNK)
    reading.feed(sse(CHUNK)[:-9])
    with pytest.raises(Refused, match="home-unavailable"):
        reading.end()
    reading = Reading("openai_chat")
    reading.feed(sse(CHUNK, STOP, "[DONE]").rstrip())
    assert reading.end() == b""
    assert reading.told == [["Hi."]]


TOLD_OTHERWISE = {
    "nothing": b"",
    "no reason": sse(CHUNK),
    "as vLLM did": sse(CHUNK, {"object": "error", "message": "no", "code": 500}),
    "as llama.cpp did": sse(CHUNK) + b'error: {"code": 500, "message": "no"}\n\n',
}


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic_messages"])
@pytest.mark.parametrize("how", TOLD_OTHERWISE)
async def test_done_alone_is_no_end(how: str, dialect: str) -> None:
    """Some servers write it behind a failure as well, of which they tell in forms of their own."""
    reading = Reading(dialect)
    assert reading.feed(TOLD_OTHERWISE[how]) == TOLD_OTHERWISE[how]
    with pytest.raises(Refused, match="home-unavailable"):
        reading.feed(sse("[DONE]"))
    assert reading.told == []


FAILURES: tuple[Any, ...] = (
    {},
    {"error": "Unexpected endpoint or method."},
    {"error": {"message": "no", "code": 500}},
    {"object": "error", "message": "no", "code": 500, "choices": None},
)


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "anthropic_messages"])
@pytest.mark.parametrize("body", FAILURES)
async def test_a_failure_with_status_200_is_no_answer(body: Any, dialect: str) -> None:
    """The SDKs would take it for one in which everything is missing."""
    reading = Reading(dialect, "")
    reading.feed(json.dumps(body).encode())
    with pytest.raises(Refused, match="home-unavailable"):
        reading.end(), reading.entire.end()
    assert reading.told == []


@pytest.mark.parametrize("body", [b"", b"[1]", b'{"a": ', b"<html>", b"[" * 200_000])
async def test_a_whole_answer_is_an_object(body: bytes) -> None:
    """Anything else is none."""
    reading = Reading("openai_chat", "")
    reading.feed(body)
    with pytest.raises(Refused, match="home-unavailable"):
        reading.end(), reading.entire.end()


async def test_what_cannot_be_remembered_does_not_come_to_its_end() -> None:
    """A whole answer, of which the client has heard nothing then."""
    reading = Reading("openai_chat", "")
    reading.feed(b'{"choices": [{"message": {"content": "Hi."}}]}')
    assert reading.end() == b""
    assert reading.told == [["Hi."]]
    reading.kept.set_exception(Refused("state-unavailable"))
    with pytest.raises(Refused, match="state-unavailable"):
        reading.entire.let_go()
