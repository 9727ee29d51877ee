"""What a local Ollama says to one request, as it comes.

Owns the answer of the server from the question to its end. It must not know the client's dialect.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Self

from proxy.answer import Answer
from proxy.errors import Refused
from proxy.local.heard import Heard
from proxy.local.spoken import Lost, checked
from proxy.local.talk import Named, Speech


class Speeches:
    """An iterator over what is said, some at a time; the server is asked with the first. `ask`
    gives its answer; `names`: tools that may be called; `lost`: told which calls became text;
    `upstream`: the name of the server; `elsewhere`: told when the model turns out to run on another
    one. Raises `Refused`."""

    def __init__(
        self,
        ask: Callable[[], Awaitable[Answer]],
        names: Mapping[str, Named],
        lost: Callable[[Sequence[Lost]], None],
        upstream: str,
        elsewhere: Callable[[], None],
    ) -> None:
        self._ask = ask
        self._names = names
        self._lost = lost
        self._upstream = upstream
        self._elsewhere = elsewhere
        self._answer: Answer | None = None
        self._heard = Heard()
        self._over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[Speech, ...]:
        try:
            if self._answer is None:
                self._answer = await self._ask()
            while not self._over:
                if said := await self._next(self._answer):
                    return self._checked(said)
        except Refused as no:
            if no.code == "home-not-local":
                # SECURITY: it was vouched for not long ago; the next question would still be sent.
                self._elsewhere()
            facts = {"upstream": self._upstream, **no.facts}
            raise Refused(no.code, findings=no.findings, **facts) from None
        raise StopAsyncIteration

    def close(self) -> None:
        """Give up what is left, at once; the model need not go on."""
        if self._answer is not None:
            self._answer.close()

    async def _next(self, answer: Answer) -> tuple[Speech, ...]:
        chunk = await anext(answer.chunks, None)
        if chunk is not None:
            said = self._heard.feed(chunk)
            # What a server does behind its last word is of no concern.
            self._over = self._heard.ended
            return said
        self._over = True
        return self._heard.over()

    def _checked(self, said: tuple[Speech, ...]) -> tuple[Speech, ...]:
        what = checked(said, self._names)
        if what.lost:
            self._lost(what.lost)
        return what.speech
