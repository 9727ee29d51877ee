"""The scripted vendor of the OpenAI Responses dialect.

Owns its answers and events and the rules by which the real one refuses a body. It must not know
who asks.
"""

import json
from collections.abc import Iterator
from itertools import count

from proxy.demo.connection import Recorded
from proxy.demo.reply import Reply, compact
from proxy.demo.vendors.plan import (
    JSON,
    TOOL,
    Plan,
    body_of,
    halves,
    objects,
    paired,
    plan,
    required,
    text_of,
    words,
)

_ID = (("x-request-id", "req_demo"),)


def responses(request: Recorded) -> Reply:
    """`POST /v1/responses`, whole or as events."""
    body = body_of(request)
    text = body.get("input")
    question, results = (text, 0) if isinstance(text, str) else _read(required(body, "input"))
    has_tool = any(tool.get("name") == TOOL for tool in objects(body.get("tools")))
    act = plan(request, question, results, has_tool=has_tool)
    response = _response(body, act)
    if body.get("stream") is True:
        return Reply.stream(tuple(_events(response)), headers=_ID)
    return Reply.of(response, headers=_ID)


def _read(items: list[JSON]) -> tuple[str, int]:
    question, results = "", 0
    calls, answers = set[object](), set[object]()
    for item in items:
        match item.get("type", "message"):
            case "function_call":
                calls.add(item.get("call_id"))
            case "function_call_output":
                answers.add(item.get("call_id"))
                results += 1
            case "message" if item.get("role") == "user":
                content = item.get("content")
                question = text_of(content, "input_text")
                results = 0
            case _:
                pass
    paired(calls, answers)
    return question, results


def _output(act: Plan) -> list[JSON]:
    if not act.calls:
        part = {"type": "output_text", "text": act.text, "annotations": [], "logprobs": []}
        message = {"id": f"msg_{act.key}", "type": "message", "role": "assistant"}
        return [{**message, "status": "completed", "content": [part]}]
    return [
        {
            "id": f"fc_{call.key}",
            "type": "function_call",
            "call_id": f"call_{call.key}",
            "name": TOOL,
            "arguments": json.dumps({"path": call.path}),
            "status": "completed",
        }
        for call in act.calls
    ]


def _response(body: JSON, act: Plan) -> JSON:
    return {
        "id": f"resp_{act.key}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "metadata": {},
        "model": body.get("model"),
        "output": _output(act),
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": objects(body.get("tools")),
        "top_p": 1.0,
        "usage": {
            "input_tokens": 100,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 20,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 120,
        },
    }


def _events(response: JSON) -> Iterator[bytes]:
    for number, (kind, fields) in zip(count(), _story(response), strict=False):
        value = {"type": kind, "sequence_number": number, **fields}
        yield b"event: %b\ndata: %b\n\n" % (kind.encode(), compact(value))


def _story(response: JSON) -> Iterator[tuple[str, JSON]]:
    begun = {**response, "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(objects(response["output"])):
        bare: JSON = {"arguments": ""} if item["type"] == "function_call" else {"content": []}
        opened = {**item, **bare, "status": "in_progress"}
        yield "response.output_item.added", {"output_index": index, "item": opened}
        at: JSON = {"item_id": item["id"], "output_index": index}
        yield from _function(item, at) if "arguments" in bare else _text(item, at)
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield "response.completed", {"response": response}


def _function(item: JSON, at: JSON) -> Iterator[tuple[str, JSON]]:
    arguments = str(item["arguments"])
    for part in halves(arguments):
        yield "response.function_call_arguments.delta", {**at, "delta": part}
    done = {**at, "name": item["name"], "arguments": arguments}
    yield "response.function_call_arguments.done", done


def _text(item: JSON, at: JSON) -> Iterator[tuple[str, JSON]]:
    at = {**at, "content_index": 0}
    [part] = objects(item["content"])
    yield "response.content_part.added", {**at, "part": {**part, "text": ""}}
    for word in words(str(part["text"])):
        yield "response.output_text.delta", {**at, "delta": word, "logprobs": []}
    yield "response.output_text.done", {**at, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**at, "part": part}
