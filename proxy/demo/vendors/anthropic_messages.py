"""The scripted vendor of the Anthropic Messages dialect.

Owns its answers and events and the rules by which the real one refuses a body. It must not know
who asks.
"""

import json
from collections.abc import Iterator

from proxy.demo.connection import Recorded
from proxy.demo.reply import Reply, compact
from proxy.demo.vendors.plan import (
    JSON,
    TOOL,
    Plan,
    Unfit,
    body_of,
    halves,
    objects,
    paired,
    plan,
    required,
    text_of,
    words,
)

_ID = (("request-id", "req_demo"),)


def messages(request: Recorded) -> Reply:
    """`POST /v1/messages`, whole or as events."""
    body = body_of(request)
    if "max_tokens" not in body:
        raise Unfit("max_tokens: field required")
    question, results = _read(required(body, "messages"))
    has_tool = any(tool.get("name") == TOOL for tool in objects(body.get("tools")))
    message = _message(body, plan(request, question, results, has_tool=has_tool))
    if body.get("stream") is True:
        return Reply.stream(tuple(_events(message)), headers=_ID)
    return Reply.of(message, headers=_ID)


def count_tokens(request: Recorded) -> Reply:
    """`POST /v1/messages/count_tokens`: a quarter of the bytes."""
    required(body_of(request), "messages")
    return Reply.of({"input_tokens": len(request.body) // 4}, headers=_ID)


def _read(history: list[JSON]) -> tuple[str, int]:
    question, results, calls = "", 0, set[object]()
    if history[0].get("role") != "user":
        raise Unfit("messages: the first message must be the user's")
    for message in history:
        blocks = objects(message.get("content"))
        kinds = [block.get("type") for block in blocks]
        if any(block.get("type") == "text" and not block.get("text") for block in blocks):
            raise Unfit("messages: text content blocks must be non-empty")
        if message.get("role") != "user":
            calls |= {b.get("id") for b in blocks if b.get("type") == "tool_use"}
            continue
        answers = [b.get("tool_use_id") for b in blocks if b.get("type") == "tool_result"]
        if "tool_result" in kinds[len(answers) :]:
            raise Unfit("messages: tool_result blocks must come first")
        paired(calls, set(answers))
        calls = set()
        results += len(answers)
        if not answers:
            question, results = text_of(message.get("content")), 0
    return question, results


def _message(body: JSON, act: Plan) -> JSON:
    calls = [
        {"type": "tool_use", "id": f"toolu_{c.key}", "name": TOOL, "input": {"path": c.path}}
        for c in act.calls
    ]
    return {
        "id": f"msg_{act.key}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": calls or [{"type": "text", "text": act.text}],
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 100,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 20,
        },
    }


def _event(kind: str, **fields: object) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), compact({"type": kind, **fields}))


def _events(message: JSON) -> Iterator[bytes]:
    start = {**message, "content": [], "stop_reason": None}
    yield _event("message_start", message=start)
    yield _event("ping")
    for index, block in enumerate(objects(message["content"])):
        if block["type"] == "tool_use":
            opened: JSON = {**block, "input": {}}
            deltas: list[JSON] = [
                {"type": "input_json_delta", "partial_json": part}
                for part in ("", *halves(json.dumps(block["input"])))
            ]
        else:
            opened = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": w} for w in words(str(block["text"]))]
        yield _event("content_block_start", index=index, content_block=opened)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event("message_delta", delta=end, usage={"output_tokens": 20})
    yield _event("message_stop")
