"""Endpoints that take text and no conversation: completions, embeddings, moderations, generate.

Owns their view, which is pieces and nothing to frame, dressed in the error shape of each family. It
must not know any single endpoint: every top-level member is read alike.
"""

from collections.abc import Callable
from dataclasses import dataclass

from policies.conversation import Address, Conversation
from policies.decision import Claimed, Decision
from proxy.dialects import encoding, errors, finals
from proxy.dialects.glance import glance
from proxy.dialects.view import member_piece
from proxy.lazyjson import Document, Kind, Node

_OPAQUE = frozenset({"context", "images", "image", "mask"})
"""Members that hold token ids or pictures."""

_FOLDED = "context"
"""What Ollama's `/api/generate` gives and takes back: the talk so far, as token ids."""

_TEXTS = frozenset({"input", "prompt", "suffix"})
"""Members that may hold token ids in place of text."""

_HELD = frozenset({"file_id", "input_file_id", "training_file", "validation_file"})

ErrorShape = Callable[[int, str, str, str], tuple[dict[str, str], bytes]]
StreamErrorShape = Callable[[int, str, str], bytes]


@dataclass(frozen=True, slots=True)
class PlainText:
    """A body without messages. `streams` is what an absent `stream` means; `_names` are the members
    that may name the model."""

    name: str
    family: str
    streams: bool
    _error: ErrorShape
    _stream_error: StreamErrorShape
    _event: Callable[[bytes], bytes]
    _alive: bytes
    _names: tuple[str, ...] = ("model",)

    def glance(self, document: Document) -> str:
        """See `Dialect.glance`."""
        return glance(document, names=self._names)

    def known(self, body: bytes) -> None:
        """See `Dialect.known`; one text has no history."""

    def passed(self, document: Document) -> None:
        """See `Dialect.passed`."""

    def view(self, document: Document) -> Conversation:
        """See `Dialect.view`; there are pieces, no messages and no units."""
        document.judge()
        members = document.root.members()
        given = dict(members)
        stream = given.get("stream")
        streams = self.streams if stream is None or stream.raw == b"null" else stream.raw == b"true"
        leans = [(key, text) for key, node in members if key in _HELD and (text := _text(node))]
        # SECURITY: nobody can say of token ids that they are the current turn alone.
        folded = [node.address for key, node in members if key == _FOLDED and _opaque(key, node)]
        return Conversation(
            self.name,
            self.glance(document),
            streams,
            messages=(),
            runs=(),
            turn=0,
            units=(),
            tools=(),
            pieces=tuple(member_piece(key, node) for key, node in members),
            opaque=tuple(way for key, node in members for way in _opaque(key, node)),
            held=tuple(key for key, _ in leans),
            leans=tuple(leans),
            folded=tuple(folded),
        )

    def render(
        self,
        document: Document,
        conversation: Conversation,
        decision: Decision,
        claimed: Claimed,
    ) -> bytes:
        """The body as it came: there is nothing to frame and no place for a text of ours."""
        return document.body

    def error(
        self, status: int, code: str, message: str, request_id: str, held: str = ""
    ) -> tuple[dict[str, str], bytes]:
        """See `Dialect.error`."""
        return self._error(status, code, message, request_id)

    def stream_error(self, status: int, code: str, message: str) -> bytes:
        """See `Dialect.stream_error`."""
        return self._stream_error(status, code, message)

    def encode(self, data: bytes, *, stream: bool) -> bytes:
        """See `Dialect.encode`."""
        return self._event(data) if stream else data

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
        """See `Dialect.final`; here is none: these endpoints answer in shapes of their own."""
        raise LookupError(self.name)

    def keep_alive(self, *, begun: bool = True) -> bytes:
        """See `Dialect.keep_alive`."""
        return self._alive


def _text(node: Node | None) -> str:
    return (node.text() or "") if node is not None else ""


def _opaque(key: str, node: Node) -> list[Address]:
    items = node.items()
    if key in _OPAQUE:
        return [node.address] if items or _text(node) else []
    if key not in _TEXTS:
        return []
    if items and items[0].kind is Kind.NUMBER:
        return [node.address]
    return [item.address for item in items if _unreadable(item)]


def _unreadable(item: Node) -> bool:
    """Token ids, or a part that holds a picture."""
    if item.kind is Kind.ARRAY:
        return any(inner.kind is Kind.NUMBER for inner in item.items()[:1])
    return item.kind is Kind.OBJECT and item.get("image_url") is not None


ANTHROPIC = PlainText(
    "plain_text_anthropic",
    "anthropic",
    False,
    errors.anthropic,
    errors.anthropic_stream,
    encoding.named,
    finals.ANTHROPIC_ALIVE,
)
OPENAI = PlainText(
    "plain_text_openai",
    "openai",
    False,
    errors.openai,
    errors.chat_stream,
    encoding.unnamed,
    finals.COMMENT,
)
OLLAMA = PlainText(
    "plain_text_ollama",
    "ollama",
    True,
    errors.ollama,
    errors.ollama_stream,
    encoding.lined,
    finals.OLLAMA_GENERATE_ALIVE,
    # `/api/show` takes the older word, too (Ollama's `server/routes.go`), and sends the whole body
    # to its cloud where that is the name of a model there.
    ("model", "name"),
)
