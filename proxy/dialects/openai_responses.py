"""OpenAI Responses: `/v1/responses`, `/v1/responses/input_tokens`, `/v1/responses/compact`.

Owns the top-level fields, where the policy text goes and how errors look. It must not know which
units are framed, nor where a body goes.
"""

from policies.conversation import Conversation
from policies.decision import Claimed, Decision
from proxy.dialects import encoding, errors, finals
from proxy.dialects.cutting import Opening, notice_before
from proxy.dialects.facts import FactStore
from proxy.dialects.listed import Listed
from proxy.dialects.notes import Notes, words
from proxy.dialects.opened import Opened
from proxy.dialects.placing import Edit, forbidden, joined, standing
from proxy.dialects.responses_items import read_item
from proxy.dialects.responses_parts import tool_names
from proxy.dialects.runs import leading
from proxy.dialects.view import Reading
from proxy.lazyjson import Document, Insert, Kind, Member, Replace, dump

_FIELDS = words(
    "access_programs background background_options client_metadata context_management conversation "
    "generate image include input instructions max_output_tokens max_tool_calls metadata model "
    "moderation parallel_tool_calls previous_response_id prompt prompt_cache_key "
    "prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store "
    "stream stream_options temperature text tool_choice tools top_logprobs top_p truncation type "
    "user"
)

_OPENING = Opening("input_text", lists=True, typed=True)

_HELD = frozenset({"previous_response_id", "conversation", "prompt"})

_HELD_BY_TOOLS = frozenset(
    {"container", "container_id", "file_id", "file_ids", "skill_id", "vector_store_ids"}
)


class OpenAIResponses(Listed):
    """The Responses dialect. `store` remembers facts about items by their digest."""

    name = "openai_responses"
    family = "openai"

    opening = _OPENING

    def __init__(self, store: FactStore | None = None) -> None:
        reading = Reading(self.name, "input", _FIELDS, read_item, _member, plain=True, reminds=True)
        super().__init__(reading, store)

    def edits(
        self,
        document: Document,
        conversation: Conversation,
        decision: Decision,
        claimed: Claimed,
    ) -> list[Edit]:
        """See `Listed.edits`."""
        text = decision.policy_text
        edits = _policy_text(document, conversation, text) if text else []
        edits += notice_before(decision.cut, "input", _OPENING)
        edits += _reminders(decision)
        edits += _notes(decision, claimed)
        if not decision.tool_use and conversation.tools:
            edits += forbidden(document, "", "tool_choice", "none")
        return edits

    def error(
        self, status: int, code: str, message: str, request_id: str, held: str = ""
    ) -> tuple[dict[str, str], bytes]:
        """See `Dialect.error`."""
        return errors.openai(status, code, message, request_id)

    def stream_error(self, status: int, code: str, message: str) -> bytes:
        """See `Dialect.stream_error`."""
        return errors.responses_stream(status, code, message)

    def encode(self, data: bytes, *, stream: bool) -> bytes:
        """See `Dialect.encode`."""
        return encoding.named(data) if stream else data

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
        return finals.responses(text, model=model, stream=stream, key=key, now=now)

    def keep_alive(self, *, begun: bool = True) -> bytes:
        """See `Dialect.keep_alive`."""
        return finals.RESPONSES_ALIVE if begun else finals.COMMENT


def _policy_text(document: Document, conversation: Conversation, text: str) -> list[Edit]:
    """An own developer message behind the leading items. Where there is none, the text joins the
    `instructions`, behind a blank line; they are made where there is no list to put a message in.
    """
    items = document.root.get("input")
    instructions = document.root.get("instructions")
    listed = items is not None and items.kind is Kind.ARRAY
    index = leading(conversation.messages)
    if not index and instructions is not None and instructions.kind is Kind.STRING:
        return [Replace(("instructions",), joined(instructions, text))]
    if listed:
        return [Insert(("input",), index, dump(_said("developer", text)))]
    if instructions is None:
        return [Member((), "instructions", dump(text))]
    if instructions.raw == b"null":
        return [Replace(("instructions",), dump(text))]
    return []


def _reminders(decision: Decision) -> list[Edit]:
    """The placed texts as messages of the user behind the results that they belong to."""
    return [Insert(("input",), p.after + 1, dump(_said("user", p.text))) for p in decision.placed]


def _notes(decision: Decision, claimed: Claimed) -> list[Edit]:
    """The notes as messages of the developer behind their runs."""
    return [
        Insert(("input",), after + 1, dump(_said("developer", text)))
        for after, text in standing(decision, claimed)
    ]


def _said(role: str, text: str) -> dict[str, object]:
    part = {"type": "input_text", "text": text}
    return {"type": "message", "role": role, "content": [part]}


def _member(key: str, node: Opened, notes: Notes) -> None:
    if key in _HELD:
        notes.held_if(key, node)
    elif key == "tools":
        tool_names(node, notes)
        for tool in notes.list_of(node):
            if tool.word("type") not in ("function", "custom", "namespace"):
                _held_by(tool.value, notes)


def _held_by(value: object, notes: Notes) -> None:
    """Note what a server tool's declaration leans on: containers, files, stores, skills, by id."""
    if isinstance(value, list):
        for item in value:
            _held_by(item, notes)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key in _HELD_BY_TOOLS and inner and not isinstance(inner, dict):
                notes.lean(key, inner)
            _held_by(inner, notes)
