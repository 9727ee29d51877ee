"""The scripted vendors: their rules, their errors, their streams in detail."""

import json

import pytest

from proxy.demo.upstream import Framing, Recorded, Reply
from proxy.demo.vendors import vendor

USER = {"role": "user", "content": "Read a.md."}
TOOL = {"name": "read_file"}
USE = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a.md"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
CALL = {"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}


def ask(path: str, body: object, method: str = "POST") -> Reply:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return vendor(Recorded(method, path, (), raw))


def value(reply: Reply) -> dict[str, object]:
    [chunk] = reply.chunks
    assert isinstance(chunk, bytes)
    found = json.loads(chunk)
    assert isinstance(found, dict)
    return found


def messages(*history: object, **more: object) -> Reply:
    return ask("/v1/messages", {"max_tokens": 1, "messages": history, **more})


def chat(*history: object, **more: object) -> Reply:
    return ask("/v1/chat/completions", {"messages": history, **more})


def kinds(reply: Reply) -> list[str]:
    assert reply.framing is Framing.CHUNKED
    text = b"".join(chunk for chunk in reply.chunks if isinstance(chunk, bytes)).decode()
    return [line.removeprefix("event: ") for line in text.splitlines() if line.startswith("event")]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (ask("/v1/messages", b"{"), "not a JSON object"),
        (ask("/v1/messages", {"messages": [USER]}), "max_tokens"),
        (messages(), "messages: a list"),
        (messages({"role": "assistant", "content": "x"}), "first message"),
        (messages({"role": "user", "content": [{"type": "text", "text": ""}]}), "non-empty"),
        (messages(USER, {"role": "assistant", "content": [USE]}, USER), "has no result"),
        (messages({"role": "user", "content": [RESULT]}), "answers no call"),
        (
            messages(
                USER,
                {"role": "assistant", "content": [USE]},
                {"role": "user", "content": [{"type": "text", "text": "x"}, RESULT]},
            ),
            "come first",
        ),
        (chat({"role": "assistant", "content": None}), "null"),
        (chat(USER, {"role": "assistant", "tool_calls": [CALL]}), "has no result"),
        (chat(USER, {"role": "tool", "tool_call_id": "c1", "content": "x"}), "answers no call"),
        (ask("/v1/responses", {"input": []}), "input: a list"),
        (
            ask("/v1/responses", {"input": [{"type": "function_call", "call_id": "c"}]}),
            "has no result",
        ),
        (ask("/api/chat", {"messages": [{"role": "user", "content": []}]}), "must be a string"),
        (ask("/api/chat", {"messages": []}), "messages: a list"),
    ],
)
def test_a_body_that_the_vendor_would_refuse_is_refused(reply: Reply, why: str) -> None:
    """The rules that a relay could break are checked, and the 400 says which."""
    assert reply.status == 400
    assert why in json.dumps(value(reply))


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/v1/messages/x", {"type", "error", "request_id"}),
        ("/v1/other", {"error"}),
        ("/api/other", {"error"}),
    ],
)
def test_an_unknown_path_is_a_404_in_the_nearest_shape(path: str, shape: set[str]) -> None:
    """Errors have the vendor's own shape."""
    reply = ask(path, {})
    assert reply.status == 404
    assert set(value(reply)) == shape
    assert isinstance(value(reply)["error"], str) is path.startswith("/api/")


def test_the_same_body_has_the_same_answer_and_another_has_other_ids() -> None:
    """A vendor is a function of the body that it received."""
    first, again = messages(USER, tools=[TOOL]), messages(USER, tools=[TOOL])
    other = messages(USER, tools=[TOOL], model="m")
    assert value(first) == value(again)
    assert value(first)["content"] != value(other)["content"]


def test_an_undeclared_tool_is_not_called() -> None:
    """A model calls only what the request declares."""
    assert value(messages(USER))["stop_reason"] == "end_turn"
    assert value(messages(USER, tools=[TOOL]))["stop_reason"] == "tool_use"


def test_tokens_are_counted() -> None:
    """A quarter of the bytes, and the same rule for a missing history."""
    assert value(ask("/v1/messages/count_tokens", {"messages": [USER]})) == {"input_tokens": 14}
    assert ask("/v1/messages/count_tokens", {}).status == 400


def test_messages_events_come_in_their_order() -> None:
    """One block with its deltas between start and end, and a ping."""
    assert kinds(messages(USER, tools=[TOOL], stream=True)) == [
        "message_start",
        "ping",
        "content_block_start",
        *["content_block_delta"] * 3,
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_responses_events_come_in_their_order() -> None:
    """A message item with one part; a plain string is an input as well."""
    assert kinds(ask("/v1/responses", {"input": "Hello", "stream": True})) == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        *["response.output_text.delta"] * 5,
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]


def test_chat_usage_comes_only_when_it_is_asked_for() -> None:
    """The chunk without choices needs `include_usage`; `[DONE]` always ends the stream."""
    plain = list(chat(USER, stream=True).chunks)
    asked = list(chat(USER, stream=True, stream_options={"include_usage": True}).chunks)
    assert plain[-1] == asked[-1] == b"data: [DONE]\n\n"
    assert len(asked) == len(plain) + 1
    assert not any(b"usage" in chunk for chunk in plain if isinstance(chunk, bytes))


def test_ollama_streams_unless_told_not_to() -> None:
    """`stream` is true when absent."""
    streamed = ask("/api/chat", {"messages": [USER]})
    assert streamed.framing is Framing.CHUNKED
    assert dict(streamed.headers)["content-type"] == "application/x-ndjson"
    assert value(ask("/api/chat", {"messages": [USER], "stream": False}))["done"] is True


@pytest.mark.parametrize(
    ("body", "status"),
    [({"model": "a"}, 200), ({"name": "a"}, 200), ({"model": "a-cloud"}, 404), ({}, 404)],
)
def test_only_local_models_are_shown(body: object, status: int) -> None:
    """`/api/show` knows every name but none of the cloud's, by the old key as well."""
    reply = ask("/api/show", body)
    assert reply.status == status
    assert "remote_host" not in value(reply)


def test_ollama_control_paths_answer() -> None:
    """The list of models and the version."""
    assert "models" in value(ask("/api/tags", b"", "GET"))
    assert "version" in value(ask("/api/version", b"", "GET"))
