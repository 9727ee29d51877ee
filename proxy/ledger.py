"""What must read the same next turn: each framed unit keeps the frame of its first day.

Owns the identity of a unit and the memory in front of the store. It must not know frames' words or
a dialect. Identity (DESIGN 3.2) is a keyed digest of the configured client's name, the dialect, and
call id, tool, part and text; where there are no call ids, tool, text and how many equal units stand
before it. Position, packaging and cache marks are not in it, as clients change them.
"""

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence

from policies.conversation import Address, Conversation, Unit
from policies.decision import Claimed, Decision, FrameRow, Remembered
from proxy.errors import Refused
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
        """Unit number → digest of its identity, for the wanted units, in their order."""
        units = conversation.units
        standing = _standing(units)
        common = (_bytes(client), _bytes(conversation.dialect))
        return {
            number: self._digest((*common, *_identity(units[number], standing[number])))
            for number in wanted
        }

    def _digest(self, fields: Iterable[bytes]) -> bytes:
        digest = hashlib.blake2b(key=self._key, digest_size=32, person=b"transom-unit")
        for value in fields:
            # SECURITY: without lengths two identities could run into the same bytes.
            digest.update(len(value).to_bytes(8, "big"))
            digest.update(value)
        return digest.digest()

    def _hit(self, digest: bytes) -> FrameRow | None:
        row = self._hits.get(digest)
        if row:
            self._hits.move_to_end(digest)
        return row

    def _keep(self, rows: Iterable[tuple[bytes, FrameRow]]) -> None:
        self._hits.update(rows)
        while len(self._hits) > self._most_hits:
            self._hits.popitem(last=False)


def _standing(units: Sequence[Unit]) -> list[int]:
    """For each unit without a call id, how many equal ones stand before it; else 0."""
    seen: Counter[tuple[str, Address, str]] = Counter()
    standing = []
    for unit in units:
        same = unit.tool, unit.inner, unit.text
        standing.append(0 if unit.call else seen[same])
        if not unit.call:
            seen[same] += 1
    return standing


def _identity(unit: Unit, standing: int) -> Iterator[bytes]:
    if unit.call:
        yield from (b"call", _bytes(unit.call), b"%d" % unit.part)
    else:
        yield from (b"standing", b"%d" % standing)
    yield _bytes(unit.tool)
    yield b"%d" % len(unit.inner)
    for step in unit.inner:
        yield b"index %d" % step if isinstance(step, int) else b"key " + _bytes(step)
    yield _bytes(unit.text)


def _bytes(text: str) -> bytes:
    # Lone surrogates pass on local legs, so they have bytes here too.
    return text.encode("utf-8", "surrogatepass")
