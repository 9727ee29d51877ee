"""The scripted vendor of the OpenAI Chat Completions dialect.

Owns its answers and chunks and the rules by which the real one refuses a body. It must not know
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
    is_object,
    objects,
    paired,
    plan,
    required,
    text_of,
    words,
)

_ID = (("x-request-id", "req_demo"),)
_USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


def completions(request: Recorded) -> Reply:
    """`POST /v1/chat/completions`, whole or as chunks."""
    body = body_of(request)
    question, results = _read(required(body, "messages"))
    functions = [tool.get("function") for tool in objects(body.get("tools"))]
    has_tool = any(is_object(f) and f.get("name") == TOOL for f in functions)
    act = plan(request, question, results, has_tool=has_tool)
    if body.get("stream") is not True:
        return Reply.of(_completion(body, act), headers=_ID)
    options = body.get("stream_options")
    usage = is_object(options) and options.get("include_usage") is True
    return Reply.stream(tuple(_chunks(body, act, usage=usage)), headers=_ID)


def _read(history: list[JSON]) -> tuple[str, int]:
    question, results = "", 0
    calls, answers = set[object](), set[object]()
    for message in history:
        if message.get("role") == "tool":
            answers.add(message.get("tool_call_id"))
            results += 1
            continue
        paired(calls, answers)
        calls, answers = {c.get("id") for c in objects(message.get("tool_calls"))}, set()
        if message.get("content") is None and not calls:
            raise Unfit("messages: content may be null only beside tool_calls")
        if message.get("role") == "user":
            question, results = text_of(message.get("content")), 0
    paired(calls, answers)
    return question, results


def _calls(act: Plan) -> list[JSON]:
    return [
        {
            "id": f"call_{call.key}",
            "type": "function",
            "function": {"name": TOOL, "arguments": json.dumps({"path": call.path})},
        }
        for call in act.calls
    ]


def _finish(act: Plan) -> str:
    return "tool_calls" if act.calls else "stop"


def _completion(body: JSON, act: Plan) -> JSON:
    message: JSON = {"role": "assistant", "content": act.text or None, "refusal": None}
    if act.calls:
        message["tool_calls"] = _calls(act)
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(act)}
    return {
        "id": f"chatcmpl-{act.key}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body.get("model"),
        "choices": [choice],
        "usage": _USAGE,
    }


def _deltas(act: Plan) -> Iterator[JSON]:
    yield {"role": "assistant", "content": "" if act.text else None}
    for word in words(act.text):
        yield {"content": word}
    for index, call in enumerate(_calls(act)):
        function = call["function"]
        assert is_object(function)
        opened = {**call, "index": index, "function": {**function, "arguments": ""}}
        yield {"tool_calls": [opened]}
        for part in halves(str(function["arguments"])):
            yield {"tool_calls": [{"index": index, "function": {"arguments": part}}]}


def _chunks(body: JSON, act: Plan, *, usage: bool) -> Iterator[bytes]:
    def chunk(choices: list[JSON], spent: JSON | None = None) -> bytes:
        value = {
            "id": f"chatcmpl-{act.key}",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": body.get("model"),
            "choices": choices,
        }
        return b"data: %b\n\n" % compact({**value, "usage": spent} if usage else value)

    for delta in _deltas(act):
        yield chunk([{"index": 0, "delta": delta, "finish_reason": None}])
    yield chunk([{"index": 0, "delta": {}, "finish_reason": _finish(act)}])
    if usage:
        yield chunk([], dict(_USAGE))
    yield b"data: [DONE]\n\n"
