"""A stream of somebody else's on its way to a client that must not take it for dead.

Owns when a sign of life is due, and that none stands within an event. It must not know a dialect,
nor where the stream comes from.
"""

from collections.abc import AsyncIterator
from typing import Final, Protocol, Self

from proxy.coming import Coming
from proxy.dialects.streams import Edge, Kind
from proxy.local.asking import QUIET

_NOW: Final = 0.0


class Alive(Protocol):
    """What a dialect says that means nothing."""

    def __call__(self, *, begun: bool) -> bytes:
        """`begun`: something of the answer is out."""
        ...


class Lively:
    """An iterator over `chunks` in the grammar `kind`, between which `alive` stands wherever they
    are silent for long; `late`: they have been for some time. It ends when it is told to and not
    when somebody collects it, hence no generator."""

    def __init__(
        self, chunks: AsyncIterator[bytes], kind: Kind, alive: Alive, *, late: bool = False
    ) -> None:
        self._coming = Coming(chunks)
        self._edge = Edge(kind)
        self._alive = alive
        self._begun = False
        self._wait = _NOW if late else QUIET

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while not await self._coming.within(self._wait):
            self._wait = QUIET
            if self._edge.clean:
                return self._alive(begun=self._begun)
        self._wait = QUIET
        chunk = await self._coming.item()
        if chunk is None:
            raise StopAsyncIteration
        self._edge.feed(chunk)
        self._begun = True
        return chunk

    def close(self) -> None:
        """Wait for nothing any more."""
        self._coming.drop()
