"""`proxy.local.foreword`: a sentence before the text of an answer, wherever that text stands."""

import json
from typing import Any

import pytest

from proxy.dialects.streams import Kind, decoder
from proxy.lazyjson import read
from proxy.local.foreword import Foreword, asks_for_form

WORDS = "Answered here."
SAID = f"{WORDS}\n\nHi."


def through(kind: Kind, *values: Any) -> list[Any]:
    """The events behind the filter, decoded; what is not edited has its bytes."""
    foreword, events = Foreword(WORDS), decoder(kind)
    whole = [json.dumps(value, indent=1).encode() for value in values]
    sent = (
        whole[0] if not kind else b"".join(b"data: %b\n\n" % w.replace(b"\n", b"") for w in whole)
    )
    found = []
    for event in [*events.feed(sent), *events.end()]:
        (passed,) = foreword.event(event)
        assert (passed is event) == (WORDS not in passed.raw.decode())
        assert passed.data is not None
        assert passed.data in passed.raw.decode()
        found.append(json.loads(passed.data))
    assert (foreword.held(), list(foreword.let_go()), list(foreword.end())) == (None, [], [])
    return found


def delta(text: str) -> dict[str, Any]:
    return {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "text_delta", "text": text},
    }


def chunk(**said: Any) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": said}]}


def test_messages() -> None:
    """Before the first delta that says something, and no other; thoughts and calls are no text."""
    start = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    }
    thought = {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "Hm"}}
    sent = [thought, start, delta(""), delta("Hi."), delta("Hi."), {"type": "message_stop"}]
    assert through("sse", *sent) == [*sent[:3], delta(SAID), *sent[4:]]
    begun = {**start, "content_block": {"type": "text", "text": "Hi."}}
    told = {**start, "content_block": {"type": "text", "text": SAID}}
    assert through("sse", begun, delta("Hi.")) == [told, delta("Hi.")]


def test_chat() -> None:
    """The first choice, once there is a word of it."""
    sent = [chunk(role="assistant", content=""), chunk(content=None), chunk(content="Hi."), chunk()]
    assert through("sse", *sent, {"choices": []}) == [
        *sent[:2],
        chunk(content=SAID),
        chunk(),
        {"choices": []},
    ]


def response(*texts: str) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text} for text in texts]
    items = [{"type": "reasoning", "summary": []}, {"type": "message", "content": parts}]
    return {"object": "response", "output": items if texts else []}


def test_responses() -> None:
    """In its first delta and wherever the whole of that text comes again, not in the next one's."""

    def events(text: str) -> list[dict[str, Any]]:
        at = {"output_index": 1, "content_index": 0}
        other = {"output_index": 1, "content_index": 1}
        part = {"type": "output_text", "text": text}
        item = response(text, "Ho.")["output"][1]
        return [
            {"type": "response.created", "response": response()},
            {"type": "response.output_text.delta", **at, "delta": text},
            {"type": "response.output_text.delta", **at, "delta": "Ha."},
            {"type": "response.output_text.done", **at, "text": text},
            {"type": "response.content_part.done", **at, "part": part},
            {"type": "response.output_text.delta", **other, "delta": "Ho."},
            {"type": "response.output_text.done", **other, "text": "Ho."},
            {"type": "response.output_item.done", "output_index": 0, "item": {"type": "reasoning"}},
            {"type": "response.output_item.done", "output_index": 1, "item": item},
            {"type": "response.completed", "response": response(text, "Ho.")},
        ]

    assert through("sse", *events("Hi.")) == events(SAID)


@pytest.mark.parametrize(
    "last",
    [
        {"type": "response.completed", "response": response()},
        {"type": "response.output_item.done", "output_index": 0},
        {"type": "response.output_text.done", "output_index": 7, "text": "Hi."},
    ],
)
def test_what_a_stream_does_not_have_is_not_looked_for(last: dict[str, Any]) -> None:
    """Servers leave out what they like."""
    begun = {"type": "response.output_text.delta", "delta": "Hi."}
    assert through("sse", begun, last)[1] == last


WHOLE: dict[str, Any] = {
    "messages": lambda text: {
        "type": "message",
        "content": [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": text}],
    },
    "messages without a type": lambda text: {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
    },
    "chat": lambda text: {"choices": [{"message": {"role": "assistant", "content": text}}]},
    "responses": lambda text: response(text, "Ho."),
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_answers(name: str) -> None:
    """Before their first text."""
    assert through("", WHOLE[name]("Hi.")) == [WHOLE[name](SAID)]


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "message", "content": [{"type": "tool_use", "name": "a", "input": {"text": "b"}}]},
        {"choices": [{"message": {"content": None, "tool_calls": []}}]},
        {"object": "response", "output": [{"type": "function_call", "arguments": "{}"}]},
        {"error": {"message": "no"}},
        {"type": "error", "error": {"message": "no"}},
    ],
)
def test_an_answer_without_text_has_none(answer: dict[str, Any]) -> None:
    """Nothing is made up to hold it."""
    assert through("", answer) == [answer]


@pytest.mark.parametrize("body", [b'{"type": "message", "Type": "x"}', b'"no object"', b"{no JSON"])
def test_what_cannot_be_read_passes(body: bytes) -> None:
    """As it came."""
    foreword, events = Foreword(WORDS), decoder("")
    events.feed(body)
    (event,) = events.end()
    assert [*foreword.event(event)] == [event]


FORMS = {
    b'{"response_format": {"type": "json_object"}}': True,
    b'{"response_format": {"type": "text"}}': False,
    b'{"text": {"format": {"type": "json_schema"}}}': True,
    b'{"text": {"verbosity": "low"}}': False,
    b'{"output_config": {"format": {"type": "json_schema"}}}': True,
    b'{"messages": []}': False,
}


@pytest.mark.parametrize("body", FORMS)
def test_answers_in_a_form_are_told_apart(body: bytes) -> None:
    """In each dialect's word for it."""
    assert asks_for_form(read(body).root) == FORMS[body]
