"""What a dialect is: the protocol that the gateway, `explain` and the outbound door talk to.

It must not know a vendor or how any dialect does its part.
"""

from typing import Protocol

from policies.conversation import Conversation
from policies.decision import Claimed, Decision
from proxy.lazyjson import Document, Known


class Dialect(Protocol):
    """One wire format, read, rewritten and answered in. Everything here is pure but for a memory
    of facts by digest, which changes no result."""

    @property
    def name(self) -> str:
        """The name in the endpoint table: `anthropic_messages`, `openai_chat`, …"""
        ...

    @property
    def family(self) -> str:
        """The word used in the configuration: `anthropic`, `openai` or `ollama`."""
        ...

    def known(self, body: bytes) -> Known | None:
        """How `body` begins, where one that began so was viewed or passed."""
        ...

    def passed(self, document: Document) -> None:
        """Remember how `document` begins, of which no view is made: it was read, and passes as it
        is."""
        ...

    def glance(self, document: Document) -> str:
        """The model that the top level names, empty where it names none; nothing below is opened.
        Raises `lazyjson.Malformed` where a key there differs from a known one only in case."""
        ...

    def view(self, document: Document) -> Conversation:
        """Read a body. Wrong shapes are left alone; raises `lazyjson.Malformed` where an object
        that has to be opened cannot be read for certain."""
        ...

    def render(
        self,
        document: Document,
        conversation: Conversation,
        decision: Decision,
        claimed: Claimed,
    ) -> bytes:
        """The body to send: every frame of `decision` with its row in `claimed`, and the policy
        text. Nothing to do → `document.body`, the identical object. Raises
        `Refused("framing-failed")` when a frame cannot be made."""
        ...

    def error(
        self, status: int, code: str, message: str, request_id: str, held: str = ""
    ) -> tuple[dict[str, str], bytes]:
        """An error answer: headers (content type, request id) and body. `code` is a notice code,
        `message` its words. `held`: the field by which the request leaned on state of the
        upstream, where that is why."""
        ...

    def stream_error(self, status: int, code: str, message: str) -> bytes:
        """The same inside a stream that has begun: complete events, nothing must follow them."""
        ...

    def encode(self, data: bytes, *, stream: bool) -> bytes:
        """`data`, one JSON object, as one event of a stream; else as the body of a whole answer."""
        ...

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
        """Headers and body of a complete answer of the model's side that says `text` and stops.

        `stream`: as the events of a whole stream. `key`: letters and digits, of which the dialect
        makes its own ids; `now`: Unix time in seconds; `asked`: the request's body, for what it
        says of its answer. Raises `LookupError` where there is no conversation to end.
        """
        ...

    def keep_alive(self, *, begun: bool = True) -> bytes:
        """An event that says nothing and that clients take for a sign of life. `begun`: the first
        event of the answer is out."""
        ...
