"""What the ledger has to say about one request, and what is written there before it leaves.

Owns the two steps round the decision, and what a leg does when the ledger fails: a cloud is
refused, home goes on with frames that nobody remembers. It must not know a store or a dialect.
"""

from dataclasses import dataclass

from policies.conversation import Conversation
from policies.decision import Claimed, Decision, Leg, Remembered
from policies.envelope.also import marked
from policies.settings import Policies
from proxy.errors import Refused
from proxy.ledger import Ledger

TRIES = 4
"""How often a request is decided when others are first each time: each may win over it once, by
the pins, the turn and the beginning of a view; a fifth time cannot come."""

NOTHING = Remembered({})


@dataclass(frozen=True, slots=True)
class Recollection:
    """Recall and claim for requests of `client` that go to `leg`."""

    ledger: Ledger
    policies: Policies
    leg: Leg
    client: str

    async def recall(self, conversation: Conversation) -> tuple[Conversation, Remembered]:
        """`conversation` with the marked spans of its users' texts as units, and what is known.

        Which spans are marked is pinned with the conversation, so it may have to be read again."""
        if not conversation.messages and not conversation.prompt:
            return conversation, NOTHING
        also = self.policies.envelope.also
        seen = marked(conversation, self.client, also)
        remembered = await self._recalled(seen)
        if remembered.pins is not None and remembered.pins.envelope.also != also:
            seen = marked(conversation, self.client, remembered.pins.envelope.also)
            remembered = await self._recalled(seen)
        return seen, remembered

    async def claim(self, conversation: Conversation, decision: Decision) -> Claimed:
        """What holds for `decision` once it is written down."""
        try:
            return await self.ledger.claim(self.client, conversation, decision)
        except Refused:
            if self.leg is Leg.CLOUD:
                raise
            return self.ledger.unclaimed(decision)

    async def _recalled(self, conversation: Conversation) -> Remembered:
        try:
            return await self.ledger.recall(self.client, conversation)
        except Refused:
            if self.leg is Leg.CLOUD:
                raise
            return NOTHING
