"""Anthropic Messages: `/v1/messages` and `/v1/messages/count_tokens`.

Owns the top-level fields, where the policy text goes and how errors look. It must not know which
units are framed, nor where a body goes.
"""

from functools import lru_cache

from policies.conversation import Conversation
from policies.decision import Claimed, Decision
from proxy.dialects import encoding, errors, finals
from proxy.dialects.anthropic_content import read_message
from proxy.dialects.cutting import Opening, notice_before
from proxy.dialects.facts import FactStore
from proxy.dialects.listed import Listed
from proxy.dialects.notes import Notes, words
from proxy.dialects.opened import Opened
from proxy.dialects.placing import Edit, forbidden, joined, note_messages
from proxy.dialects.view import Reading
from proxy.lazyjson import Document, Insert, Kind, Member, Replace, dump

_FIELDS = words(
    "model messages max_tokens system tools tool_choice stream metadata stop_sequences temperature "
    "top_k top_p thinking service_tier container context_management mcp_servers output_config "
    "output_format cache_control inference_geo speed fallbacks fallback_credit_token diagnostics "
    "thread compaction billing_policy user_profile_id workspace_id betas"
)

_RESEND = {"thread": "thread_unsupported_request"}
"""State that the upstream holds → the code at which clients send all of it themselves (wire.md
1.1.5)."""

_OPENING = Opening("text", lists=True)

_TAKE_SYSTEM = ("opus-4-8", "opus-5", "sonnet-5-5", "haiku-5-5", "fable-5", "mythos-5")
"""Parts of the names of models that take system messages in a conversation (wire.md 1.1.4)."""


class AnthropicMessages(Listed):
    """The dialect of Claude's own API. `store` remembers facts about messages by their digest."""

    name = "anthropic_messages"
    family = "anthropic"

    opening = _OPENING

    def __init__(self, store: FactStore | None = None) -> None:
        reading = Reading(
            self.name, "messages", _FIELDS, read_message, _member, notes=_takes_system
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
        text = decision.policy_text
        edits = _policy_text(document, text) if text else []
        edits += notice_before(decision.cut, "messages", _OPENING)
        edits += note_messages(decision, claimed, "messages")
        if not decision.tool_use:
            edits += forbidden(document, "tools", "tool_choice", {"type": "none"})
        return edits

    def error(
        self, status: int, code: str, message: str, request_id: str, held: str = ""
    ) -> tuple[dict[str, str], bytes]:
        """See `Dialect.error`."""
        return errors.anthropic(status, code, message, request_id, _RESEND.get(held, ""))

    def stream_error(self, status: int, code: str, message: str) -> bytes:
        """See `Dialect.stream_error`."""
        return errors.anthropic_stream(status, code, message)

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
        return finals.anthropic(text, model=model, stream=stream, key=key)

    def keep_alive(self, *, begun: bool = True) -> bytes:
        """See `Dialect.keep_alive`."""
        return finals.ANTHROPIC_ALIVE


def _policy_text(document: Document, text: str) -> list[Edit]:
    """A further text block at the end of `system`, without `cache_control`: a breakpoint of the
    client's stays where it is, and there may be four of them at most. A `system` string becomes
    the first block, its raw bytes as they were; the API rejects blocks without text, so a blank
    string stays a string. A shape that is not known is left for the upstream to refuse."""
    block = _block(text)
    system = document.root.get("system")
    if system is None:
        return [Member((), "system", b"[" + block + b"]")]
    if system.kind is Kind.ARRAY:
        return [Insert(("system",), len(system.items()), block)]
    if system.raw == b"null":
        return [Replace(("system",), b"[" + block + b"]")]
    if system.kind is not Kind.STRING:
        return []
    if not (system.text() or "").strip():
        return [Replace(("system",), joined(system, text))]
    first = b'{"type":"text","text":' + system.raw + b"},"
    return [Replace(("system",), b"[" + first + block + b"]")]


@lru_cache(maxsize=8)
def _block(text: str) -> bytes:
    return dump({"type": "text", "text": text})


def _takes_system(model: str) -> bool:
    return any(name in model for name in _TAKE_SYSTEM)


def _member(key: str, node: Opened, notes: Notes) -> None:
    match key:
        case "tools" | "mcp_servers":
            for tool in notes.list_of(node):
                if name := tool.word("name") or tool.word("type"):
                    notes.tools.append(name)
        case "system":
            _system(node, notes)
        case "container":
            notes.held_if(key, node)
        case "thread" if node.word("type") == "continue":
            notes.held_if(key, node)


def _system(node: Opened, notes: Notes) -> None:
    if isinstance(node.value, str):
        return
    for block in notes.list_of(node):
        if block.word("type") != "text":
            notes.unknown_at(block)
