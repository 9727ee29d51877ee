"""The text of an answer is gathered, in each dialect that a server may speak."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from proxy.dialects.streams import Kind, decoder
from proxy.local import texts
from proxy.local.texts import Texts


def heard(kind: Kind, *chunks: bytes) -> list[str]:
    texts, events = Texts(), decoder(kind)
    for event in [*(each for chunk in chunks for each in events.feed(chunk)), *events.end()]:
        with suppress(ValueError):
            texts.add(json.loads(event.data or ""))
    return texts.all()


WHOLE = {
    b'{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"x"}]}': "a\n",
    b'{"choices":[{"message":{"content":"a"}},{"message":{}}]}': "a",
    b'{"object":"response","output":[{"content":[{"text":"a"}]},{"type":"r"}]}': "a\n",
    b'{"other":1}': "",
    b"no JSON": "",
}


@pytest.mark.parametrize("body", WHOLE)
def test_whole_answers(body: bytes) -> None:
    """Their text; of what is no answer nothing."""
    assert heard("", body[:5], body[5:]) == [WHOLE[body]]


def test_streams() -> None:
    """Deltas are joined, as they may be a letter long."""
    events = (
        b'data: {"type":"content_block_delta","delta":{"text":"a"}}\n\n'
        b'data: {"type":"response.output_text.delta","delta":"b"}\n\n'
        b'data: {"choices":[{"delta":{"content":"c"}}]}\n\n: hello\n\ndata: [DONE]\n\n'
    )
    assert heard("sse", *(events[at : at + 1] for at in range(len(events)))) == ["abc"]


def test_the_streams_of_the_vendors_have_text() -> None:
    """The recorded ones, but for those of Ollama, which is not asked this way."""
    folder = Path(__file__).parents[2] / "wire" / "streams"
    names = [each for each in folder.glob("*.txt") if "ollama" not in each.name]
    assert sum(bool("".join(heard("sse", each.read_bytes()))) for each in names) >= 3


def test_an_endless_answer_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows is left out."""
    monkeypatch.setattr(texts, "MOST", 2)
    event = b'data: {"choices":[{"delta":{"content":"abc"}}]}\n\n'
    assert heard("sse", event * 3) == ["abc"]


def given(arguments: str, **more: Any) -> dict[str, Any]:
    return {**more, "function": {"arguments": arguments}}


CALLS: list[dict[str, Any]] = [
    {
        "role": "assistant",
        "content": [
            {"type": "tool_use", "input": {"a": ["x", 1, None]}},
            {"type": "tool_use", "input": {"b": {"c": "y"}}},
        ],
    },
    {
        "choices": [
            {"message": {"tool_calls": [given('{"a": "x"}'), 1, {"custom": {"input": "y"}}]}},
            {},
        ]
    },
    {"object": "response", "output": [{"arguments": '{"a": "x"}'}, {"input": "y"}, 2]},
]


@pytest.mark.parametrize("answer", CALLS)
def test_what_tools_are_given_is_told_as_well(answer: dict[str, Any]) -> None:
    """Every string of it; all of it where it is no JSON. None of it is text."""
    assert heard("", json.dumps(answer).encode()) == ["", "x", "y"]


def block(index: int, piece: str) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"partial_json": piece}}


def delta(index: int, piece: str) -> dict[str, Any]:
    return {"choices": [{"delta": {"tool_calls": [given(piece, index=index)]}}]}


def done(kind: str, at: int, **more: str) -> dict[str, Any]:
    return {"type": f"response.{kind}.done", "output_index": at, **more}


STREAMED = {
    "anthropic": [block(1, '{"a": "x'), block(2, '["z"]'), block(1, 'y"}')],
    "chat": [delta(0, '["x'), delta(1, "z"), delta(0, 'y"]')],
    "responses": [
        done("function_call_arguments", 0, arguments='{"a": "xy"}'),
        done("custom_tool_call_input", 1, input="z"),
    ],
}


@pytest.mark.parametrize("dialect", STREAMED)
def test_pieces_of_what_tools_are_given_are_joined(dialect: str) -> None:
    """Per call, however they come mixed."""
    events = [f"data: {json.dumps(each)}\n\n".encode() for each in STREAMED[dialect]]
    assert heard("sse", *events) == ["", "xy", "z"]


def test_what_tools_are_given_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the same measure."""
    monkeypatch.setattr(texts, "MOST", 2)
    event = b'data: {"type":"response.custom_tool_call_input.done","input":"abc"}\n\n'
    assert heard("sse", event * 3) == ["", "abc"]
