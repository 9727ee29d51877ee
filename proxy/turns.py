"""Whose turn it is: a burst of requests is begun a few at a time, in the order in which they came.

Owns how much begins in one turn of the event loop. It must not know a request. The work on one is
done in one go; a hundred that came together would keep the loop for as long as all of them take,
and every stream that runs would wait, as would the connections that the first of them asked for.
"""

import asyncio
from collections import deque
from typing import Final

SHARE: Final = 16
"""Small requests that begin in one turn of the loop where nobody looks into them: some
milliseconds. With fewer, those that come last wait too long beside a few hundred streams."""

LOOKED: Final = 2
"""As how many each counts that is looked into. It takes longer by far, but with fewer in a turn
their streams end no sooner."""

LARGE: Final = 64 * 1024
"""Bytes of a body for which it counts as one more."""


class Turns:
    """Inside a running loop. Who comes alone does not wait."""

    __slots__ = ("_left", "_turning", "_waiting")

    def __init__(self) -> None:
        self._left = SHARE
        self._turning = False
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    def begin(self, size: int, *, looked: bool = True) -> "asyncio.Future[None] | None":
        """What to wait for before work on a body of `size` bytes begins; None: begin at once.
        `looked`: it is looked into."""
        weight = (1 + size // LARGE) * (LOOKED if looked else 1)
        waits = None
        if self._left > 0 and not self._waiting:
            self._left -= weight
        else:
            waits = asyncio.get_running_loop().create_future()
            self._waiting.append((weight, waits))
        # While there is room, nobody needs to know whether the loop has turned since.
        if self._left <= SHARE // 2 and not self._turning:
            self._turning = True
            asyncio.get_running_loop().call_soon(self._turn)
        return waits

    def _turn(self) -> None:
        """The loop has turned: others may begin."""
        self._left, begun = SHARE, False
        while self._waiting and self._left > 0:
            weight, future = self._waiting.popleft()
            if not future.done():  # its client may have left
                self._left -= weight
                begun = True
                future.set_result(None)
        self._turning = begun
        if begun:
            asyncio.get_running_loop().call_soon(self._turn)
