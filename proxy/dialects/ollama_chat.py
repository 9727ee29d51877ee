"""Ollama's native chat: `/api/chat`.

Owns the fields of body and message, which of them hold third-party text (wire.md 1.4), and where
the policy text goes. It must not know how a frame is written or where a body goes.
"""

from collections.abc import Mapping

from policies.conversation import Conversation, Form, Origin, ToolCall
from policies.decision import Claimed, Decision
from proxy.dialects import encoding, errors, finals
from proxy.dialects.cutting import notice_before
from proxy.dialects.facts import FactStore
from proxy.dialects.framing import PLAIN
from proxy.dialects.listed import Listed
from proxy.dialects.notes import Notes, json_text, words
from proxy.dialects.openai_chat import tool_names
from proxy.dialects.opened import Opened
from proxy.dialects.placing import Edit, note_messages, own_message, reminders
from proxy.dialects.view import Reading
from proxy.lazyjson import Document, Remove

_FIELDS = words(
    "model messages stream format keep_alive tools options think logprobs top_logprobs truncate "
    "shift"
)

_MESSAGE_FIELDS = words("role content thinking images tool_calls tool_name tool_call_id name")

_ORIGINS: Mapping[str, Origin] = {
    "system": Origin.OPERATOR,
    "user": Origin.OPERATOR,
    "assistant": Origin.AGENT,
    "tool": Origin.TOOL,
}


class OllamaChat(Listed):
    """Ollama's chat dialect. `store` remembers facts about messages by their digest.

    A stream is the default here. Old clients give neither id nor name with a result: the result is
    then that of the call at the same place.
    """

    name = "ollama_chat"
    family = "ollama"

    def __init__(self, store: FactStore | None = None) -> None:
        reading = Reading(
            self.name,
            "messages",
            _FIELDS,
            _message,
            _member,
            streams=True,
            named=True,
            reminds=True,
        )
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
        if not decision.tool_use and document.root.get("tools") is not None:
            edits.append(Remove(("tools",)))  # there is no field that would turn them off
        return edits

    def error(
        self, status: int, code: str, message: str, request_id: str, held: str = ""
    ) -> tuple[dict[str, str], bytes]:
        """See `Dialect.error`."""
        return errors.ollama(status, code, message, request_id)

    def stream_error(self, status: int, code: str, message: str) -> bytes:
        """See `Dialect.stream_error`."""
        return errors.ollama_stream(status, code, message)

    def encode(self, data: bytes, *, stream: bool) -> bytes:
        """See `Dialect.encode`."""
        return encoding.lined(data) if stream else data

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
        return finals.ollama(text, model=model, stream=stream, now=now)

    def keep_alive(self, *, begun: bool = True) -> bytes:
        """See `Dialect.keep_alive`."""
        return finals.OLLAMA_ALIVE


def _member(key: str, node: Opened, notes: Notes) -> None:
    if key == "tools":
        tool_names(node, notes)


def _message(node: Opened, notes: Notes) -> None:
    members = notes.open(node, _MESSAGE_FIELDS)
    notes.role = members.text("role").lower()
    notes.origin = _ORIGINS.get(notes.role, Origin.UNKNOWN)
    notes.spoken = notes.origin is Origin.AGENT
    if notes.origin is Origin.UNKNOWN:
        notes.unknown_role(members, node)
    content = members.get("content")
    call = members.text("tool_call_id")
    if notes.origin is Origin.TOOL:
        notes.answers.append(call)
    if content is not None and content.value is not None:
        if notes.origin is Origin.TOOL:
            name = members.text("tool_name") or members.text("name")
            notes.text(content, call=call, name=name)
            notes.half(call, node, content, Form.RESULT)
        elif not isinstance(content.value, str):
            notes.unknown_at(content)
            for part in content.items():
                notes.unknown_part(part)
        elif notes.origin is not Origin.UNKNOWN:
            notes.says(content, content.text())
    images = notes.list_of(members.get("images"))
    for image in images:
        notes.opaque_at(image)
        if notes.answers:
            notes.other(image)
    notes.aside(members.get("images") if images else None)
    listed = members.get("tool_calls")
    for made in notes.list_of(listed):
        body = made.get("function")
        if body is None:
            notes.unknown_at(made)
        elif notes.spoken:
            _call(made, body, listed, notes)
    # A result is known by its call's id and name; beside what is said they say nothing.
    named = () if notes.origin is Origin.TOOL else ("tool_name", "tool_call_id")
    for name in ("tool_calls", "thinking", *named):
        notes.aside(members.get(name))


def _call(made: Opened, body: Opened, listed: Opened | None, notes: Notes) -> None:
    call, name, arguments = made.word("id"), body.word("name"), body.get("arguments")
    notes.calls.append(ToolCall(call, name, json_text(arguments)))
    if arguments is not None:
        notes.half(call, made, arguments, Form.OBJECT, name=name, holder=listed)
