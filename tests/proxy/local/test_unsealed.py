"""What a server at home has signed or numbered itself goes on unsigned, by ids that clouds take."""

import json
from typing import Any

import pytest

from proxy.dialects.streams import Kind, decoder
from proxy.local.unsealed import Unsealed


def through(stream: bytes, kind: Kind) -> bytes:
    unsealed, events = Unsealed(), decoder(kind)
    out = [e for event in [*events.feed(stream), *events.end()] for e in unsealed.event(event)]
    assert (unsealed.held(), list(unsealed.let_go()), list(unsealed.end())) == (None, [], [])
    return b"".join(event.raw for event in out)


def sse(*events: Any) -> bytes:
    return b"".join(f"data: {json.dumps(event)}\n\n".encode() for event in events)


def told(stream: bytes) -> list[Any]:
    lines = [line.removeprefix(b"data: ") for line in stream.split(b"\n\n") if line]
    return [json.loads(line) for line in lines]


def test_thinking_of_a_message_is_not_signed() -> None:
    """Whole, and in the event that begins it; the event of the signature alone goes."""
    thinking = {"type": "thinking", "thinking": "Hm.", "signature": "c2VhbA=="}
    text = {"type": "text", "text": "signature"}
    whole = {"id": "msg_1", "type": "message", "content": [thinking, text]}
    assert json.loads(through(json.dumps(whole).encode(), "")) == {
        **whole,
        "content": [{**thinking, "signature": ""}, text],
    }
    begun = {"type": "content_block_start", "index": 0, "content_block": thinking}
    seal = {"type": "signature_delta", "signature": "c2VhbA=="}
    sealed = {"type": "content_block_delta", "index": 0, "delta": seal}
    stop = {"type": "content_block_stop", "index": 0}
    assert told(through(sse(begun, sealed, stop), "sse")) == [
        {**begun, "content_block": {**thinking, "signature": ""}},
        stop,
    ]


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content", "reasoning_details"])
def test_thoughts_of_a_completion_are_left_out(name: str) -> None:
    """Whole and streamed; all else stays."""
    message = {"role": "assistant", name: "Hm.", "content": "Yes."}
    without = {"role": "assistant", "content": "Yes."}
    whole = {"id": "1", "choices": [{"index": 0, "message": message}]}
    assert json.loads(through(json.dumps(whole).encode(), "")) == {
        "id": "1",
        "choices": [{"index": 0, "message": without}],
    }
    chunks = [{"choices": [{"index": 0, "delta": one}]} for one in ({name: "Hm."}, message)]
    assert told(through(sse(*chunks), "sse")) == [
        {"choices": [{"index": 0, "delta": one}]} for one in ({}, without)
    ]


def test_items_of_a_response_have_ids_of_their_kind() -> None:
    """The same one in every event of an answer; reasoning is known by its own, and not sealed."""
    call = {"type": "function_call", "id": "item-1", "call_id": "c", "arguments": ""}
    reasoning = {"type": "reasoning", "id": "item-0", "encrypted_content": "Hm.", "summary": []}
    bare = {"type": "reasoning", "summary": []}
    fine = {"type": "message", "id": "msg_2", "content": []}
    home = {**reasoning, "id": "rs_home_item-0", "encrypted_content": None}
    named = [home, {**call, "id": "fc_item-1"}, fine, {**bare, "id": "rs_home_"}]
    given = [reasoning, call, fine, bare]
    events = [{"type": "response.output_item.added", "item": item} for item in given[:2]]
    events.append({"type": "response.reasoning_summary_text.delta", "item_id": "item-0"})
    events.append({"type": "response.function_call_arguments.delta", "item_id": "item-1"})
    ended = {"type": "response.completed", "response": {"object": "response", "output": given}}
    *added, thought, delta, over = told(through(sse(*events, ended), "sse"))
    assert [event["item"] for event in added] == named[:2]
    assert (thought["item_id"], delta["item_id"]) == ("rs_home_item-0", "fc_item-1")
    assert over["response"]["output"] == named
    whole = json.dumps({"object": "response", "output": given}).encode()
    assert json.loads(through(whole, ""))["output"] == named


@pytest.mark.parametrize(
    "stream",
    [
        b'data: {"id":"chatcmpl-1","choices":[{"delta":{"content":"\\"reasoning\\""}}]}\n\n',
        b"data: [DONE]\n\n",
        b': "id"\n\n',
        b'data: {"id":1,"id":2}\n\n',
        b'data: "a \\"id\\" b"\n\n',
        b'data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"\\"id\\""}}\n\n',
    ],
)
def test_all_else_stays_byte_for_byte(stream: bytes) -> None:
    """Also what cannot be read for certain."""
    assert through(stream, "sse") == stream
