"""Calls from home under the names, in the sorts and with the ids that the client can use."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from proxy.demo.upstream import Reply, ScriptedUpstream
from proxy.local.talk import Called
from tests.proxy.local.writers.telling import (
    DIALECTS,
    KEY,
    PATH,
    added_ids,
    events,
    over,
    script,
    told,
)
from tests.scenes.bodies import MODEL

PATCH = Called("patch", {"input": '*** Begin "Patch"\n+ä\n'}, "call_p")
FIND = Called("crm__lookup", {"id": 7})
SPEECH = (PATCH, FIND, over())


@pytest.fixture
async def door() -> AsyncIterator[ScriptedUpstream]:
    async with ScriptedUpstream(lambda request: Reply.of({})) as upstream:
        yield upstream


@pytest.mark.parametrize("stream", [False, True])
async def test_custom_and_namespaced_tools_come_back_in_responses(
    door: ScriptedUpstream, stream: bool
) -> None:
    """A custom tool gets its text as it is, a namespace stands beside the name."""
    door.script = script("openai_responses", SPEECH, stream=stream)
    async with openai.AsyncOpenAI(api_key="x", base_url=f"{door.url}/v1") as client:
        if stream:
            async with client.responses.stream(model=MODEL, input="Go on.") as events_:
                response: Any = await events_.get_final_response()
        else:
            response = await client.responses.create(model=MODEL, input="Go on.")
    custom, function = response.output
    assert (custom.type, custom.name, custom.call_id) == (
        "custom_tool_call",
        "apply patch",
        "call_p",
    )
    assert (custom.input, custom.id[:4]) == (PATCH.arguments["input"], "ctc_")
    assert (function.type, function.name, function.namespace) == ("function_call", "lookup", "crm")
    assert (json.loads(function.arguments), function.id[:3]) == ({"id": 7}, "fc_")
    assert function.call_id.startswith("call_")
    assert custom.namespace is None


@pytest.mark.parametrize("stream", [False, True])
async def test_a_custom_tool_comes_back_in_chat(door: ScriptedUpstream, stream: bool) -> None:
    """With its text as `input`, in the stream as in the whole answer."""
    door.script = script("openai_chat", SPEECH, stream=stream)
    how: Any = {"model": MODEL, "messages": [{"role": "user", "content": "Go on."}]}
    async with openai.AsyncOpenAI(api_key="x", base_url=f"{door.url}/v1") as client:
        if stream:
            chunks = [c async for c in await client.chat.completions.create(**how, stream=True)]
            calls = [call for c in chunks for call in c.choices[0].delta.tool_calls or ()]
            assert [call.index for call in calls] == [0, 1]
        else:
            whole = await client.chat.completions.create(**how)
            calls = whole.choices[0].message.tool_calls  # type: ignore[assignment]
    custom, function = (call.to_dict() for call in calls)
    custom.pop("index", None)
    assert custom == {
        "id": "call_p",
        "type": "custom",
        "custom": {"name": "apply patch", "input": PATCH.arguments["input"]},
    }
    assert function["function"] == {"name": "lookup", "arguments": '{"id":7}'}


def test_arguments_are_the_same_in_all_their_places() -> None:
    """Some clients take the delta, some the event behind it, some the item."""
    stream = events("openai_responses", (Called("read_file", PATH), over()))
    places = [
        place
        for event in stream
        for place in (
            event.get("delta"),
            event.get("arguments"),
            event.get("item", {}).get("arguments"),
            *(item["arguments"] for item in event.get("response", {}).get("output", ())),
        )
        if place
    ]
    assert len(places) == 4
    assert len(set(places)) == 1
    assert json.loads(places[0]) == PATH


def test_one_delta_carries_the_whole_input_for_anthropic() -> None:
    """LiteLLM lost arguments that came in pieces; one delta cannot be lost in part."""
    stream = events(
        "anthropic_messages", (Called("read_file", PATH), Called("read_file", {}), over())
    )
    deltas = [
        event["delta"]["partial_json"] for event in stream if event["type"] == "content_block_delta"
    ]
    assert [json.loads(delta) for delta in deltas] == [PATH, {}]
    starts = [e["content_block"]["input"] for e in stream if e["type"] == "content_block_start"]
    assert starts == [{}, {}]


IDS = {
    "anthropic_messages": "toolu",
    "openai_chat": "call",
    "openai_responses": "call",
    "ollama_chat": "call",
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_id_of_the_server_is_kept_where_it_can_be(dialect: str) -> None:
    """Own ids stand in for those that are missing, not legal, too long, or there already."""
    came = ["call_a1", "", "call_a1", "näh", "x" * 41, "x" * 40, "call_old", "a b", "call_ol"]
    speech = [*(Called("read_file", {}, each) for each in came), over()]
    history: Any = {"messages": [{"id": "call_old"}]}
    mine = f"{IDS[dialect]}_{KEY}_"
    for stream in (False, True):
        ids = added_ids(told(dialect, speech, stream=stream, asked=history))
        assert [given if given in came else "own" for given in ids] == [
            "call_a1", "own", "own", "own", "own", "x" * 40, "own", "own", "call_ol",
        ]  # fmt: skip
        assert len(set(ids)) == len(ids)
        assert all(re.fullmatch("[A-Za-z0-9_-]{1,40}", given) for given in ids)
        assert all(given.startswith(mine) for given in ids if given not in came)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_ids_of_two_answers_differ(dialect: str) -> None:
    """A client may hold both in one conversation."""
    speech = (Called("read_file", {}), over())
    one = added_ids(told(dialect, speech, stream=False))
    two = added_ids(told(dialect, speech, stream=False, key="ba9876543210"))
    assert not set(one) & set(two)


@pytest.mark.parametrize("stream", [False, True])
def test_ollamas_calls_are_numbered(stream: bool) -> None:
    """Through all lines of an answer, not in each one anew."""
    speech = (Called("read_file", {}), Called("crm__lookup", {}), over())
    lines = told("ollama_chat", speech, stream=stream).splitlines()
    calls = [call for line in lines for call in json.loads(line)["message"].get("tool_calls", ())]
    assert [call["function"]["index"] for call in calls] == [0, 1]
