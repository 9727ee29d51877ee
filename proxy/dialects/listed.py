"""A dialect whose bodies hold a list of messages or items: what all of these do alike.

Owns how such a body is read and written again, by the `Reading` of a dialect. It must not know a
vendor.
"""

from abc import ABC, abstractmethod

from policies.conversation import Conversation
from policies.decision import Claimed, Decision
from proxy.dialects.beginnings import known, passed
from proxy.dialects.cutting import Opening
from proxy.dialects.facts import FactStore
from proxy.dialects.framing import PLAIN, rendered
from proxy.dialects.glance import glance
from proxy.dialects.placing import Edit
from proxy.dialects.view import Reading, view
from proxy.lazyjson import Document, Known


class Listed(ABC):
    """The reading half of `Dialect`. `store` remembers facts about messages by their digest;
    `opening` says how a text of ours begins a message."""

    opening: Opening = PLAIN

    def __init__(self, reading: Reading, store: FactStore | None) -> None:
        self.store = FactStore() if store is None else store
        self._reading = reading

    def glance(self, document: Document) -> str:
        """See `Dialect.glance`."""
        return glance(document, self._reading.fields)

    def known(self, body: bytes) -> Known | None:
        """See `Dialect.known`."""
        return known(body, self._reading.list_key, self.store.beginnings)

    def passed(self, document: Document) -> None:
        """See `Dialect.passed`."""
        passed(document.root.child(self._reading.list_key), self.store.beginnings)

    def view(self, document: Document) -> Conversation:
        """See `Dialect.view`."""
        return view(document, self._reading, self.store)

    def render(
        self,
        document: Document,
        conversation: Conversation,
        decision: Decision,
        claimed: Claimed,
    ) -> bytes:
        """See `Dialect.render`."""
        edits = self.edits(document, conversation, decision, claimed)
        finished = self.store.finished
        return rendered(document, conversation, decision, claimed, finished, edits, self.opening)

    @abstractmethod
    def edits(
        self,
        document: Document,
        conversation: Conversation,
        decision: Decision,
        claimed: Claimed,
    ) -> list[Edit]:
        """What `decision` changes beside frames and what is left out: texts that are placed, and
        tools that are turned off."""
