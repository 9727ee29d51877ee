"""Scripted vendors: a model that calls `read_file` for the files it is asked about, then answers.

Owns which script answers which path. It must not know the relay: a vendor decides from the request
it received and from nothing else, as the real ones do.
"""

from proxy.demo.connection import Recorded
from proxy.demo.reply import Reply
from proxy.demo.vendors import anthropic_messages, ollama_chat, openai_chat, openai_responses
from proxy.demo.vendors.plan import Unfit

_SCRIPTS = {
    ("POST", "/v1/messages"): anthropic_messages.messages,
    ("POST", "/v1/messages/count_tokens"): anthropic_messages.count_tokens,
    ("POST", "/v1/chat/completions"): openai_chat.completions,
    ("POST", "/v1/responses"): openai_responses.responses,
    ("POST", "/api/chat"): ollama_chat.chat,
    ("POST", "/api/show"): ollama_chat.show,
    ("GET", "/api/tags"): ollama_chat.tags,
    ("GET", "/api/version"): ollama_chat.version,
}


def vendor(request: Recorded) -> Reply:
    """Answer as the vendor whose path it is. A body that the vendor would refuse is a 400 that says
    why, any other path a 404, both in the vendor's own error shape."""
    script = _SCRIPTS.get((request.method, request.path))
    if script is None:
        return _error(request.path, 404, "not_found_error", f"no such path: {request.path}")
    try:
        return script(request)
    except Unfit as problem:
        return _error(request.path, 400, "invalid_request_error", str(problem))


def _error(path: str, status: int, kind: str, message: str) -> Reply:
    if path.startswith("/api/"):
        return Reply.of({"error": message}, status)
    if path.startswith("/v1/messages"):
        error = {"type": kind, "message": message}
        body = {"type": "error", "error": error, "request_id": "req_demo"}
        return Reply.of(body, status, (("request-id", "req_demo"),))
    refusal = {"message": message, "type": kind, "param": None, "code": None}
    return Reply.of({"error": refusal}, status, (("x-request-id", "req_demo"),))
