"""An answer from home on its way to the client: spoken by a model, written in the client's dialect.

Owns the pace: how long the first byte is held back, signs of life, and that the answer is
remembered before its end goes out. It must not know a dialect or the server.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from proxy.coming import Coming
from proxy.local.arguments import strings
from proxy.local.asking import HOLD, QUIET, Told
from proxy.local.speeches import Speeches
from proxy.local.talk import Called, Speech, Text
from proxy.local.writers import Writer


class Telling:
    """One answer. `told` is awaited with all texts of it before its end; `late` gets those of an
    answer that nobody reads to its end."""

    def __init__(
        self, speeches: Speeches, writes: Writer, told: Told, late: Callable[[Sequence[str]], None]
    ) -> None:
        self._speeches = speeches
        self._coming = Coming(speeches)
        self._writes = writes
        self._told = told
        self._late = late
        self._said: list[str] = []
        self._text: list[str] = []
        self._over = False

    async def held(self) -> None:
        """Wait for the first word, but not for ever; a failure until then is raised by `chunks`
        or `whole`, before anything was written."""
        if await self._coming.within(HOLD):
            await self._coming.task()

    async def whole(self, read: int) -> bytes:
        """The whole answer. `read`: as for `chunks`."""
        parts = [self._writes.begin(read)]
        while (said := await self._coming.item()) is not None:
            parts += self._written(said)
        parts.append(await self._end())
        return b"".join(parts)

    async def chunks(self, read: int) -> AsyncIterator[bytes]:
        """The answer, event by event. `read`: an estimate of the tokens of the question."""
        if begun := self._writes.begin(read):
            yield begun
        clock = asyncio.get_running_loop().time
        due = clock() + QUIET
        while True:
            # Much may be said of which nothing is told: a model thinks for minutes.
            if not await self._coming.within(due - clock()):
                out = self._writes.keep_alive()
            elif (said := await self._coming.item()) is None:
                break
            else:
                out = b"".join(self._written(said))
                if not out and clock() >= due:
                    out = self._writes.keep_alive()
            if out:
                yield out
                due = clock() + QUIET
        if ended := await self._end():
            yield ended

    def close(self) -> None:
        """Give up the rest, at once. Harmless when there is none."""
        self._coming.drop()
        self._speeches.close()
        if not self._over:
            self._over = True
            self._late(self.texts())

    async def _end(self) -> bytes:
        self._over = True
        await self._told(self.texts())
        return self._writes.end()

    def _written(self, said: Iterable[Speech]) -> list[bytes]:
        for each in said:
            if isinstance(each, Text):
                self._text.append(each.text)
            elif isinstance(each, Called):
                self._said += strings(each.arguments)
        return [self._writes.say(each) for each in said]

    def texts(self) -> list[str]:
        """What is said so far: its text, then what its calls are given."""
        return ["".join(self._text), *self._said]
