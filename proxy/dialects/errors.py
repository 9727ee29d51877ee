"""Errors in the shape of each family, whole and within a stream (wire.md 3.1, 3.4).

Owns shapes and types by status. It must not know a notice's words, nor when an error is due.
"""

from collections.abc import Mapping
from types import MappingProxyType

from proxy.lazyjson import dump

JSON = "application/json"

_ANTHROPIC: Mapping[int, str] = MappingProxyType(
    {
        401: "authentication_error",
        402: "billing_error",
        403: "permission_error",
        404: "not_found_error",
        409: "conflict_error",
        413: "request_too_large",
        429: "rate_limit_error",
        504: "timeout_error",
        529: "overloaded_error",
    }
)


def anthropic(
    status: int, code: str, message: str, request_id: str, detail: str = ""
) -> tuple[dict[str, str], bytes]:
    """`{"type":"error","error":{type, message},"request_id"}`; the type follows the status.
    `detail`: what `error.details.error_code` says, if there is something."""
    body = {**_anthropic_error(status, message), "request_id": request_id}
    if detail:
        body["error"] = {**_error(status, message), "details": {"error_code": detail}}
    return {"content-type": JSON, "request-id": request_id}, dump(body)


def anthropic_stream(status: int, code: str, message: str) -> bytes:
    """An `error` event, which takes the place of every later event."""
    return _event("error", _anthropic_error(status, message))


def openai(status: int, code: str, message: str, request_id: str) -> tuple[dict[str, str], bytes]:
    """`{"error":{message, type, param, code}}`; `code` is the notice code with underscores."""
    body = {"error": _openai_error(status, code, message)}
    return {"content-type": JSON, "x-request-id": request_id}, dump(body)


def chat_stream(status: int, code: str, message: str) -> bytes:
    """A chunk with an `error`, at which the SDKs raise."""
    return b"data: " + dump({"error": _openai_error(status, code, message)}) + b"\n\n"


def responses_stream(status: int, code: str, message: str) -> bytes:
    """An `error` event in the nested shape, at which the SDKs raise; for a refusal (400) also
    `response.failed` with `invalid_prompt`, the one code that Codex shows once and does not try
    again: it skips the `error` event before it. Other failures it should try again, and does, as
    the stream then ends without a final event."""
    error = {"type": "error", "sequence_number": 0, "error": _openai_error(status, code, message)}
    events = _event("error", error)
    if status == 400:
        events += _event("response.failed", _failed(message))
    return events


def ollama(status: int, code: str, message: str, request_id: str) -> tuple[dict[str, str], bytes]:
    """`{"error": text}`; the dialect has no field for a code or a request id."""
    return {"content-type": JSON}, dump({"error": message})


def ollama_stream(status: int, code: str, message: str) -> bytes:
    """A line with an `error`, which ends the stream."""
    return dump({"error": message}) + b"\n"


def _anthropic_error(status: int, message: str) -> dict[str, object]:
    return {"type": "error", "error": _error(status, message)}


def _error(status: int, message: str) -> dict[str, object]:
    kind = _ANTHROPIC.get(status, "invalid_request_error" if status < 500 else "api_error")
    return {"type": kind, "message": message}


def _openai_error(status: int, code: str, message: str) -> dict[str, str | None]:
    kind = {401: "authentication_error", 429: "rate_limit_error"}.get(
        status, "invalid_request_error" if status < 500 else "server_error"
    )
    return {"message": message, "type": kind, "param": None, "code": code.replace("-", "_")}


def _failed(message: str) -> dict[str, object]:
    """The fields that the SDK's type demands; what is not known of the answer is empty."""
    return {
        "type": "response.failed",
        "sequence_number": 1,
        "response": {
            "id": "resp_transom",
            "object": "response",
            "created_at": 0,
            "status": "failed",
            "error": {"code": "invalid_prompt", "message": message},
            "model": "",
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        },
    }


def _event(name: str, data: object) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + dump(data) + b"\n\n"
