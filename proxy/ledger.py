"""What must read the same next turn: each framed unit keeps the frame of its first day.

Owns the memory in front of the store. It must not know frames' words, a dialect, or what makes two
units the same (`identity`).
"""

from collections import OrderedDict
from collections.abc import Iterable

from policies.conversation import Conversation
from policies.decision import Claimed, Decision, FrameRow, Remembered
from proxy.errors import Refused
from proxy.identity import unit_ids
from proxy.state.base import StateError, Store

MOST_HITS = 16_384
"""Rows kept in memory, some 8 MB: a long conversation needs no read."""


class Ledger:
    """Recall and claim over one store. All failures are `Refused("state-unavailable")`; what a
    local leg does then is in `unclaimed`."""

    def __init__(self, store: Store, key: bytes, *, most_hits: int = MOST_HITS) -> None:
        self._store = store
        self._key = key
        self._most_hits = most_hits
        self._hits: OrderedDict[bytes, FrameRow] = OrderedDict()

    async def recall(self, client: str, conversation: Conversation) -> Remembered:
        """The rows of all units of `conversation` that were ever claimed for `client`, which is
        the configured name, never a credential. At most one read."""
        digests = self._digests(client, conversation, range(len(conversation.units)))
        rows = {digest: row for digest in digests.values() if (row := self._hit(digest))}
        missing = list(dict.fromkeys(one for one in digests.values() if one not in rows))
        if missing:
            try:
                found = await self._store.frames(missing)
            except StateError as error:
                raise Refused("state-unavailable") from error
            self._keep(found.items())
            rows.update(found)
        return Remembered(
            {number: rows[digest] for number, digest in digests.items() if digest in rows}
        )

    async def claim(self, client: str, conversation: Conversation, decision: Decision) -> Claimed:
        """The rows that hold for all frames of `decision`. The new ones are written in one
        transaction before this returns; where someone was first, the row of the first holds."""
        rows = {frame.unit: frame.row for frame in decision.frames if frame.known}
        fresh = {frame.unit: frame.row for frame in decision.frames if not frame.known}
        if not fresh:
            return Claimed(rows)
        digests = self._digests(client, conversation, fresh)
        try:
            winners = await self._store.claim_frames(
                [(digests[number], row) for number, row in fresh.items()]
            )
        except StateError as error:
            raise Refused("state-unavailable") from error
        self._keep(winners.items())
        rows.update({number: winners[digest] for number, digest in digests.items()})
        return Claimed({frame.unit: rows[frame.unit] for frame in decision.frames})

    @staticmethod
    def unclaimed(decision: Decision) -> Claimed:
        """The rows as they were proposed: known ones and fresh ones that nobody has written down.
        For a local leg whose ledger is down; the next turn will read differently."""
        return Claimed({frame.unit: frame.row for frame in decision.frames})

    def _digests(
        self, client: str, conversation: Conversation, wanted: Iterable[int]
    ) -> dict[int, bytes]:
        return unit_ids(self._key, client, conversation, wanted)

    def _hit(self, digest: bytes) -> FrameRow | None:
        row = self._hits.get(digest)
        if row:
            self._hits.move_to_end(digest)
        return row

    def _keep(self, rows: Iterable[tuple[bytes, FrameRow]]) -> None:
        self._hits.update(rows)
        while len(self._hits) > self._most_hits:
            self._hits.popitem(last=False)
