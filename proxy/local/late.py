"""The stream of an answer that its client waits for while it is still asked for.

Owns that it is given up with the waiting, whichever of the two ends first. It must not know a
dialect, nor what the client sees meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Self

from proxy.answer import Answer
from proxy.config import UpstreamSettings
from proxy.failures import gone


class Late:
    """An iterator over the chunks of the answer that `sending` gives. Raises what that raises, and
    `Refused("home-unavailable")` for an answer that is no stream of events."""

    def __init__(self, upstream: UpstreamSettings, sending: asyncio.Future[Answer]) -> None:
        self._upstream = upstream
        self._sending = sending
        self._chunks: AsyncIterator[bytes] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._chunks is None:
            answer = await self._sending
            if answer.stream != "sse":
                raise gone(self._upstream, "it did not answer with a stream")
            self._chunks = answer.chunks
        return await anext(self._chunks)

    def close(self) -> None:
        """Give up the rest, at once."""
        given_up(self._sending)


def given_up(sending: asyncio.Future[Answer]) -> None:
    """Nobody waits for this answer any more, nor for why there is none."""
    sending.cancel()
    sending.add_done_callback(_closed)


def _closed(sending: asyncio.Future[Answer]) -> None:
    if not sending.cancelled() and sending.exception() is None:
        sending.result().close()
