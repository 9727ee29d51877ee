"""Whole answers of ours in each dialect, and what keeps a stream alive that is held.

Owns the order of what they are made of: an answer that says one text and stops, as one JSON value
or as the complete stream of its events. It must not know what is said, nor why.
"""

from collections.abc import Iterator

from proxy.dialects import shapes
from proxy.dialects.encoding import lined, named, unnamed
from proxy.dialects.errors import JSON
from proxy.lazyjson import dump

EVENTS = "text/event-stream; charset=utf-8"
LINES = "application/x-ndjson"

Final = tuple[dict[str, str], bytes]
"""Headers and body."""

ANTHROPIC_ALIVE = named(dump({"type": "ping"}))
DONE = b"data: [DONE]\n\n"
"""What a stream of Chat ends with."""
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
    usage = shapes.anthropic_usage()
    message = shapes.anthropic_message(key, model, usage)
    headers = {"content-type": EVENTS if stream else JSON, "request-id": f"req_{key}"}
    if not stream:
        content = [{"type": "text", "text": text}]
        return headers, dump({**message, "content": content, "stop_reason": "end_turn"})
    story = (
        {"type": "message_start", "message": message},
        shapes.block_started(0, {"type": "text", "text": ""}),
        shapes.block_delta(0, {"type": "text_delta", "text": text}),
        shapes.block_stopped(0),
        *shapes.message_stopped("end_turn", None, usage),
    )
    return headers, b"".join(named(dump(event)) for event in story)


def chat(text: str, *, model: str, stream: bool, key: str, now: int, usage: bool) -> Final:
    """One choice, `stop`. `usage`: the stream was asked to end with a chunk about tokens."""
    base, spent = shapes.completion(key, model, now), shapes.chat_usage()
    headers = {"content-type": EVENTS if stream else JSON, "x-request-id": f"req_{key}"}
    if not stream:
        message = shapes.said(text, refusal=None)
        return headers, dump(shapes.completed(base, message, "stop", spent))
    base = shapes.chunk_base(base, usage=usage)
    chunks = [
        shapes.chunk(base, shapes.said("")),
        shapes.chunk(base, {"content": text}),
        shapes.chunk(base, {}, "stop"),
    ]
    if usage:
        chunks.append({**base, "choices": [], "usage": spent})
    return headers, b"".join(unnamed(dump(chunk)) for chunk in chunks) + DONE


def responses(text: str, *, model: str, stream: bool, key: str, now: int) -> Final:
    """One message with one part, `completed`."""
    headers = {"content-type": EVENTS if stream else JSON, "x-request-id": f"req_{key}"}
    message = response_message(text, key)
    begun = shapes.response(key, model, now)
    response = shapes.response_over(begun, [message], shapes.response_usage())
    if not stream:
        return headers, dump(response)
    story = enumerate(_story(begun, response, message, text))
    events = (named(dump({**event, "sequence_number": number})) for number, event in story)
    return headers, b"".join(events)


def response_message(text: str, key: str) -> dict[str, object]:
    """An item of a response that says `text`."""
    return shapes.message_item(f"msg_{key}", text)


def _story(
    begun: shapes.Shape, response: shapes.Shape, message: shapes.Shape, text: str
) -> Iterator[shapes.Shape]:
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    yield from message_story(message, text, 0)
    yield {"type": "response.completed", "response": response}


def message_story(message: shapes.Shape, text: str, index: int) -> Iterator[shapes.Shape]:
    """The events of a message that says `text`, as the item number `index`."""
    identity = str(message["id"])
    yield from shapes.message_begun(identity, index)
    yield shapes.message_delta(identity, index, text)
    yield from shapes.message_done(index, message, text)


def ollama(text: str, *, model: str, stream: bool, now: int) -> Final:
    """One message, `stop`. Streamed: the text in one line, then the line that is done."""
    first = shapes.line(model, now, shapes.said(text))
    if not stream:
        return {"content-type": JSON}, dump(shapes.line_done(first))
    last = shapes.line_done({**first, "message": shapes.said("")})
    return {"content-type": LINES}, lined(dump(first)) + lined(dump(last))
