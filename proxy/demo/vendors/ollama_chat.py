"""The scripted vendor of Ollama's native dialect.

Owns its answers and lines. It must not know who asks.
"""

from collections.abc import Iterator

from proxy.demo.connection import Recorded
from proxy.demo.reply import Reply, compact
from proxy.demo.vendors.plan import (
    JSON,
    TOOL,
    Plan,
    Unfit,
    body_of,
    is_object,
    objects,
    plan,
    required,
    text_of,
    words,
)

_WHEN = "2026-01-01T00:00:00.000000Z"
_DONE = {
    "done": True,
    "done_reason": "stop",
    "total_duration": 1_000_000,
    "load_duration": 1000,
    "prompt_eval_count": 100,
    "prompt_eval_duration": 1000,
    "eval_count": 20,
    "eval_duration": 1000,
}
_DETAILS = {
    "parent_model": "",
    "format": "gguf",
    "family": "demo",
    "families": ["demo"],
    "parameter_size": "1B",
    "quantization_level": "Q4_K_M",
}


def chat(request: Recorded) -> Reply:
    """`POST /api/chat`; streamed unless `stream` is false, as the real one does."""
    body = body_of(request)
    question, results = _read(required(body, "messages"))
    functions = [tool.get("function") for tool in objects(body.get("tools"))]
    has_tool = any(is_object(f) and f.get("name") == TOOL for f in functions)
    act = plan(request, question, results, has_tool=has_tool)
    base: JSON = {"model": body.get("model"), "created_at": _WHEN}
    if body.get("stream", True) is not False:
        return Reply.stream(tuple(_lines(base, act)), "application/x-ndjson")
    message: JSON = {"role": "assistant", "content": act.text}
    if act.calls:
        message["tool_calls"] = _calls(act)
    return Reply.of({**base, "message": message, **_DONE})


def show(request: Recorded) -> Reply:
    """`POST /api/show`: a model that runs here, with no remote host; 404 for a name in `-cloud`
    or none at all, so that nothing can be taken for local by accident."""
    body = body_of(request)
    name = body.get("model") or body.get("name")
    if not isinstance(name, str) or name.endswith("cloud"):
        return Reply.of({"error": "model not found"}, 404)
    return Reply.of(
        {
            "modelfile": "",
            "parameters": "",
            "template": "{{ .Prompt }}",
            "details": _DETAILS,
            "model_info": {"general.architecture": "demo", "demo.context_length": 32768},
            "capabilities": ["completion", "tools"],
            "modified_at": _WHEN,
        }
    )


def tags(request: Recorded) -> Reply:
    """`GET /api/tags`: the one model of the demo."""
    model = {"name": "demo:1b", "model": "demo:1b", "modified_at": _WHEN, "size": 1}
    return Reply.of({"models": [{**model, "digest": "0" * 64, "details": _DETAILS}]})


def version(request: Recorded) -> Reply:
    """`GET /api/version`."""
    return Reply.of({"version": "0.40.0"})


def _read(history: list[JSON]) -> tuple[str, int]:
    question, results = "", 0
    for message in history:
        content = message.get("content", "")
        if not isinstance(content, str):
            raise Unfit("messages: content must be a string")
        match message.get("role"):
            case "tool":
                results += 1
            case "user":
                question, results = text_of(content), 0
            case _:
                pass
    return question, results


def _calls(act: Plan) -> list[JSON]:
    return [
        {
            "id": f"call_{call.key}",
            "function": {"index": index, "name": TOOL, "arguments": {"path": call.path}},
        }
        for index, call in enumerate(act.calls)
    ]


def _lines(base: JSON, act: Plan) -> Iterator[bytes]:
    messages: list[JSON] = [{"role": "assistant", "content": word} for word in words(act.text)]
    if act.calls:
        messages.append({"role": "assistant", "content": "", "tool_calls": _calls(act)})
    for message in messages:
        yield compact({**base, "message": message, "done": False}) + b"\n"
    yield compact({**base, "message": {"role": "assistant", "content": ""}, **_DONE}) + b"\n"
