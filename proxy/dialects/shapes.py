"""What answers of ours are made of, in each dialect (wire.md 2): messages, choices, items, counts.

Owns the fields that the SDKs demand, once for the answers that are known as a whole and for those
that come piece by piece. It must not know what is said, nor in which order it is sent.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

Shape = dict[str, object]
"""A JSON object."""


def anthropic_usage(read: int = 0, written: int = 0) -> Shape:
    """Tokens of a message; nothing of it came from a cache."""
    return {
        "input_tokens": read,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": written,
    }


def anthropic_message(key: str, model: str, usage: Shape) -> Shape:
    """A message that has only begun."""
    return {
        "id": f"msg_{key}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def block_started(index: int, block: Shape) -> Shape:
    """A content block begins, empty."""
    return {"type": "content_block_start", "index": index, "content_block": block}


def block_delta(index: int, delta: Shape) -> Shape:
    """A piece of the content block."""
    return {"type": "content_block_delta", "index": index, "delta": delta}


def block_stopped(index: int) -> Shape:
    """The content block is complete."""
    return {"type": "content_block_stop", "index": index}


def message_stopped(reason: str, sequence: str | None, usage: Shape) -> tuple[Shape, Shape]:
    """The last two events of a message."""
    delta = {"stop_reason": reason, "stop_sequence": sequence}
    return {"type": "message_delta", "delta": delta, "usage": usage}, {"type": "message_stop"}


def chat_usage(read: int = 0, written: int = 0) -> Shape:
    """Tokens of a completion."""
    total = read + written
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": total}


def completion(key: str, model: str, now: int) -> Shape:
    """What a completion and each of its chunks begin with."""
    return {"id": f"chatcmpl-{key}", "created": now, "model": model}


def chunk_base(base: Shape, *, usage: bool) -> Shape:
    """What each chunk begins with. `usage`: one about tokens was asked for, to come last."""
    return {**base, "object": "chat.completion.chunk", **({"usage": None} if usage else {})}


def chunk(base: Shape, delta: Shape, reason: str | None = None) -> Shape:
    """A chunk of a completion's one choice."""
    choice = {"index": 0, "logprobs": None, "delta": delta, "finish_reason": reason}
    return {**base, "choices": [choice]}


def completed(base: Shape, message: Shape, reason: str, usage: Shape) -> Shape:
    """A whole completion with its one choice."""
    choice = {"index": 0, "logprobs": None, "message": message, "finish_reason": reason}
    return {**base, "object": "chat.completion", "choices": [choice], "usage": usage}


def response_usage(read: int = 0, written: int = 0) -> Shape:
    """Tokens of a response."""
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": read + written,
    }


def response(key: str, model: str, now: int, *, tool_choice: object = "none") -> Shape:
    """A response that is in progress, with the fields that the SDK's type demands."""
    return {
        "id": f"resp_{key}",
        "object": "response",
        "created_at": now,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": tool_choice,
        "tools": [],
        "top_p": None,
        "usage": None,
    }


def response_over(
    begun: Shape, output: Sequence[Shape], usage: Shape, cut: str | None = None
) -> Shape:
    """The response when it has ended; `cut`: why too early."""
    status = "incomplete" if cut else "completed"
    why = {"reason": cut} if cut else None
    over = {"status": status, "incomplete_details": why, "output": [*output], "usage": usage}
    return {**begun, **over}


def message_item(identity: str, text: str, status: str = "completed") -> Shape:
    """An item of a response that says `text`."""
    return {
        "id": identity,
        "type": "message",
        "role": "assistant",
        "status": status,
        "content": [output_text(text)],
    }


def output_text(text: str) -> Shape:
    """The one part of such an item."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def item_added(index: int, item: Shape) -> Shape:
    """An item of a response begins."""
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def item_done(index: int, item: Shape) -> Shape:
    """The item is complete."""
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def message_begun(identity: str, index: int) -> tuple[Shape, Shape]:
    """The events before the text of a message item."""
    item = {**message_item(identity, "", "in_progress"), "content": []}
    part = {"type": "response.content_part.added", **_part(identity, index)}
    return item_added(index, item), {**part, "part": output_text("")}


def message_delta(identity: str, index: int, text: str) -> Shape:
    """A piece of the text of a message item."""
    at = _part(identity, index)
    return {"type": "response.output_text.delta", **at, "delta": text, "logprobs": []}


def message_done(index: int, item: Mapping[str, object], text: str) -> tuple[Shape, Shape, Shape]:
    """The events behind the text of a message item."""
    at = _part(str(item["id"]), index)
    return (
        {"type": "response.output_text.done", **at, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **at, "part": output_text(text)},
        item_done(index, dict(item)),
    )


def _part(identity: str, index: int) -> Shape:
    return {"item_id": identity, "output_index": index, "content_index": 0}


def line(model: str, now: int, message: Shape) -> Shape:
    """A line of Ollama's chat that is not the last one."""
    when = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"model": model, "created_at": when, "message": message, "done": False}


def line_done(line: Shape, reason: str = "stop", read: int = 0, written: int = 0) -> Shape:
    """The last line; nothing was measured."""
    return {
        **line,
        "done": True,
        "done_reason": reason,
        "total_duration": 0,
        "load_duration": 0,
        "prompt_eval_count": read,
        "prompt_eval_duration": 0,
        "eval_count": written,
        "eval_duration": 0,
    }


def said(text: str, **more: object) -> Shape:
    """A message of the assistant."""
    return {"role": "assistant", "content": text, **more}
