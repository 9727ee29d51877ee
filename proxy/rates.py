"""How many requests of a session go to a model: a soft and a hard rate over shared buckets.

Owns the buckets' keys, what counts as a re-post, and the tokens that are held in advance. It must
not know what happens to a request beyond a rate.

Every token is taken from the store before it is used, so that all processes together never give
more than there is. While a bucket is far from empty, some are taken at a time: a token alone costs
a transaction. They are good for as long as the bucket needs to regain them.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from msgspec import Struct

from policies.conversation import Conversation
from proxy.config.kinds import Rate
from proxy.memory import Memory
from proxy.state.base import Book

REPOSTS: Final = 30
"""So often may one conversation come again, as it is, without being counted: clients repeat what
failed, up to six times within a moment (wire.md 0.5), and Codex some thirty. A client that repeats
itself for ever is a loop like any other."""

_KEPT: Final = 8_192
_PART: Final = 32
"""Part of a bucket that is taken at a time: what it regains in a thirty-second of its time."""


class Bounds(Struct, frozen=True):
    """Soft and hard rate of one session."""

    soft: Rate
    hard: Rate


class Pace(Struct, frozen=True):
    """`fast`: beyond the soft rate. `wait`: seconds until the hard one has a token; 0 where it had
    one. `again`: a re-post, which takes none."""

    fast: bool = False
    wait: float = 0.0
    again: bool = False


_WELL: Final = Pace()


@dataclass(slots=True)
class _Held:
    """Tokens of one bucket, `key`, that were taken in advance, until when they are good, and what
    was left in the bucket; nothing is known of it at first. One at a time asks the store."""

    key: str
    count: int = 0
    until: float = 0.0
    left: float = 0.0
    asks: asyncio.Lock = field(default_factory=asyncio.Lock)

    def give(self, now: float) -> bool:
        """Give one of them away."""
        if self.count and now < self.until:
            self.count -= 1
            return True
        return False


class Rates:
    """The rates of one node. `clock`: seconds since 1970."""

    def __init__(self, store: Book, *, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock
        self._held: Memory[str, _Held] = Memory(_KEPT)
        self._seen: Memory[tuple[str, bytes], list[int]] = Memory(_KEPT)

    async def take(self, session: str, conversation: Conversation, bounds: Bounds) -> Pace:
        """Count a request of `session`. Raises `StateError`."""
        mark = (session, said(conversation))
        times = self._seen.get(mark)
        if times is not None and times[0] < REPOSTS:
            times[0] += 1
            return Pace(again=True)
        hard, soft = self._of(f"hard {session}"), self._of(f"soft {session}")
        if not hard.give(self._clock()) and (wait := await self._one(hard, bounds.hard)):
            return Pace(wait=wait)
        # Only what was let through may come again for nothing.
        self._seen.renew(mark, [0], 1)
        if soft.give(self._clock()):
            return _WELL
        return Pace(fast=await self._one(soft, bounds.soft) > 0)

    def _of(self, key: str) -> _Held:
        """What is held of the bucket `key`."""
        held = self._held.get(key)
        if held is None:
            held = _Held(key)
            self._held.put(key, held, 1)
        return held

    async def _one(self, held: _Held, rate: Rate) -> float:
        """Take one token of a bucket of which none is held; seconds to wait where it has none."""
        async with held.asks:
            now = self._clock()
            return 0.0 if held.give(now) else await self._ask(held, rate, now)

    async def _ask(self, held: _Held, rate: Rate, now: float) -> float:
        key = held.key
        refill = rate.count / rate.seconds
        many = rate.count // _PART
        count = many if many > 1 and held.left > rate.count / 2 else 1
        taken = await self._store.take(key, now, rate.count, refill, count)
        if not taken.ok and count > 1:
            count = 1
            taken = await self._store.take(key, now, rate.count, refill)
        held.left = taken.left
        if not taken.ok:
            return max(taken.wait, 0.001)
        held.count, held.until = count - 1, now + (count - 1) / refill
        return 0.0


def said(conversation: Conversation) -> bytes:
    """What makes a request the same as one before: all its messages, byte for byte. Clients drop
    features when they repeat what failed, so nothing else counts."""
    digests = [message.digest for message in conversation.messages]
    return sha256(b"".join([*digests, *conversation.prompt])).digest()
