"""An answer from home, in the dialect of whoever asked.

Owns which of two ways a request takes: straight on to a server that speaks its dialect, or through
a translation to Ollama's own; how many are under way; and that nobody else is asked where home
fails. It must not know why a request stays at home, nor a policy.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from proxy.answer import Answer, filtered_whole, made_here
from proxy.apart import Apart
from proxy.config import UpstreamSettings
from proxy.dialects import Dialect
from proxy.dialects.finals import EVENTS
from proxy.dialects.streams import kind_of
from proxy.errors import Refused
from proxy.failures import gone
from proxy.lazyjson import read
from proxy.local.asked import talk
from proxy.local.asking import HOLD, Asked, ask
from proxy.local.counts import counted
from proxy.local.echo import Echo
from proxy.local.entire import Entire
from proxy.local.estimate import tokens, tokens_of
from proxy.local.foreword import Foreword, asks_for_form
from proxy.local.late import Late, given_up
from proxy.local.lively import Lively
from proxy.local.ollama import Model, chat
from proxy.local.speeches import Speeches
from proxy.local.straight import straight
from proxy.local.talk import Talk
from proxy.local.telling import Telling
from proxy.local.unsealed import Unsealed
from proxy.local.writers import writer
from proxy.upstream import Outbound

SEATS: Final = 16
"""Answers that may be under way at once. A local server works on a few and lets the others wait;
who comes when all seats are taken is told so at once."""

UP: Final = 3.0
"""Seconds in which a server that is up tells about its model."""

DOWN: Final = "down"
"""What a home lacks that does not answer at all."""

CHAT: Final = "/api/chat"
_JSON: Final = (("content-type", "application/json"),)


class Home:
    """The answers from home of one node."""

    def __init__(self, outbound: Outbound, apart: Apart) -> None:
        self._outbound = outbound
        self._apart = apart
        self._remembering: set[asyncio.Task[None]] = set()
        self.busy = 0

    async def answer(self, asked: Asked) -> Answer:
        """The answer of the local model. Raises `Refused`: `home-unavailable`, `home-not-local`,
        `home-context-too-small`, `upstream-timeout`."""
        speaks = asked.upstream.dialects
        if "ollama" not in speaks and asked.dialect.family not in speaks:
            raise gone(asked.upstream, "it does not speak the dialect of this client")
        if self.busy >= SEATS:
            raise gone(asked.upstream, "it is busy with other requests")
        stand_up, answer = self._seat(), None
        try:
            way = self._translated if "ollama" in speaks else self._straight
            answer = await way(asked, stand_up)
            return answer
        finally:
            if answer is None:
                stand_up()

    async def lacks(self, asked: Asked) -> str:
        """Why the local model is not the one to answer this, as a word of ours; empty where it is.
        Only an Ollama tells what its model can."""
        upstream, speaks = asked.upstream, asked.upstream.dialects
        if self.busy >= SEATS:
            return "busy"
        if "ollama" not in speaks:
            return "" if asked.dialect.family in speaks else "dialect"
        try:
            said = await self._apart.run(len(asked.body), talk, asked.dialect.name, asked.body)
            async with asyncio.timeout(UP):
                told = await self._outbound.told(upstream, upstream.model)
            if said.tools and "tools" not in told.capabilities:
                return "tools"
            if "vision" not in told.capabilities and any(each.images for each in said.messages):
                return "images"
            size = await self._apart.run(len(asked.body), tokens, said)
            await self._body(asked, said, told, size)
        except TimeoutError:
            return DOWN
        except Refused as no:
            return DOWN if no.code in ("home-unavailable", "upstream-timeout") else no.code
        return ""

    async def state(self, upstream: UpstreamSettings) -> dict[str, object]:
        """How the home of this node is, for its owner: whether it is `up`, which `model` it has,
        of how many tokens of `context` (0: not told), and how many answers are under way."""
        known: dict[str, object] = {"model": upstream.model, "busy": self.busy, "seats": SEATS}
        if "ollama" not in upstream.dialects:
            return {**known, "up": None, "context": 0}
        try:
            async with asyncio.timeout(UP):
                told = await self._outbound.told(upstream, upstream.model)
        except (Refused, TimeoutError):
            return {**known, "up": False, "context": 0}
        return {**known, "up": True, "context": told.context}

    async def count(self, dialect: Dialect, body: bytes) -> Answer:
        """An estimate of the tokens of a body, in place of the count that a cloud would give; also
        of one that a model at home could not be asked."""
        size = await self._apart.run(len(body), _estimate, dialect.name, body)
        return made_here(*counted(dialect.name, size))

    async def close(self) -> None:
        """Finish what is still being remembered."""
        await asyncio.gather(*self._remembering, return_exceptions=True)

    async def _translated(self, asked: Asked, stand_up: Callable[[], None]) -> Answer:
        said = await self._apart.run(len(asked.body), talk, asked.dialect.name, asked.body)
        size = await self._apart.run(len(asked.body), tokens, said)
        upstream = asked.upstream

        async def send() -> Answer:
            told = await self._outbound.told(upstream, upstream.model)
            body = await self._body(asked, said, told, size)
            return await ask(self._outbound, asked, CHAT, _JSON, body)

        writes = writer(
            asked.dialect.name,
            model=asked.model,
            stream=asked.stream,
            key=asked.key,
            now=asked.now,
            names=said.names,
            asked=asked.document,
            # A sentence before it would break an answer that is to be JSON.
            explain="" if said.form else asked.explain,
        )
        doubt = partial(self._outbound.doubt, upstream, upstream.model)
        speeches = Speeches(send, said.names, asked.lost, upstream.name, doubt)
        telling = Telling(speeches, writes, asked.told, partial(self._later, asked))
        asked.hears(telling.texts)

        def close() -> None:
            stand_up()
            telling.close()

        begun = False
        try:
            if not asked.stream:
                return made_here(writes.headers, await telling.whole(size))
            await telling.held()
            begun = True
        finally:
            if not begun:
                close()
        kind = kind_of(writes.headers["content-type"])
        chunks = telling.chunks(size)
        return Answer(200, [*writes.headers.items()], chunks, stream=kind, close=close)

    async def _body(self, asked: Asked, said: Talk, told: Model, size: int) -> bytes:
        """What Ollama is asked with. `size`: tokens."""
        model, ceiling = asked.upstream.model, asked.max_context
        return await self._apart.run(
            len(asked.body), chat, said, model=model, told=told, ceiling=ceiling, size=size
        )

    async def _straight(self, asked: Asked, stand_up: Callable[[], None]) -> Answer:
        document = await self._apart.run(len(asked.body), read, asked.body)
        size, model = len(asked.body), asked.upstream.model
        body = await self._apart.run(
            size, straight, asked.dialect.name, document, model, asked.held
        )
        path, headers, whole = asked.path, asked.headers, not asked.stream
        sending = asyncio.ensure_future(
            ask(self._outbound, asked, path, headers, body, whole=whole)
        )
        waited = False
        try:
            await asyncio.wait({sending}, timeout=HOLD if asked.stream else None)
            waited = True
        finally:
            if not waited:
                given_up(sending)
        if sending.done():
            answer = sending.result()
            if asked.stream != (answer.stream == "sse"):
                answer.close()
                raise gone(asked.upstream, "it answered in another form than it was asked for")
            if not asked.stream:
                return await _gathered(self._dressed(asked, answer, stand_up))
            if answer.whole is not None:
                return self._dressed(asked, answer, stand_up)
            return self._dressed(asked, _lively(asked, answer), stand_up)
        late, headers = Late(asked.upstream, sending), [("content-type", EVENTS)]
        begun = Answer(200, headers, late, stream="sse", close=late.close)
        return self._dressed(asked, _lively(asked, begun, late=True), stand_up)

    def _dressed(self, asked: Asked, answer: Answer, stand_up: Callable[[], None]) -> Answer:
        """`answer` under the name of the model that the client asked for, and whole."""
        entire = Entire(
            asked.dialect.name,
            answer.stream,
            told=partial(self._remember, asked),
            late=partial(self._later, asked),
            broken=partial(gone, asked.upstream),
        )
        asked.hears(entire.texts)

        def close() -> None:
            stand_up()
            answer.close()
            entire.close()

        return Answer(
            answer.status,
            answer.headers,
            answer.chunks,
            answer.stream,
            answer.reason,
            idle=answer.idle,
            close=close,
            filters=(Echo(asked.model), Unsealed(), entire, *_foreword(asked)),
        )

    def _seat(self) -> Callable[[], None]:
        """Take a seat; what is returned gives it back, once."""
        self.busy += 1
        taken = [True]

        def stand_up() -> None:
            if taken:
                taken.clear()
                self.busy -= 1

        return stand_up

    def _remember(self, asked: Asked, texts: Sequence[str]) -> asyncio.Task[None]:
        """Remember what was said, whether or not somebody waits for it to the end."""

        async def remember() -> None:
            await asked.told(texts)

        task = asyncio.get_running_loop().create_task(remember())
        self._remembering.add(task)
        task.add_done_callback(self._remembered)
        return task

    def _remembered(self, task: asyncio.Task[None]) -> None:
        self._remembering.discard(task)
        if not task.cancelled():
            task.exception()  # it is told to who waits, if anybody does

    def _later(self, asked: Asked, texts: Sequence[str]) -> None:
        """The same where nobody waits. The conversation is marked in any case; the lines are what
        goes beyond."""
        _ = self._remember(asked, texts)


def _estimate(dialect: str, body: bytes) -> int:
    try:
        return tokens(talk(dialect, body))
    except Refused as no:
        # Nobody is asked it, so nothing of it has to be carried out or found elsewhere.
        if no.code != "home-not-local":
            raise
        return tokens_of(body)


def _foreword(asked: Asked) -> Iterator[Foreword]:
    # A sentence before it would break an answer that is to be JSON.
    if asked.explain and not asks_for_form(asked.document.root):
        yield Foreword(asked.explain)


async def _gathered(answer: Answer) -> Answer:
    """A whole answer, all of it here: one that breaks off is none, and another may be asked."""
    whole = None
    try:
        whole = await filtered_whole(answer, answer.filters)
    finally:
        if whole is None:
            answer.close()
    return whole


def _lively(asked: Asked, answer: Answer, *, late: bool = False) -> Answer:
    """`answer`, a stream, with signs of life; `late`: the first of them is due."""
    lively = Lively(answer.chunks, answer.stream, asked.dialect.keep_alive, late=late)

    def close() -> None:
        lively.close()
        answer.close()

    return replace(answer, chunks=lively, close=close)
