"""OpenAI Chat Completions, and the many servers that speak it: `/v1/chat/completions`.

Owns the fields of body, message and part, which of them hold third-party text (wire.md 1.2), and
where the policy text goes. It must not know how a frame is written or where a body goes.
"""

from collections.abc import Mapping

from policies.conversation import Conversation, Form, Origin, ToolCall
from policies.decision import Claimed, Decision
from proxy.dialects import encoding, errors, finals
from proxy.dialects.cutting import notice_before
from proxy.dialects.facts import FactStore
from proxy.dialects.framing import PLAIN
from proxy.dialects.listed import Listed
from proxy.dialects.notes import Notes, first, json_text, words
from proxy.dialects.opened import Fields, Opened
from proxy.dialects.placing import Edit, forbidden, note_messages, own_message, reminders
from proxy.dialects.view import Reading
from proxy.lazyjson import Document

_FIELDS = words(
    "audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens "
    "max_tokens messages metadata modalities model moderation n parallel_tool_calls prediction "
    "presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning_effort response_format safety_identifier seed service_tier stop store stream "
    "stream_options temperature tool_choice tools top_logprobs top_p user verbosity "
    "web_search_options"
)

_MESSAGE_FIELDS = words(
    "role content name tool_calls tool_call_id function_call refusal audio annotations reasoning "
    "reasoning_content reasoning_details"
)

_NOT_SAID = (
    "tool_calls",
    "tool_call_id",
    "function_call",
    "audio",
    "annotations",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
)
"""Fields of a message that are not needed for what it says."""

_ORIGINS: Mapping[str, Origin] = {
    "system": Origin.OPERATOR,
    "developer": Origin.OPERATOR,
    "user": Origin.OPERATOR,
    "assistant": Origin.AGENT,
    "tool": Origin.TOOL,
    "function": Origin.TOOL,
}

_PARTS = {
    kind: frozenset(("type", "cache_control", "prompt_cache_breakpoint", field))
    for kind, field in {
        "text": "text",
        "image_url": "image_url",
        "input_audio": "input_audio",
        "file": "file",
        "refusal": "refusal",
    }.items()
}


class OpenAIChat(Listed):
    """The Chat dialect. `store` remembers facts about messages by their digest."""

    name = "openai_chat"
    family = "openai"

    def __init__(self, store: FactStore | None = None) -> None:
        reading = Reading(self.name, "messages", _FIELDS, _message, _member, reminds=True)
        super().__init__(reading, store)

    def edits(
        self,
        document: Document,
        conversation: Conversation,
        decision: Decision,
        claimed: Claimed,
    ) -> list[Edit]:
        """See `Listed.edits`."""
        edits = own_message(document, conversation, "messages", decision.policy_text)
        edits += notice_before(decision.cut, "messages", PLAIN)
        edits += reminders(decision, "messages")
        edits += note_messages(decision, claimed, "messages")
        if not decision.tool_use:
            edits += forbidden(document, "tools", "tool_choice", "none")
            edits += forbidden(document, "functions", "function_call", "none")
        return edits

    def error(
        self, status: int, code: str, message: str, request_id: str, held: str = ""
    ) -> tuple[dict[str, str], bytes]:
        """See `Dialect.error`."""
        return errors.openai(status, code, message, request_id)

    def stream_error(self, status: int, code: str, message: str) -> bytes:
        """See `Dialect.stream_error`."""
        return errors.chat_stream(status, code, message)

    def encode(self, data: bytes, *, stream: bool) -> bytes:
        """See `Dialect.encode`."""
        return encoding.unnamed(data) if stream else data

    def final(
        self,
        text: str,
        *,
        model: str,
        stream: bool,
        key: str,
        now: int,
        asked: Document | None = None,
    ) -> tuple[dict[str, str], bytes]:
        """See `Dialect.final`."""
        usage = stream and asks_usage(asked)
        return finals.chat(text, model=model, stream=stream, key=key, now=now, usage=usage)

    def keep_alive(self, *, begun: bool = True) -> bytes:
        """See `Dialect.keep_alive`."""
        return finals.COMMENT


def asks_usage(document: Document | None) -> bool:
    """Whether the stream is to end with a chunk about tokens."""
    options = document.root.get("stream_options") if document is not None else None
    wanted = options.get("include_usage") if options is not None else None
    return wanted is not None and wanted.raw == b"true"


def tool_names(node: Opened, notes: Notes) -> None:
    """The names in a `tools` list of function and custom tools, as Chat and Ollama nest them."""
    for tool in notes.list_of(node):
        kind = tool.word("type")
        body = tool.get(kind or "function")
        name = body.word("name") if body is not None else ""
        if name := name or tool.word("name") or kind:
            notes.tools.append(name)


def _member(key: str, node: Opened, notes: Notes) -> None:
    if key == "tools":
        tool_names(node, notes)
    elif key == "functions":
        notes.tools += filter(None, (f.word("name") for f in notes.list_of(node)))


def _message(node: Opened, notes: Notes) -> None:
    members = notes.open(node, _MESSAGE_FIELDS)
    notes.role = members.text("role").lower()
    notes.origin = _ORIGINS.get(notes.role, Origin.UNKNOWN)
    notes.spoken = notes.origin is Origin.AGENT
    content = members.get("content")
    if notes.origin is Origin.UNKNOWN:
        notes.unknown_role(members, node)
    if notes.origin is Origin.TOOL:
        _result(members, content, notes)
        if notes.role == "tool" and content is not None:
            notes.half(members.text("tool_call_id"), node, content, Form.RESULT)
        for name in _NOT_SAID:
            notes.aside(members.get(name) if name != "tool_call_id" else None)
        return
    if content is not None and not isinstance(content.value, str):
        for part in notes.list_of(content):
            _part(part, notes)
    if notes.spoken:
        _calls(members, notes)
    if notes.origin is not Origin.UNKNOWN:
        _said(members, content, notes)


def _said(members: Fields, content: Opened | None, notes: Notes) -> None:
    """What the operator or the model says, and all that stands beside it."""
    if content is not None and isinstance(content.value, str):
        notes.says(content, content.text())
    for part in () if content is None else content.items():
        text = {"text": "text", "refusal": "refusal"}.get(part.word("type"), "")
        notes.says(part, part.word(text) if text else "")
    if (refusal := members.get("refusal")) is not None:
        notes.says(refusal, refusal.text())
    for name in _NOT_SAID:
        notes.aside(members.get(name))


def _result(members: Fields, content: Opened | None, notes: Notes) -> None:
    """A `tool` message, or a legacy `function` message, which names its function, not its call."""
    call = members.text("tool_call_id")
    name = members.text("name")
    notes.answers.append(call)
    if content is None or content.value is None:
        return
    if isinstance(content.value, str):
        notes.text(content, call=call, name=name)
        return
    for part in notes.list_of(content):
        text = _part(part, notes)
        if text is None:
            notes.other(part)
        else:
            notes.text(text, call=call, name=name)


def _part(node: Opened, notes: Notes) -> Opened | None:
    """Note one content part; the text of a part that is text is returned."""
    kind = node.word("type")
    fields = _PARTS.get(kind)
    if fields is None:
        notes.unknown_part(node)
        return None
    members = notes.open(node, fields)
    if kind in ("image_url", "input_audio", "file"):
        notes.opaque_at(node)
    if kind == "file" and (file := members.get("file")) is not None:
        notes.held_if("file_id", file.get("file_id"))
    return members.get(kind) if kind in ("text", "refusal") else None


def _calls(members: Fields, notes: Notes) -> None:
    listed = members.get("tool_calls")
    for call in notes.list_of(listed):
        body = first(call.get("function"), call.get("custom"))
        if body is None:
            notes.unknown_at(call)
            continue
        given = body.get("arguments")
        arguments = first(given, body.get("input"))
        name = body.word("name")
        notes.calls.append(ToolCall(call.word("id"), name, json_text(arguments)))
        if arguments is not None:
            form = Form.EMPTY if given is None else Form.JSON
            notes.half(call.word("id"), call, arguments, form, name=name, holder=listed)
    legacy = members.get("function_call")
    if legacy is not None and isinstance(legacy.value, dict):
        name = legacy.word("name")
        notes.calls.append(ToolCall("", name, json_text(legacy.get("arguments"))))
    notes.held_if("audio", members.get("audio"))
    details = members.get("reasoning_details")
    # Routers put signed or encrypted reasoning of other vendors' models here.
    if details is not None and isinstance(details.value, list) and details.items():
        notes.sealed = True
        notes.thought_at(details)
