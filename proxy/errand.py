"""One admitted request on its way to an upstream: route, view, prepare, send.

Owns who is asked and with what. It must not know the client's socket or how an answer goes back.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from msgspec.structs import replace

from policies.conversation import Conversation, Piece
from policies.decide import looks_inside
from policies.decision import Decision, Leg
from policies.prove import Cleared, nothing_to_prove, unread
from proxy import around
from proxy.answer import Answer
from proxy.config import Config, UpstreamSettings
from proxy.dialects import ALL, Dialect
from proxy.door import Admitted, Door
from proxy.ending import ended
from proxy.endpoints import Treatment
from proxy.errors import Refused
from proxy.lazyjson import Document
from proxy.local.home import DOWN
from proxy.outgoing import Request, Workshop
from proxy.owner import Case, Owner
from proxy.relayed import Listener, Relayed
from proxy.routes import Chosen, choose
from proxy.stay import Hearth, Stay
from proxy.turns import Turns
from proxy.upstream import Outbound
from proxy.watched import watched


@dataclass(frozen=True, slots=True)
class House:
    """Everything that a request needs, fixed from its beginning to its end. `session` names the
    session that a request belongs to, as it may be logged, from its headers and from what its body
    says where that was read."""

    config: Config
    door: Door
    workshop: Workshop
    outbound: Outbound
    relayed: Relayed
    owner: Owner
    session: Callable[[Admitted, Conversation | None], str]
    hearth: Hearth
    turns: Turns


class Errand:
    """A request that the door has let in. `line`: its line in the log."""

    __slots__ = ("_asks_model", "_stay", "admitted", "case", "house", "line")

    def __init__(self, house: House, admitted: Admitted, case: Case) -> None:
        self.house, self.admitted, self.case, self.line = house, admitted, case, case.line
        # Whether a model is to answer, and the way home for what must not leave.
        self._asks_model = admitted.match.endpoint.treatment is Treatment.CONVERSATION
        self._stay = Stay(house.config, house.workshop, house.owner, house.hearth, admitted, case)

    def run(self, body: bytes) -> Awaitable[Answer]:
        """The upstream's answer to `body`. Raises `Refused`."""
        match self.admitted.match.endpoint.treatment:
            case Treatment.CONVERSATION | Treatment.COUNT | Treatment.TEXT:
                return self._read(body)
            case Treatment.REFUSED:  # the owner has opened it, and gave up the promise for it
                return self._unread(body)
            case _:
                return self._bare()

    async def _read(self, body: bytes) -> Answer:
        matched = self.admitted.match
        dialect = ALL[matched.endpoint.dialect]
        document, model = await self.house.workshop.open(dialect, body)
        chosen = self._choose(model)
        lacks, leg = "", chosen.upstream.leg
        looked = looks_inside(leg, self.house.config.policies)
        if (turn := self.house.turns.begin(len(body), looked=looked)) is not None:
            await turn
        try:
            if chosen.home_first and leg is Leg.CLOUD:
                first = await self._stay.first(document, dialect, self._met_first)
                if isinstance(first, Answer):
                    return first
                lacks = first
                self._choose(model)
            return await self._outward(document, dialect, model, chosen, lacks)
        except Refused as no:
            if (home := self._stay.instead(no, leg)) is None:
                raise
            return await self._stay.answer(home, document, dialect, no)

    async def _outward(
        self, document: Document, dialect: Dialect, model: str, chosen: Chosen, lacks: str
    ) -> Answer:
        """To the upstream that the owner chose for it, as far as it may leave. `lacks`: why home,
        which was asked first, has no answer."""
        upstream = chosen.upstream
        cloud = upstream.leg is Leg.CLOUD
        asked = Request(
            document.body,
            dialect,
            upstream.leg,
            self.admitted.client,
            around=self._beside() if cloud else (),
            credentials=self._credentials() if cloud else (),
            vouched=self.house.relayed.by(upstream.name) if cloud else (),
            bounded=self.admitted.match.endpoint.bounded,
            met=self._met,
            leaving=self._stay.leaves if cloud else None,
            # SECURITY: asked last, as every line is looked up; of what stays anyway it is asked
            # while home thinks.
            parting=self._stay.repeats if cloud else None,
            minimality=chosen.minimality,
            route=chosen.route,
            viewed=self.case.conversation,
        )
        outgoing = await self.house.workshop.prepare(asked, document)
        if self._asks_model and outgoing.conversation is not None:
            await self.house.owner.decided(self.case, outgoing.decision, self.house.config.policies)
        self._heed(outgoing.decision)
        if self._asks_model:
            await self._stay.asks(cloud=cloud)
        if (final := outgoing.decision.final) is not None and outgoing.conversation is not None:
            return ended(final, document, outgoing.conversation, self.line.request)
        if lacks and lacks != DOWN:
            await self.house.owner.escalated(self.case, lacks)
        parcel = outgoing.cleared or outgoing.body or b""
        answer = await self._send(upstream, parcel, model)
        return self._watched(answer, upstream, document, dialect)

    async def _met(self, conversation: Conversation) -> frozenset[int]:
        """The conversation is known, and nothing is decided yet. Which of its messages were given
        at home. Raises `Refused("home-only")` for one of which nothing may leave."""
        self.case.conversation = conversation
        self.line.know(session=self.house.session(self.admitted, conversation))
        if self._asks_model:
            await self.house.owner.pace(self.case, self.house.config)
        if self.case.leg == Leg.CLOUD:
            return await self._stay.sift(conversation)
        await self._stay.know(conversation)
        return frozenset()

    async def _met_first(self, conversation: Conversation) -> frozenset[int]:
        """The same of a conversation that home is asked about before any cloud."""
        await self._met(conversation)
        # What has to stay is remembered as such, also where home would have been asked anyway.
        await self._stay.sift(conversation)
        await self._stay.repeats(conversation)
        return frozenset()

    def _watched(
        self, answer: Answer, upstream: UpstreamSettings, document: Document, dialect: Dialect
    ) -> Answer:
        if upstream.leg is Leg.CLOUD and _gives_ids(self.case.conversation):
            listener = Listener(self.house.relayed.by(upstream.name))
            answer = replace(answer, observers=(listener,))
        if not self._asks_model:
            return answer
        return watched(
            answer,
            owner=self.house.owner,
            case=self.case,
            policies=self.house.config.policies,
            document=document,
            dialect=dialect,
        )

    async def _bare(self) -> Answer:
        """No body comes with it; headers, ids and the query are read all the same."""
        upstream = self._choose("").upstream
        if upstream.leg is Leg.LOCAL:
            return await self._send(upstream, b"", "")
        self._heed(self.house.workshop.beside(self._beside(), self._credentials()))
        return await self._send(upstream, nothing_to_prove(), "")

    def _heed(self, decision: Decision) -> None:
        """Write down what was decided; a refusal ends the errand."""
        self.case.decided = True
        self.line.decided(decision)
        if (no := decision.refusal) is not None:
            raise Refused(no.code, findings=no.findings, **no.facts)

    def _beside(self) -> tuple[Piece, ...]:
        matched = self.admitted.match
        return around.pieces(self.admitted.headers, matched.path, matched.query)

    def _credentials(self) -> tuple[str, ...]:
        """Values that stand nowhere but in credential headers: the caller's and the owner's."""
        keys = [each.key for each in self.house.config.upstreams if each.key]
        return (*[value for _, value in self.admitted.credentials], *keys)

    async def _unread(self, body: bytes) -> Answer:
        endpoint = self.admitted.match.endpoint
        upstream = self._choose("").upstream
        if upstream.leg is Leg.CLOUD or endpoint.leaves:
            self.line.know(leg=Leg.CLOUD.value)
            self._heed(self.house.workshop.beside(self._beside(), self._credentials()))
            return await self._send(upstream, unread(body, endpoint.group), "")
        return await self._send(upstream, body, "")

    def _choose(self, model: str) -> Chosen:
        family = self.admitted.match.endpoint.family
        chosen = choose(self.house.config, family=family, model=model, client=self.admitted.client)
        upstream = chosen.upstream
        self.case.asked = upstream.leg.value
        self.line.know(upstream=upstream.name, model=model, leg=upstream.leg.value)
        return chosen

    def _send(
        self, upstream: UpstreamSettings, parcel: Cleared | bytes, model: str
    ) -> Awaitable[Answer]:
        matched, outbound = self.admitted.match, self.house.outbound
        if isinstance(parcel, bytes):
            return outbound.send_local(
                upstream,
                method=matched.endpoint.method,
                path=matched.path,
                query=matched.query,
                headers=self.admitted.headers,
                body=parcel,
                model=model,
            )
        return outbound.send_cloud(
            upstream,
            method=matched.endpoint.method,
            path=matched.path,
            query=matched.query,
            headers=self.admitted.headers,
            credentials=self.admitted.credentials,
            family=matched.endpoint.family,
            cleared=parcel,
        )


def _gives_ids(conversation: Conversation | None) -> bool:
    """Whether the answer may name state that a later request leans on: always in Responses, else
    where a request does or has code run upstream."""
    if conversation is None:
        return False
    return (
        conversation.dialect == "openai_responses"
        or bool(conversation.held)
        or any(tool.startswith("code_execution") for tool in conversation.tools)
    )
