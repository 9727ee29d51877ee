"""Every agent against every scripted vendor through the real SDKs, with nothing in between."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from proxy.demo.agents import NAMES, Agent, Setup, load, opened
from proxy.demo.agents.base import Runaway
from proxy.demo.files import NOTES, WALLET, folder
from proxy.demo.upstream import Recorded, Reply, ScriptedUpstream
from proxy.demo.vendors import vendor

PATHS = dict(
    zip(NAMES, ("/v1/messages", "/v1/chat/completions", "/v1/responses", "/api/chat"), strict=True)
)


def setup(up: ScriptedUpstream, *, stream: bool = False) -> Setup:
    return Setup(up.url, "demo:1b", stream, folder())


@pytest.fixture
async def up() -> AsyncIterator[ScriptedUpstream]:
    async with ScriptedUpstream(vendor) as upstream:
        yield upstream


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["whole", "streamed"])
async def agent(
    up: ScriptedUpstream, name: str, request: pytest.FixtureRequest
) -> AsyncIterator[Agent]:
    async with opened(name, setup(up, stream=request.param == "streamed")) as loaded:
        yield loaded


async def test_the_loop_reads_the_file_and_ends(
    up: ScriptedUpstream, agent: Agent, name: str
) -> None:
    """Two requests: the second one carries the text of the file, and the model then answers."""
    assert await agent.ask(f"Sum up {NOTES}.") == "I have read 1 file and summed them up."
    assert [request.target for request in up.requests] == [PATHS[name]] * 2
    text = json.dumps(folder()[NOTES]).encode()
    assert text not in up.requests[0].body
    assert json.dumps(folder()[NOTES], ensure_ascii=False).encode() in up.requests[1].body


async def test_a_further_question_resends_the_history_and_starts_a_new_loop(
    up: ScriptedUpstream, agent: Agent
) -> None:
    """Four requests, each longer than the one before; the vendor finds every call answered."""
    await agent.ask(f"Sum up {NOTES}.")
    await agent.ask(f"And {NOTES} once more.")
    sizes = [len(request.body) for request in up.requests]
    assert len(sizes) == 4
    assert sizes == sorted(sizes)
    assert up.requests[3].body.count(b"plumber") == 2


async def test_two_files_are_two_calls_of_one_answer(up: ScriptedUpstream, agent: Agent) -> None:
    """Parallel calls arrive whole and are answered together."""
    answer = await agent.ask(f"Compare {NOTES} and {WALLET}.")
    assert answer == "I have read 2 files and summed them up."
    assert len(up.requests) == 2


async def test_a_question_without_a_file_needs_no_tool(agent: Agent) -> None:
    """The model answers at once."""
    assert await agent.ask("How are you?") == "There is nothing to read."


async def test_a_missing_file_is_said_to_be_missing(up: ScriptedUpstream, agent: Agent) -> None:
    """The tool answers for a path that it does not have."""
    await agent.ask("Read gone.txt.")
    assert b"no such file" in up.requests[1].body


async def test_streams_and_whole_answers_are_asked_for(
    up: ScriptedUpstream, agent: Agent, request: pytest.FixtureRequest
) -> None:
    """What is called streamed was streamed on the wire."""
    await agent.ask("How are you?")
    streamed = "streamed" in request.node.name
    assert up.requests[0].json().get("stream", False) is streamed


async def test_a_model_that_never_stops_calling_is_left(name: str) -> None:
    """A loop that makes no headway ends with a typed error after six rounds."""

    def forgetful(request: Recorded) -> Reply:
        body = request.json()
        field = "input" if "input" in body else "messages"
        turns = body[field]
        assert isinstance(turns, list)
        body[field] = turns[: 1 + (turns[0]["role"] == "system")]
        return vendor(replace(request, body=json.dumps(body).encode()))

    async with ScriptedUpstream(forgetful) as up, opened(name, setup(up)) as agent:
        with pytest.raises(Runaway):
            await agent.ask(f"Read {NOTES}.")
        assert len(up.requests) == 6


async def test_an_ollama_stream_without_its_last_line_is_an_error() -> None:
    """A stream that ends early is not taken for an answer."""

    def early(request: Recorded) -> Reply:
        return Reply.stream(tuple(vendor(request).chunks)[:-1], "application/x-ndjson")

    async with (
        ScriptedUpstream(early) as up,
        opened("ollama", setup(up, stream=True)) as agent,
    ):
        with pytest.raises(RuntimeError, match="ended early"):
            await agent.ask("How are you?")


def test_an_unknown_agent_is_refused_by_name() -> None:
    """The error lists what there is."""
    with pytest.raises(ValueError, match="choose from anthropic, openai-chat"):
        load("other", Setup("", "", False, {}))
