"""The events of answers from home, one by one: strictly of the SDKs' types, in order, and adding up
to the very answer that goes out whole."""

import json
from typing import Any

import pytest
from anthropic.types import Message, RawMessageStreamEvent
from hypothesis import given, settings
from hypothesis import strategies as st
from ollama import ChatResponse
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from proxy.dialects import ALL
from proxy.local.talk import Called, Ended, Speech, Text, Thinking
from tests.proxy.local.writers.telling import (
    ANSWERS,
    DIALECTS,
    ESTIMATE,
    KEY,
    NAMES,
    READ,
    WRITTEN,
    events,
    make,
    over,
    told,
)

EVENTS: dict[str, TypeAdapter[Any]] = {
    "anthropic_messages": TypeAdapter(RawMessageStreamEvent),
    "openai_chat": TypeAdapter(ChatCompletionChunk),
    "openai_responses": TypeAdapter(ResponseStreamEvent),
    "ollama_chat": TypeAdapter(ChatResponse),
}
WHOLE: dict[str, TypeAdapter[Any]] = {
    "anthropic_messages": TypeAdapter(Message),
    "openai_chat": TypeAdapter(ChatCompletion),
    "openai_responses": TypeAdapter(Response),
    "ollama_chat": TypeAdapter(ChatResponse),
}
# Of custom tools the SDK has a type for the whole answer alone.
SPOKEN = st.one_of(
    st.builds(Text, st.sampled_from(["a", " ", "\n\n", "", "näh 🧅"])),
    st.builds(Thinking, st.sampled_from(["hm", " "])),
    st.builds(
        Called,
        st.sampled_from(["read_file", "crm__lookup"]),
        st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=2),
        st.sampled_from(["", "call_1", "call_2", "not legal", "x" * 41]),
    ),
)
SPEECHES = st.tuples(st.lists(SPOKEN, max_size=8), st.sampled_from(["stop", "length"])).map(
    lambda both: [*both[0], over(both[1])]
)


def added_up(dialect: str, stream: list[Any]) -> Any:
    """The whole answer that a stream amounts to, by the plainest reading of it."""
    return {
        "anthropic_messages": _message,
        "openai_chat": _completion,
        "openai_responses": _response,
        "ollama_chat": _lines,
    }[dialect](stream)


def _message(stream: list[Any]) -> Any:
    first, *middle, delta, last = stream
    message = first["message"]
    raw = ""
    for event in middle:
        index = event["index"]
        if event["type"] == "content_block_start":
            assert index == len(message["content"])
            message["content"].append(event["content_block"])
            raw = ""
            continue
        assert index == len(message["content"]) - 1
        block = message["content"][index]
        if event["type"] == "content_block_stop":
            block |= {"input": json.loads(raw)} if raw else {}
            continue
        match event["delta"]:
            case {"type": "input_json_delta", "partial_json": part}:
                raw += part
            case {"type": "text_delta" | "thinking_delta", **piece}:
                for field, part in piece.items():
                    block[field] += part
    assert last == {"type": "message_stop"}
    return {**message, **delta["delta"], "usage": delta["usage"]}


def _completion(stream: list[Any]) -> Any:
    *chunks, usage = stream
    assert usage["choices"] == []
    message: dict[str, Any] = {}
    for chunk in chunks:
        assert chunk["usage"] is None
        delta = chunk["choices"][0]["delta"]
        for call in delta.pop("tool_calls", ()):
            assert call.pop("index") == len(message.setdefault("tool_calls", []))
            message["tool_calls"].append(call)
        for field, part in delta.items():
            message[field] = message.get(field, "") + part
    if "tool_calls" in message:
        message["content"] = message["content"] or None
    choice = {**chunks[-1]["choices"][0], "message": {**message, "refusal": None}}
    del choice["delta"]
    base = {**usage, "object": "chat.completion"}
    return {**base, "choices": [choice]}


def _response(stream: list[Any]) -> Any:
    assert [event["sequence_number"] for event in stream] == [*range(len(stream))]
    done = [event["item"] for event in stream if event["type"] == "response.output_item.done"]
    assert stream[-1]["response"]["output"] == done
    indices = [event["output_index"] for event in stream if "output_index" in event]
    assert indices == sorted(indices)
    for item in done:
        mine = [event for event in stream if event.get("item_id") == item["id"]]
        deltas = "".join(e["delta"] for e in mine if e["type"].endswith(".delta"))
        ends = [e.get("text", e.get("arguments", e.get("input"))) for e in mine]
        assert deltas in ends
        match item:
            case {"type": "function_call", "arguments": said} | {"input": said}:
                assert said == deltas
            case {"content": [part]} | {"summary": [part]}:
                assert part["text"] == deltas
    return stream[-1]["response"]


def _lines(stream: list[Any]) -> Any:
    message: dict[str, Any] = {"role": "assistant", "content": ""}
    for line in stream:
        said = line["message"]
        message["content"] += said["content"]
        if "thinking" in said:
            message["thinking"] = message.get("thinking", "") + said["thinking"]
        if "tool_calls" in said:
            message["tool_calls"] = message.get("tool_calls", []) + said["tool_calls"]
    return {**stream[-1], "message": message}


ASKED: Any = {"stream_options": {"include_usage": True}, "tools": [], "tool_choice": "auto"}


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=60)
@given(SPEECHES)
def test_every_answer_is_of_the_sdks_types_and_the_same_either_way(
    dialect: str, speech: list[Speech]
) -> None:
    """Whatever a model says, in whatever order: no field is missing, no event out of place, and
    the events are the whole answer."""
    stream = events(dialect, speech, asked=ASKED)
    for event in stream:
        EVENTS[dialect].validate_python(event)
    whole = json.loads(told(dialect, speech, stream=False, asked=ASKED))
    WHOLE[dialect].validate_python(whole)
    assert added_up(dialect, stream) == whole


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=60)
@given(SPEECHES)
def test_nothing_blank_and_nothing_twice(dialect: str, speech: list[Speech]) -> None:
    """No text that the API would not take back, and each id once."""
    whole = told(dialect, speech, stream=False)
    blocks = json.loads(whole).get("content") or json.loads(whole).get("output") or []
    ids = [
        found
        for block in blocks
        for found in (block.get("id"), block.get("call_id"))
        if found is not None
    ]
    assert len(set(ids)) == len(ids)
    for block in blocks:
        text = "".join(p["text"] for p in block.get("content", [])) or block.get("text", "x")
        assert text.strip()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_thoughts_are_told_where_they_were_asked_for(dialect: str) -> None:
    """Else not a word of them."""
    speech = (Thinking("psst"), Text("Yes."), Thinking("psst"), over())
    for stream in (False, True):
        assert b"psst" in told(dialect, speech, stream=stream)
        silent = told(dialect, speech, stream=stream, thinking=False)
        assert b"psst" not in silent
        assert b"thinking" not in silent
        assert b"reasoning" not in silent.replace(b"reasoning_tokens", b"")
        assert b"Yes." in silent


def test_a_thinking_block_has_an_empty_signature() -> None:
    """Clients send it back so, and by that it is known for one of ours."""
    whole = json.loads(told("anthropic_messages", (Thinking("hm"), over()), stream=False))
    assert whole["content"] == [{"type": "thinking", "thinking": "hm", "signature": ""}]
    [start] = [
        e for e in events("anthropic_messages", (Thinking("hm"), over())) if "content_block" in e
    ]
    assert start["content_block"]["signature"] == ""


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ANSWERS)
def test_a_sentence_of_ours_stands_first(dialect: str, name: str) -> None:
    """Once, before the text, on a line of its own; also where there is no text."""
    speech, text = ANSWERS[name].speech, ANSWERS[name].text
    ours = "Answered at home."
    whole = told(dialect, speech, stream=False, explain=ours)
    told_text = json.dumps(f"{ours}\n\n{text}" if text else ours, ensure_ascii=False).encode()
    assert whole.count(told_text) == 1
    assert whole.count(ours.encode()) == 1
    stream = events(dialect, speech, explain=ours, asked=ASKED)
    raw = json.dumps(stream)
    assert json.dumps(added_up(dialect, stream)).count(ours) == 1
    if "call" in name and not text:
        assert raw.index(ours) < raw.index("read_file")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_tokens_are_estimated_before_and_where_the_server_does_not_count(dialect: str) -> None:
    """A client that watches its context must not read a zero."""
    [first, *_] = events(dialect, (Text("a"), over()))
    if dialect == "anthropic_messages":
        assert first["message"]["usage"]["input_tokens"] == ESTIMATE
    whole = told(dialect, (Ended("stop", 0, WRITTEN),), stream=False)
    assert f":{ESTIMATE},".encode() in whole
    assert f":{ESTIMATE}," not in told(dialect, (over(),), stream=False).decode()
    assert f":{READ}," in told(dialect, (over(),), stream=False).decode()


def test_chat_tells_tokens_in_a_stream_only_where_asked() -> None:
    """A chunk without choices breaks clients that did not ask for it."""
    assert b'"usage"' not in told("openai_chat", (Text("a"), over()), stream=True)
    assert b'"usage"' in told("openai_chat", (Text("a"), over()), stream=False)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_whole_answer_gives_nothing_before_its_end(dialect: str) -> None:
    """Neither when it begins, nor to keep a client waiting."""
    teller = make(dialect, stream=False)
    assert teller.begin(ESTIMATE) == teller.say(Text("a")) == teller.keep_alive() == b""
    assert json.loads(teller.end())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_headers_are_those_of_the_dialects_other_answers(dialect: str) -> None:
    """Content type and request id."""
    for stream in (False, True):
        final, _ = ALL[dialect].final("a", model="m", stream=stream, key=KEY, now=0)
        assert make(dialect, stream=stream).headers == final


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_undeclared_tool_cannot_be_written(dialect: str) -> None:
    """Should the check before ever be left out."""
    with pytest.raises(KeyError):
        make(dialect, stream=True).say(Called("rm_rf", {}))
    assert "rm_rf" not in NAMES


def test_another_dialect_has_no_writer() -> None:
    """There is no conversation in it."""
    with pytest.raises(KeyError):
        make("plain_text", stream=True)


def test_an_answer_is_cut_by_a_limit_only_where_it_ends_in_text() -> None:
    """A message that broke off says so; a call is whole, and the client has to carry it out."""
    cut = json.loads(told("openai_responses", (Text("It"), over("length")), stream=False))
    assert [item["status"] for item in cut["output"]] == ["incomplete"]
    assert cut["incomplete_details"] == {"reason": "max_output_tokens"}
    speech = (Text("It"), Called("read_file", {}), Text("is"), over("length"))
    response = json.loads(told("openai_responses", speech, stream=False))
    assert [item["status"] for item in response["output"]] == ["completed"] * 3
    assert (response["status"], response["incomplete_details"]) == ("completed", None)
    message = json.loads(told("anthropic_messages", speech, stream=False))
    assert message["stop_reason"] == "tool_use"
    [choice] = json.loads(told("openai_chat", speech, stream=False))["choices"]
    assert choice["finish_reason"] == "tool_calls"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_blank_before_a_call_does_not_come_behind_it(dialect: str) -> None:
    """It is gone, not late."""
    speech = (Text("\n\n"), Called("read_file", {}), Text("Yes."), over())
    for stream in (False, True):
        assert b"\\n" not in told(dialect, speech, stream=stream)
        assert b'"Yes."' in told(dialect, speech, stream=stream)


SAID: Any = {
    "max_output_tokens": 64000,
    "metadata": {"a": "ä"},
    "parallel_tool_calls": False,
    "reasoning": {"effort": "high"},
    "temperature": 0.25,
    "text": {"verbosity": "low"},
    "tool_choice": {"type": "function", "name": "read_file"},
    "tools": [{"type": "function", "name": "read_file", "parameters": {"x": 1e-7}, "strict": None}],
    "top_p": 1,
}


def test_a_response_says_what_the_request_said_of_itself() -> None:
    """In the first event as in the last, to the last field."""
    speech = (Text("a"), over())
    first, *_, last = events("openai_responses", speech, asked={**SAID, "input": "x"})
    whole = json.loads(told("openai_responses", speech, stream=False, asked={**SAID, "input": "x"}))
    for response in (first["response"], last["response"], whole):
        assert {field: response[field] for field in SAID} == SAID
        assert "input" not in response
        WHOLE["openai_responses"].validate_python(response)


@pytest.mark.parametrize("odd", [None, "odd", 7.5, [1], True, {"a": 1}])
def test_what_a_request_cannot_mean_is_not_said_again(odd: object) -> None:
    """The fields that the SDK's type demands are there all the same, in their kind."""
    asked = dict.fromkeys(SAID, odd)
    whole = json.loads(told("openai_responses", (over(),), stream=False, asked=asked))
    assert isinstance(whole["tools"], list)
    assert isinstance(whole["parallel_tool_calls"], bool)
    assert isinstance(whole["tool_choice"], str | dict)
    plain = json.loads(told("openai_responses", (over(),), stream=False))
    assert (plain["tools"], plain["parallel_tool_calls"], plain["tool_choice"]) == (
        [],
        True,
        "auto",
    )
