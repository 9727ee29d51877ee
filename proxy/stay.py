"""A request that must not leave: answered at home in place of the upstream that was asked.

Owns what has to be remembered and written down about it before an answer of home is handed on. It
must not know why something must not leave, nor how home finds its answer.
"""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from msgspec import Struct

from policies.conversation import Conversation
from policies.decision import Decision, Leg
from policies.happenings import tainted
from policies.wording import at_home
from proxy.answer import Answer
from proxy.beside import beside
from proxy.config import Config, UpstreamSettings
from proxy.dialects import Dialect
from proxy.door import Admitted
from proxy.ending import ended
from proxy.endpoints import Treatment
from proxy.errors import Refused
from proxy.home_only import HomeOnly, outputs
from proxy.instead import ENDPOINTS, instead
from proxy.lazyjson import Document
from proxy.local.asking import Asked, Hears, Told
from proxy.local.home import DOWN, Home
from proxy.local.spoken import Lost
from proxy.outgoing import Met, Outgoing, Request, Workshop, look
from proxy.owner import Case, Owner
from proxy.refusals import said
from proxy.state.base import StateError
from proxy.watched import watched

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Hearth:
    """What a node answers with at home, and what it remembers of that."""

    home: Home
    marks: HomeOnly


class Stay(Struct, frozen=True, eq=False):
    """One request on its way home."""

    config: Config
    workshop: Workshop
    owner: Owner
    hearth: Hearth
    admitted: Admitted
    case: Case

    def instead(self, no: Refused, leg: Leg) -> UpstreamSettings | None:
        """Who answers in place of a refusal; None where it stands."""
        path, held = self.admitted.match.endpoint.path, bool(no.facts.get("held"))
        return instead(self.config, no.code, leg=leg, path=path, held=held)

    async def answer(
        self, upstream: UpstreamSettings, document: Document, dialect: Dialect, no: Refused
    ) -> Answer:
        """The answer from home. Raises `Refused` where there is none; a cloud is not asked. That it
        goes home is written down meanwhile."""
        diverted = self._diverted(no, self.case.audited)
        self.case.line.goes_home(no, upstream.name)
        return await beside(diverted, self._instead(upstream, document, dialect, no))

    async def _diverted(self, no: Refused, asked: Mapping[str, object]) -> None:
        self.case.line.diverted(no, await self.owner.diverted(self.case, no, asked))

    async def _instead(
        self, upstream: UpstreamSettings, document: Document, dialect: Dialect, no: Refused
    ) -> Answer:
        outgoing = await self._prepared(document, dialect)
        await self._heed(outgoing.decision, no)
        talk = self.case.conversation or look(dialect, document)
        if (final := outgoing.decision.final) is not None:
            return ended(final, document, talk, self.case.line.request)
        body = outgoing.body or document.body
        if not self._asks_model:
            return await self.hearth.home.count(dialect, body)
        asked = self._asked(upstream, document, dialect, body, talk, no)
        answer = await beside(_kept(self._hold(talk, no)), self.hearth.home.answer(asked))
        return self._watched(answer, document, dialect)

    async def _hold(self, talk: Conversation, no: Refused) -> None:
        marks, client = self.hearth.marks, self.admitted.client
        again = no.code == "home-only"
        if self.case.unsure and not again:
            again = await marks.repeats(client, talk.pieces)
        await marks.hold(client, self._session, talk, repeats=again)

    async def sift(self, conversation: Conversation) -> frozenset[int]:
        """Which messages of a conversation were given at home. Raises `Refused("home-only")` for
        one of which nothing may leave for a cloud, as far as that is told before every line of it
        is looked up: see `repeats`."""
        marks = self.hearth.marks
        # SECURITY: another node that shares the state may have a home where this one has none.
        if not await _read(marks.present()):
            return frozenset()
        held = await _read(marks.look(self.admitted.client, self._session, conversation))
        if held.stays:
            raise Refused("home-only")
        self.case.at_home, self.case.unsure = held.marked, held.unsure
        return held.messages

    async def repeats(self, conversation: Conversation) -> None:
        """Raises `Refused("home-only")` for a conversation that repeats what home has answered in
        another one."""
        if not self.case.unsure:
            return
        if await _read(self.hearth.marks.repeats(self.admitted.client, conversation.pieces)):
            raise Refused("home-only")
        self.case.unsure = False

    async def know(self, conversation: Conversation) -> None:
        """The same about one that goes to a model at home, which is shown everything."""
        marks = self.hearth.marks
        with suppress(StateError):  # a run that nobody has noted stays
            if await marks.present():
                self.case.at_home = await marks.knows(self.admitted.client, conversation)

    async def leaves(self, seen: Conversation) -> None:
        """Raises `Refused("home-only")` for a view that repeats what home has answered before in
        its conversation."""
        if not self.case.at_home:
            return
        # SECURITY: what home has written into a file is read again by whoever looks there. What a
        # model says in the turn is the cloud's own: it goes on from nothing else.
        turn = [index for index in outputs(seen) if index >= seen.turn]
        spoken = {seen.messages[index].address for index in turn}
        pieces = [piece for piece in seen.pieces if piece.address not in spoken]
        if await _read(self.hearth.marks.repeats(self.admitted.client, pieces)):
            raise Refused("home-only")

    async def asks(self, *, cloud: bool) -> None:
        """Remember who answers next, in a conversation that home has answered in."""
        if self.case.at_home and self.case.conversation is not None:
            note = self.hearth.marks.went if cloud else self.hearth.marks.stayed
            await _kept(note(self.admitted.client, self._session, self.case.conversation))

    async def first(
        self,
        document: Document,
        dialect: Dialect,
        met: Met,
    ) -> Answer | str:
        """The answer of home, which is asked before any cloud as the owner prefers it; or why it
        has none, as a word of ours, and then the request may go on as far as it may leave. Raises
        `Refused` for what nobody is to answer."""
        upstream = self.config.home
        if upstream is None or self.admitted.match.endpoint.path not in ENDPOINTS:
            return DOWN
        self.case.line.know(leg=Leg.LOCAL.value, upstream=upstream.name)
        outgoing = await self._prepared(document, dialect, met)
        talk = self.case.conversation or look(dialect, document)
        if (final := outgoing.decision.final) is not None:
            await self._heed(outgoing.decision, None)
            return ended(final, document, talk, self.case.line.request)
        body, home = outgoing.body or document.body, self.hearth.home
        if not self._asks_model:
            # Only who holds a part of it can count that.
            return "home-not-local" if talk.held else await home.count(dialect, body)
        # What its answer does is told before the decision is, which may be another one's.
        self.case.tainted = tainted(talk, outgoing.decision, self.config.policies)
        asked = self._asked(upstream, document, dialect, body, talk, None)
        if lacks := await home.lacks(asked):
            return lacks
        try:
            answer = await home.answer(asked)
        except Refused as no:
            return no.code
        heeded = False
        try:
            await self.asks(cloud=False)
            await self._heed(outgoing.decision, None)
            heeded = True
        finally:
            if not heeded:  # the client has left, and nobody relays it
                answer.close()
        return self._watched(answer, document, dialect)

    def _watched(self, answer: Answer, document: Document, dialect: Dialect) -> Answer:
        return watched(
            answer,
            owner=self.owner,
            case=self.case,
            policies=self.config.policies,
            document=document,
            dialect=dialect,
        )

    async def _heed(self, decision: Decision, no: Refused | None) -> None:
        """Write down what was decided about a request that stays; `no`: why it has to."""
        line, first = self.case.line, not self.case.decided
        if first and self._asks_model:
            await self.owner.decided(self.case, decision, self.config.policies)
        if first:
            line.decided(decision)
        line.know(frames=len(decision.frames))
        ended = decision.stops if decision.final is None else decision.final.code
        # What ends a turn is said before why it ends here.
        line.know(notice=ended or (no.code if no is not None else ""))

    async def _prepared(
        self,
        document: Document,
        dialect: Dialect,
        met: Met | None = None,
    ) -> Outgoing:
        client = self.admitted.client
        request = Request(
            document.body, dialect, Leg.LOCAL, client, bounded=self._asks_model, met=met,
            stripped=True, viewed=self.case.conversation,
        )  # fmt: skip
        outgoing = await self.workshop.prepare(request, document)
        if (why := outgoing.decision.refusal) is not None:
            raise Refused(why.code, findings=why.findings, **why.facts)
        return outgoing

    @property
    def _asks_model(self) -> bool:
        return self.admitted.match.endpoint.treatment is Treatment.CONVERSATION

    def _asked(
        self,
        upstream: UpstreamSettings,
        document: Document,
        dialect: Dialect,
        body: bytes,
        talk: Conversation,
        no: Refused | None,
    ) -> Asked:
        """`no`: why nobody else may answer; None where somebody else might, so that nothing of the
        answer has to stay, unless home has answered before."""
        config, line = self.config, self.case.line

        hears, told = self._remembers(talk, stays=no is not None or self.case.at_home)
        tells = no is not None and config.fallback.explain == "text"
        explain = at_home(said(no), upstream.model) if no is not None and tells else ""
        return Asked(
            upstream,
            dialect,
            body,
            document,
            talk.model,
            talk.stream,
            self.admitted.match.path,
            self.admitted.headers,
            line.request.removeprefix("req_"),
            int(time.time()),
            explain,
            config.fallback.max_context,
            config.timeouts.home_first_byte,
            hears,
            told,
            self._lost,
            talk.held,
            config.timeouts.first_byte,
        )

    def _remembers(self, talk: Conversation, *, stays: bool) -> tuple[Hears, Told]:
        """Who remembers what is said to `talk`, from its first word on; nobody where it need not
        stay."""
        marks, client = self.hearth.marks, self.admitted.client
        over: list[Callable[[], None]] = []

        def hears(texts: Callable[[], Sequence[str]]) -> None:
            if stays:
                over.append(marks.saying(client, talk, texts))

        async def told(texts: Sequence[str]) -> None:
            if not stays:
                return
            try:
                await _kept(marks.said(client, self._session, texts, talk))
            finally:
                over.pop()()

        return hears, told

    def _lost(self, calls: Sequence[Lost]) -> None:
        """Calls that the model has made became text, as no client could carry them out."""
        self.case.line.written_out(len(calls))
        for call in calls:
            self.owner.lost(self.case, call.name, declared=call.declared)

    @property
    def _session(self) -> str:
        return str(self.case.line.fields.get("session", ""))


async def _read(reading: Awaitable[T]) -> T:
    try:
        return await reading
    except StateError as error:
        # SECURITY: marks that cannot be read may be there.
        raise Refused("home-only") from error


async def _kept(marking: Awaitable[None]) -> None:
    try:
        await marking
    except StateError as error:
        # SECURITY: what is not remembered could leave with the next request.
        raise Refused("state-unavailable") from error
