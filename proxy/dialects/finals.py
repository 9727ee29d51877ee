"""Whole answers of ours in each dialect, and what keeps a stream alive that is held.

Owns the shapes (wire.md 2): an answer that says one text and stops, as one JSON value or as the
complete stream of its events. It must not know what is said, nor why.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from proxy.dialects.encoding import lined, named, unnamed
from proxy.dialects.errors import JSON
from proxy.lazyjson import dump

EVENTS = "text/event-stream; charset=utf-8"
LINES = "application/x-ndjson"

Final = tuple[dict[str, str], bytes]
"""Headers and body."""

ANTHROPIC_ALIVE = named(dump({"type": "ping"}))
COMMENT = b": keep-alive\n\n"
RESPONSES_ALIVE = named(dump({"type": "keepalive", "sequence_number": 0}))
"""An event of a type that no client knows, as Codex counts comments as silence (wire.md 5.4).
Only behind the first event: the SDK's helper wants to see that one first."""

_NOTHING_YET = {"model": "", "created_at": "1970-01-01T00:00:00Z", "done": False}
OLLAMA_ALIVE = lined(dump({**_NOTHING_YET, "message": {"role": "assistant", "content": ""}}))
"""A line that says nothing yet; a blank one would break the SDK (wire.md 2.4)."""
OLLAMA_GENERATE_ALIVE = lined(dump({**_NOTHING_YET, "response": ""}))


def anthropic(text: str, *, model: str, stream: bool, key: str) -> Final:
    """One text block, `end_turn`. No tokens were used."""
    usage = {
        "input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": 0,
    }
    message: dict[str, object] = {
        "id": f"msg_{key}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }
    headers = {"content-type": EVENTS if stream else JSON, "request-id": f"req_{key}"}
    if not stream:
        return headers, dump(message)
    begun = {**message, "content": [], "stop_reason": None}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    story: tuple[dict[str, object], ...] = (
        {"type": "message_start", "message": begun},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": text},
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": usage},
        {"type": "message_stop"},
    )
    return headers, b"".join(named(dump(event)) for event in story)


def chat(text: str, *, model: str, stream: bool, key: str, now: int, usage: bool) -> Final:
    """One choice, `stop`. `usage`: the stream was asked to end with a chunk about tokens."""
    base: dict[str, object] = {"id": f"chatcmpl-{key}", "created": now, "model": model}
    spent = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    headers = {"content-type": EVENTS if stream else JSON, "x-request-id": f"req_{key}"}
    said = {"role": "assistant", "content": text, "refusal": None}
    choice: dict[str, object] = {"index": 0, "logprobs": None}
    if not stream:
        choices = [{**choice, "message": said, "finish_reason": "stop"}]
        whole = {**base, "object": "chat.completion", "choices": choices, "usage": spent}
        return headers, dump(whole)
    base["object"] = "chat.completion.chunk"
    if usage:
        base["usage"] = None
    parts: tuple[dict[str, object], ...] = (
        {"delta": {"role": "assistant", "content": ""}, "finish_reason": None},
        {"delta": {"content": text}, "finish_reason": None},
        {"delta": {}, "finish_reason": "stop"},
    )
    chunks = [{**base, "choices": [{**choice, **part}]} for part in parts]
    if usage:
        chunks.append({**base, "choices": [], "usage": spent})
    return headers, b"".join(unnamed(dump(chunk)) for chunk in chunks) + b"data: [DONE]\n\n"


def responses(text: str, *, model: str, stream: bool, key: str, now: int) -> Final:
    """One message with one part, `completed`."""
    headers = {"content-type": EVENTS if stream else JSON, "x-request-id": f"req_{key}"}
    message = response_message(text, key)
    response = _response(message, model=model, key=key, now=now)
    if not stream:
        return headers, dump(response)
    story = enumerate(_story(response, message, text))
    events = (named(dump({**event, "sequence_number": number})) for number, event in story)
    return headers, b"".join(events)


def response_message(text: str, key: str) -> dict[str, object]:
    """An item of a response that says `text`."""
    return {
        "id": f"msg_{key}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}],
    }


def _response(message: dict[str, object], *, model: str, key: str, now: int) -> dict[str, object]:
    """The fields that the SDK's type demands."""
    return {
        "id": f"resp_{key}",
        "object": "response",
        "created_at": now,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": [message],
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "none",
        "tools": [],
        "top_p": None,
        "usage": {
            "input_tokens": 0,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 0,
        },
    }


def _story(
    response: dict[str, object], message: dict[str, object], text: str
) -> Iterator[dict[str, object]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    yield from message_story(message, text, 0)
    yield {"type": "response.completed", "response": response}


def message_story(message: dict[str, object], text: str, index: int) -> Iterator[dict[str, object]]:
    """The events of a message that says `text`, as the item number `index`."""
    opened = {**message, "status": "in_progress", "content": []}
    yield {"type": "response.output_item.added", "output_index": index, "item": opened}
    at = {"item_id": message["id"], "output_index": index, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    yield {"type": "response.content_part.added", **at, "part": part}
    yield {"type": "response.output_text.delta", **at, "delta": text, "logprobs": []}
    yield {"type": "response.output_text.done", **at, "text": text, "logprobs": []}
    yield {"type": "response.content_part.done", **at, "part": {**part, "text": text}}
    yield {"type": "response.output_item.done", "output_index": index, "item": message}


def ollama(text: str, *, model: str, stream: bool, now: int) -> Final:
    """One message, `stop`. Streamed: the text in one line, then the line that is done."""
    when = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    base: dict[str, object] = {"model": model, "created_at": when}
    done = {"done": True, "done_reason": "stop", "total_duration": 0, "load_duration": 0}
    done |= {"prompt_eval_count": 0, "prompt_eval_duration": 0, "eval_count": 0}
    done |= {"eval_duration": 0}
    said = {"role": "assistant", "content": text}
    if not stream:
        return {"content-type": JSON}, dump({**base, "message": said, **done})
    first = {**base, "message": said, "done": False}
    last = {**base, "message": {"role": "assistant", "content": ""}, **done}
    return {"content-type": LINES}, lined(dump(first)) + lined(dump(last))
