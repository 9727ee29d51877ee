"""What the ledger has to say about one request, and what is written there before it leaves.

Owns the two steps round the decision, and what a leg does when the ledger fails: a cloud is
refused, home goes on with frames that nobody remembers. It must not know a store or a dialect.
"""

from collections.abc import Awaitable

from msgspec import Struct, field
from msgspec.structs import replace

from policies.conversation import Conversation
from policies.cut import Window
from policies.decision import Claimed, Decision, Leg, Refusal, Remembered
from policies.envelope.also import marked
from policies.settings import Also, Policies
from policies.showing import Shown, lasts, show
from proxy.errors import Refused
from proxy.ledger import Ledger
from proxy.ledger_front import Absent
from proxy.plans import Plans

TRIES = 5
"""How often a request is decided when others are first each time: each may win over it once, by
the pins, the turn, its window and the beginning of a view; a sixth time cannot come."""

NOTHING = Remembered({})


class Recalled(Struct, frozen=True):
    """`seen`: the conversation with the marked spans of its users' texts as units, and without what
    a cut takes out. `remembered`: what is known of it. `shown`: what of it leaves, or why nothing
    does; None on a local leg, where nothing is cut."""

    seen: Conversation
    remembered: Remembered
    shown: Shown | Refusal | None = None


class Recollection(Struct, frozen=True, eq=False):
    """Recall and claim for requests of `client` that go to `leg`, on `route` where that says by
    itself how much leaves."""

    ledger: Ledger
    policies: Policies
    leg: Leg
    client: str
    plans: Plans = field(default_factory=Plans)
    route: str = ""

    async def recall(self, conversation: Conversation) -> Recalled:
        """What is known of `conversation`. Which spans are marked is pinned with it, so it may have
        to be read again."""
        if not conversation.messages and not conversation.prompt:
            return self._shown(conversation, None, NOTHING)
        also = self.policies.envelope.also
        recalled = await self._recalled(conversation, also)
        pins = recalled.remembered.pins
        if pins is not None and pins.envelope.also != also:
            recalled = await self._recalled(conversation, pins.envelope.also)
        return recalled

    async def claim(self, conversation: Conversation, decision: Decision) -> Claimed:
        """What holds for `decision` once it is written down."""
        try:
            return await self.ledger.claim(self.client, conversation, decision, route=self.route)
        except Refused:
            if self.leg is Leg.CLOUD:
                raise
            return self.ledger.unclaimed(decision)

    async def _recalled(self, conversation: Conversation, also: tuple[Also, ...]) -> Recalled:
        seen = marked(conversation, self.client, also)
        if self.leg is Leg.LOCAL:
            return Recalled(seen, await self._at_home(seen))
        if self.policies.minimality.mode == "off":
            remembered = await self.ledger.recall(
                self.client, seen, windows=lasts(seen), route=self.route
            )
            window = remembered.windows.get(seen.turn)
            if window is None or window.mode == "off":
                return self._shown(seen, window, remembered)
            # The mode was another one when this turn began.
            return await self._cut(seen, window, set())
        absent: Absent = set()
        window = await self._window(seen, absent) if lasts(seen) else None
        return await self._cut(seen, window, absent)

    def _window(self, seen: Conversation, absent: Absent) -> Awaitable[Window | None]:
        return self.ledger.window(self.client, seen, route=self.route, absent=absent)

    async def _cut(self, seen: Conversation, window: Window | None, absent: Absent) -> Recalled:
        recalled = self._shown(seen, window, NOTHING)
        if recalled.shown is None or isinstance(recalled.shown, Refusal):
            return recalled
        if window is None and recalled.seen.since and not lasts(seen):
            window = await self._window(seen, absent)
            if window is not None:
                return await self._cut(seen, window, absent)
        known = {} if window is None else {seen.turn: window}
        remembered = await self.ledger.recall(
            self.client, recalled.seen, known=known, route=self.route, absent=absent
        )
        return replace(recalled, remembered=remembered)

    def _shown(self, seen: Conversation, window: Window | None, remembered: Remembered) -> Recalled:
        if self.leg is Leg.LOCAL:
            return Recalled(seen, remembered)
        shown = show(seen, window, self.policies.minimality, self.plans)
        if isinstance(shown, Refusal):
            return Recalled(seen, remembered, shown)
        return Recalled(shown.seen, remembered, shown)

    async def _at_home(self, conversation: Conversation) -> Remembered:
        try:
            return await self.ledger.recall(self.client, conversation)
        except Refused:
            return NOTHING
