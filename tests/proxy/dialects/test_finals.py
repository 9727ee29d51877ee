"""Answers of ours: what the real SDKs read in them, whole, streamed, and kept alive before."""

import json
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import ollama
import openai
import pytest

from proxy.demo.agents import NAMES
from proxy.demo.upstream import Framing, Reply, ScriptedUpstream
from proxy.dialects import ALL
from proxy.dialects.streams import decoder, kind_of
from proxy.lazyjson import read
from tests.scenes.bodies import MODEL

TEXT = 'Stopped: "näh" 🧅,\nand that was it. (ask again)'
NOW = 1_790_000_000
DIALECTS = ("anthropic_messages", "openai_chat", "openai_responses", "ollama_chat")


def final(dialect: str, *, stream: bool, asked: Any = None) -> tuple[dict[str, str], bytes]:
    document = None if asked is None else read(json.dumps(asked).encode())
    return ALL[dialect].final(
        TEXT, model=MODEL, stream=stream, key="0123456789ab", now=NOW, asked=document
    )


def reply(dialect: str, *, stream: bool, alive: int = 0) -> Reply:
    headers, body = final(dialect, stream=stream)
    signs = [ALL[dialect].keep_alive(begun=False), ALL[dialect].keep_alive()]
    first, *rest = decoder(kind_of(headers["content-type"])).feed(body) if stream else [None]
    raw = body if first is None else first.raw
    after = (event.raw for event in rest if event is not None)
    chunks = (signs[0] * alive, raw, signs[1] * alive, *after)
    return Reply(200, tuple(headers.items()), chunks, Framing.CHUNKED)


@pytest.fixture
async def door() -> AsyncIterator[ScriptedUpstream]:
    async with ScriptedUpstream(lambda request: Reply.of({})) as upstream:
        yield upstream


ASK: Any = [{"role": "user", "content": "Go on."}]


@pytest.mark.parametrize("alive", [0, 3])
async def test_anthropics_sdk_reads_it(door: ScriptedUpstream, alive: int) -> None:
    """One text block, `end_turn`, the model that was asked for; signs of life change nothing."""
    how: Any = {"model": MODEL, "max_tokens": 9, "messages": ASK}
    async with anthropic.AsyncAnthropic(api_key="x", base_url=door.url) as client:
        door.script = lambda request: reply("anthropic_messages", stream=False)
        whole = await client.messages.create(**how)
        door.script = lambda request: reply("anthropic_messages", stream=True, alive=alive)
        async with client.messages.stream(**how) as stream:
            assert "".join([text async for text in stream.text_stream]) == TEXT
            streamed = await stream.get_final_message()
    for message in (whole, streamed):
        [block] = message.content
        assert block.type == "text"
        assert (block.text, message.stop_reason, message.model) == (TEXT, "end_turn", MODEL)
        assert message.usage.output_tokens == 0
    assert whole.id == streamed.id == "msg_0123456789ab"


@pytest.mark.parametrize("alive", [0, 3])
async def test_openais_sdk_reads_a_completion(door: ScriptedUpstream, alive: int) -> None:
    """One choice that stops, without calls."""
    async with openai.AsyncOpenAI(api_key="x", base_url=f"{door.url}/v1") as client:
        door.script = lambda request: reply("openai_chat", stream=False)
        whole = await client.chat.completions.create(model=MODEL, messages=ASK)
        door.script = lambda request: reply("openai_chat", stream=True, alive=alive)
        async with client.chat.completions.stream(model=MODEL, messages=ASK) as stream:
            streamed = await stream.get_final_completion()
    for completion in (whole, streamed):
        [choice] = completion.choices
        assert (choice.message.content, choice.finish_reason) == (TEXT, "stop")
        assert not choice.message.tool_calls
        assert (completion.model, completion.created) == (MODEL, NOW)


@pytest.mark.parametrize("alive", [0, 3])
async def test_openais_sdk_reads_a_response(door: ScriptedUpstream, alive: int) -> None:
    """One message in a response that is completed."""
    async with openai.AsyncOpenAI(api_key="x", base_url=f"{door.url}/v1") as client:
        door.script = lambda request: reply("openai_responses", stream=False)
        whole = await client.responses.create(model=MODEL, input="Go on.")
        door.script = lambda request: reply("openai_responses", stream=True, alive=alive)
        async with client.responses.stream(model=MODEL, input="Go on.") as stream:
            streamed = await stream.get_final_response()
        door.script = lambda request: reply("openai_responses", stream=True, alive=alive)
        raw = [e async for e in await client.responses.create(model=MODEL, input="", stream=True)]
    for response in (whole, streamed, raw[-1].response):  # type: ignore[union-attr]
        assert (response.output_text, response.status) == (TEXT, "completed")
        assert (response.model, response.created_at) == (MODEL, NOW)


@pytest.mark.parametrize("alive", [0, 3])
async def test_ollamas_sdk_reads_it(door: ScriptedUpstream, alive: int) -> None:
    """One text, done."""
    client = ollama.AsyncClient(door.url)
    door.script = lambda request: reply("ollama_chat", stream=False)
    whole = await client.chat(MODEL, ASK)
    door.script = lambda request: reply("ollama_chat", stream=True, alive=alive)
    parts = [part async for part in await client.chat(MODEL, ASK, stream=True)]
    await client.close()  # type: ignore[no-untyped-call]
    assert whole.message.content == TEXT
    assert "".join(part.message.content or "" for part in parts) == TEXT
    assert (whole.done, parts[-1].done, parts[-1].done_reason) == (True, True, "stop")
    assert whole.created_at == "2026-09-21T14:13:20Z"


@pytest.mark.parametrize(
    ("asked", "spent"),
    [
        ({"stream_options": {"include_usage": True}}, 1),
        ({"stream_options": {"include_usage": False}}, 0),
        ({"stream_options": None}, 0),
        ({}, 0),
    ],
)
def test_tokens_are_told_in_a_stream_of_chat_where_that_was_asked_for(
    asked: dict[str, Any], spent: int
) -> None:
    """A chunk without choices, which breaks clients that did not ask for it."""
    _, body = final("openai_chat", stream=True, asked=asked)
    assert body.count(b'"choices":[]') == spent
    assert (b'"usage":null' in body) is bool(spent)


def test_the_sdks_and_the_dialects_are_all_there() -> None:
    """A new agent of the demo needs a test here."""
    assert len(NAMES) == len(DIALECTS)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_event_of_ours_is_written_as_the_dialect_writes_events(dialect: str) -> None:
    """Whole, the object itself; as an event, in the grammar and under the name of its type."""
    data = b'{"type":"x.y","a":1e5}'
    spoken = ALL[dialect]
    assert spoken.encode(data, stream=False) == data
    assert (
        spoken.encode(data, stream=True)
        == {
            "anthropic": b"event: x.y\ndata: " + data + b"\n\n",
            "openai": {
                "openai_chat": b"data: " + data + b"\n\n",
                "openai_responses": b"event: x.y\ndata: " + data + b"\n\n",
            }.get(dialect),
            "ollama": data + b"\n",
        }[spoken.family]
    )


@pytest.mark.parametrize("family", ["anthropic", "openai", "ollama"])
def test_where_there_is_no_conversation_there_is_none_to_end(family: str) -> None:
    """Endpoints of plain text have signs of life and events, and no final answer."""
    spoken = ALL[f"plain_text_{family}"]
    with pytest.raises(LookupError):
        spoken.final("", model="", stream=False, key="", now=0)
    assert spoken.encode(b"{}", stream=False) == b"{}"
    assert spoken.encode(b"{}", stream=True).endswith(b"{}\n" if family == "ollama" else b"{}\n\n")
    assert spoken.keep_alive().endswith(b"\n")
