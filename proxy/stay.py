"""A request that must not leave: answered at home in place of the upstream that was asked.

Owns which refusals home may answer, and what has to be remembered and written down about it before
it does. It must not know why something must not leave, nor how home finds its answer.
"""

import time
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Final

from policies.conversation import Conversation
from policies.decision import Leg
from policies.wording import at_home
from proxy.answer import Answer
from proxy.config import Config, UpstreamSettings
from proxy.dialects import Dialect
from proxy.door import Admitted
from proxy.endpoints import Treatment
from proxy.errors import Refused
from proxy.home_only import HomeOnly
from proxy.lazyjson import Document
from proxy.local.asking import Asked
from proxy.local.home import Home
from proxy.outgoing import Request, Workshop, look
from proxy.owner import Case, Owner
from proxy.refusals import said
from proxy.state.base import StateError

KEPT: Final = frozenset(
    {
        "egress-ambiguous", "egress-blocked", "home-only", "not-minimal", "proof-failed",
        "secrets-unreadable",
    }
)  # fmt: skip
"""Refusals of what must not leave. Others are about the request itself, and home would not do
better."""

ENDPOINTS: Final = frozenset(
    {
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/responses/input_tokens",
        "/api/chat",
    }
)
"""Where home has an answer."""


@dataclass(frozen=True, slots=True)
class Hearth:
    """What a node answers with at home, and what it remembers of that."""

    home: Home
    marks: HomeOnly


@dataclass(frozen=True, slots=True)
class Stay:
    """One request on its way home."""

    config: Config
    workshop: Workshop
    owner: Owner
    hearth: Hearth
    admitted: Admitted
    case: Case

    def instead(self, no: Refused, leg: Leg) -> UpstreamSettings | None:
        """Who answers in place of a refusal; None where it stands."""
        home, on_hit = self.config.home, self.config.policies.egress.on_hit
        if leg is not Leg.CLOUD or no.code not in KEPT or on_hit == "refuse":
            return None
        # A client that leaned on what the cloud holds sends all of it again when it is told.
        if no.facts.get("held") or self.admitted.match.endpoint.path not in ENDPOINTS:
            return None
        return home

    async def answer(
        self, upstream: UpstreamSettings, document: Document, dialect: Dialect, no: Refused
    ) -> Answer:
        """The answer from home. Raises `Refused` where there is none; a cloud is not asked."""
        await self.owner.diverted(self.case, no)
        self.case.line.diverted(no, upstream.name)
        client = self.admitted.client
        request = Request(document.body, dialect, Leg.LOCAL, client, stripped=True)
        outgoing = await self.workshop.prepare(request, document)
        if (why := outgoing.decision.refusal) is not None:
            raise Refused(why.code, findings=why.findings, **why.facts)
        body = outgoing.body or document.body
        if self.admitted.match.endpoint.treatment is Treatment.COUNT:
            return await self.hearth.home.count(dialect, body)
        talk = self.case.conversation or look(dialect, document)
        await _kept(self.hearth.marks.hold(client, self._session, talk))
        asked = self._asked(upstream, document, dialect, body, talk, no)
        return await self.hearth.home.answer(asked)

    def _asked(
        self,
        upstream: UpstreamSettings,
        document: Document,
        dialect: Dialect,
        body: bytes,
        talk: Conversation,
        no: Refused,
    ) -> Asked:
        config, line = self.config, self.case.line

        async def told(texts: Sequence[str]) -> None:
            marks, client = self.hearth.marks, self.admitted.client
            await _kept(marks.said(client, self._session, texts, talk))

        explain = at_home(said(no), upstream.model) if config.fallback.explain == "text" else ""
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
            told,
            line.written_out,
        )

    @property
    def _session(self) -> str:
        return str(self.case.line.fields.get("session", ""))


async def _kept(marking: Awaitable[None]) -> None:
    try:
        await marking
    except StateError as error:
        # SECURITY: what is not remembered could leave with the next request.
        raise Refused("state-unavailable") from error
