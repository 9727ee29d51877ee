"""What each request has to do with the owner: its rate, what is counted, written down and told.

Owns the order of that and the fail directions of DESIGN 3.10. It must not know a socket, a store's
tables or an upstream. A clean request costs some entries of dictionaries here; what is written is
written later, but for the audit of what concerns a cloud.
"""

import time
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Final

from policies.conversation import Conversation, Run
from policies.decision import Decision, Finding, Leg
from policies.events import Event
from policies.happenings import detailed, events_of, new_frames, place_of, tainted
from policies.kinds import KINDS, PLAIN, REFUSED_CALL, level_of
from policies.settings import Policies, RefusalRule
from proxy import audit, logs
from proxy.abouts import Abouts
from proxy.answer import Answer, Observer
from proxy.config import Config
from proxy.config.kinds import Rate
from proxy.errors import Refused
from proxy.hearing import Declared, judged
from proxy.journal import Line
from proxy.lazyjson import Node
from proxy.memory import Memory
from proxy.rates import Bounds, Rates
from proxy.recorder import Recorder, Row, Whose
from proxy.state.base import Book, StateError
from proxy.state.book import Seen
from proxy.witness import Heard, Witness

_KNOWN: Final = 16_384
_WINDOW: Final = 600.0


@dataclass(slots=True)
class Case:
    """What is known of one request. `again`: it is a re-post. `tainted`: there is third-party text
    in its conversation. `decided`: what was decided for a cloud is written down. `at_home`: home
    has answered in its conversation because something must not leave. `unsure`: whether it repeats
    an answer of home is still to be asked. `asked`: the leg of the upstream that was chosen for it,
    whoever answers. `paced`: it is counted against its rates."""

    line: Line
    conversation: Conversation | None = None
    again: bool = False
    tainted: bool = False
    decided: bool = False
    at_home: bool = False
    unsure: bool = False
    asked: str = ""
    paced: bool = False

    @property
    def leg(self) -> str:
        return str(self.line.fields.get("leg", ""))

    @property
    def audited(self) -> Mapping[str, object]:
        """What a row of the audit says of it now, with the leg that was asked, if it came so
        far."""
        leg = self.asked or self.leg
        return {**self.line.fields, "leg": leg} if leg else {**self.line.fields}

    def whose(self) -> Whose:
        fields = self.line.fields
        return Whose(str(fields.get("client", "")), str(fields.get("session", "")), self.tainted)


class Owner:
    """The owner's side of one node. `clock`: seconds since 1970."""

    def __init__(
        self,
        store: Book,
        key: bytes,
        *,
        recorder: Recorder | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.recorder = Recorder(store) if recorder is None else recorder
        self._rates = Rates(store, clock=clock)
        self._abouts = Abouts(key)
        self._known: Memory[bytes, bool] = Memory(_KNOWN)
        self._clock = clock

    async def pace(self, case: Case, config: Config) -> None:
        """Count a request to a model, once, against the rates of its session, before anything is
        decided. Raises `Refused`: beyond the hard rate, and for a cloud where the rate is not
        known."""
        session = str(case.line.fields.get("session", ""))
        if case.paced or not config.policies.limits.enabled or not session:
            return
        if case.conversation is None or _empty(case.conversation):
            return
        bounds = Bounds(*config.requests)
        try:
            pace = await self._rates.take(session, case.conversation, bounds)
        except StateError as error:
            # SECURITY: a rate that nobody knows is no rate.
            if case.leg == Leg.CLOUD:
                raise Refused("state-unavailable") from error
            self.recorder.count("rate-unknown")
            return
        case.paced, case.again = True, pace.again
        if pace.wait:
            wait = str(ceil(pace.wait))
            self._rate(case, "rate-hard", bounds.hard)
            raise Refused("rate-hard", rate=_words(bounds.hard), retry_after=wait)
        if pace.fast:
            case.line.know(notice="rate-soft")
            self._rate(case, "rate-soft", bounds.soft)

    async def decided(self, case: Case, decision: Decision, policies: Policies) -> None:
        """Count what was decided, and write down what the audit has to know before it leaves.
        Raises `Refused` where that cannot be written and the request is for a cloud."""
        conversation = case.conversation
        if conversation is not None:
            case.tainted = tainted(conversation, decision, policies)
            self._count(case, conversation, decision)
            no = decision.refusal
            for event, apart in events_of(conversation, decision, policies):
                if no is not None and no.code == event.kind:
                    self._event(case, event, apart)  # the refusal has the row
                    continue
                more = partial(detailed, event, conversation, decision)
                asked = no is None and decision.final is None
                await self._happened(case, event, apart, more, goes=no is None, asked=asked)
        if decision.observed:
            event = Event("egress-observed", place_of(decision.observed))
            apart = tuple(each.place for each in decision.observed)
            await self._happened(case, event, apart, goes=True, found=decision.observed)

    async def refused(self, case: Case, no: Refused, status: int) -> int:
        """Write down that a request got no answer of a model; how often this very one has. It stays
        refused whether or not that can be written."""
        fields = case.line.fields
        whose = case.whose()
        conversation, place = case.conversation, place_of(no.findings)
        where = str(fields.get("endpoint", "")) if conversation is None else ""
        places = [each.place for each in no.findings] if place < 0 else []
        digest = self._abouts.event(
            no.code, whose.client, whose.session, conversation, place, where, *places
        )
        row = audit.refused(digest, case.audited, no, status)
        try:
            return await self._write(case, row, whose)
        except StateError:
            return self._late(case, row, whose)

    async def escalated(self, case: Case, lacks: str) -> None:
        """Write down that a request goes to a cloud although home is preferred and up. Raises
        `Refused` where that cannot be written."""
        event = Event("cloud-while-home-up", facts={"why": lacks})
        self.recorder.count("cloud_escalation_while_local_up")
        case.line.know(notice="cloud-while-home-up")
        await self._happened(case, event, (lacks,), goes=True)

    async def diverted(self, case: Case, no: Refused, asked: Mapping[str, object]) -> int:
        """Write down that a request goes home instead of to a cloud; how often this very one has.
        It goes home whether or not that can be written, as nothing leaves. `asked`: `audited` of
        it as it was on its way to the cloud."""
        whose, place = case.whose(), place_of(no.findings)
        places = [each.place for each in no.findings] if place < 0 else []
        digest = self._abouts.event(
            f"diverted {no.code}", whose.client, whose.session, case.conversation, place, *places
        )
        row = audit.diverted(digest, asked, no)
        try:
            return await self.recorder.keep(row, whose)
        except StateError:
            return self._late(case, row, whose)

    def listen(
        self, case: Case, answer: Answer, tools: Node | None, rules: Sequence[RefusalRule]
    ) -> tuple[Witness, ...]:
        """Observers for an answer of a model to a request that declares `tools`; none where nothing
        can be read in it."""
        conversation = case.conversation
        if answer.status != 200 or answer.coded or conversation is None:
            return ()
        declared = Declared(
            frozenset(conversation.tools), tools, rules, open=bool(conversation.held)
        )
        told = partial(self._heard, case, declared)
        return (Witness(conversation.dialect, answer.stream, told),)

    def dropped(self, case: Case, tool: str, *, denied: bool = False) -> None:
        """A call of an answer was not passed on; observers have not seen it."""
        facts = {"tool": tool, "why": "denied" if denied else "undeclared"}
        self._event(case, Event(REFUSED_CALL, facts=facts), (tool,))

    def lost(self, case: Case, tool: str, *, declared: bool) -> None:
        """A call of a model at home became text, as no client could carry it out; observers have
        not seen it. `declared`: there is such a tool, and it takes no such arguments."""
        kind = "arguments-invalid" if declared else REFUSED_CALL
        facts = {"tool": tool, "why": "not as declared" if declared else "undeclared"}
        self._event(case, Event(kind, facts=facts), (tool,))

    def deaf(self, observer: Observer, error: BaseException) -> None:
        """An observer has failed; the answer goes on."""
        self.recorder.count("observer-failed")
        logs.get().error("notice", problem="observer-failed", exc_info=error)

    def _heard(self, case: Case, declared: Declared, heard: Heard) -> None:
        if not heard.whole:
            self.recorder.count("answer-not-read")
        if heard.leaks:
            self._event(case, Event("marker-leak"))
        for fault in judged(heard.calls, declared):
            facts = {"tool": fault.tool, "why": fault.why}
            self._event(case, Event(fault.kind, facts=facts), (fault.tool,))

    def _count(self, case: Case, conversation: Conversation, decision: Decision) -> None:
        pending = self.recorder.open()
        pending.count("requests")
        if case.tainted:
            pending.count("requests-untrusted")
        runs = conversation.runs
        rounds = len(runs) - bisect_right(runs, conversation.turn, key=_start)
        if case.again:
            pending.count("reposts")
        else:
            pending.count("rounds" if rounds else "turns")
            if new := new_frames(decision):
                pending.count("frames", new)
        whose = case.whose()
        if whose.session:
            pending.session(Seen(whose.session, whose.client, 1, rounds, case.tainted))

    async def _happened(
        self,
        case: Case,
        event: Event,
        apart: Sequence[str],
        more: Callable[[], Mapping[str, str]] = dict,
        *,
        goes: bool,
        asked: bool = True,
        found: Sequence[Finding] = (),
    ) -> None:
        """Count an event, and write its row where it has one, with `more` facts. `goes`: the
        request is to go on; `asked`: to a model."""
        kind, digest = self._event(case, event, apart)
        if not KINDS.get(kind, PLAIN).audited or self.recorder.again(digest):
            return
        facts = {**event.facts, **more()}
        taken = case.leg if asked else ""
        row = audit.happened(digest, kind, case.audited, facts, found, taken=taken)
        whose = case.whose()
        try:
            times = await self._write(case, row, whose)
        except StateError as error:
            if goes:
                # SECURITY: what cannot be written down does not leave.
                raise Refused("state-unavailable") from error
            times = self.recorder.note(row, whose)
        if kind == "truncated" and times == 1:
            case.line.truncated()

    async def _write(self, case: Case, row: Row, whose: Whose) -> int:
        """Write a row before anything else where it is about a cloud, else soon."""
        if case.leg == Leg.CLOUD:
            return await self.recorder.keep(row, whose)
        return self.recorder.note(row, whose)

    def _late(self, case: Case, row: Row, whose: Whose) -> int:
        """A row that could not be written waits until it can be, and that is told."""
        logs.get().error("notice", problem="audit-not-written", request=case.line.request)
        return self.recorder.note(row, whose)

    def _rate(self, case: Case, kind: str, rate: Rate) -> None:
        window = str(int(self._clock() // _WINDOW))
        self._event(case, Event(kind, facts={"rate": _words(rate)}), (window,))

    def _event(self, case: Case, event: Event, apart: Sequence[str] = ()) -> tuple[str, bytes]:
        """Count an event; its kind and its identity. What was seen lately has its facts already."""
        kind, whose = level_of(event.kind, event.facts), case.whose()
        digest = self._abouts.event(
            kind, whose.client, whose.session, case.conversation, event.at, *apart
        )
        facts = {} if self._known.get(digest) else audit.safe(event.facts)
        self._known.put(digest, True, 1)
        self.recorder.happened(kind, digest, whose, facts)
        return kind, digest


def _empty(conversation: Conversation) -> bool:
    """Nothing is asked of a model: a probe, or the loading of one."""
    return not conversation.messages and not conversation.prompt


def _start(run: Run) -> int:
    return run.start


def _words(rate: Rate) -> str:
    minutes = rate.seconds / 60
    time_ = f"{minutes:g} minutes" if minutes >= 2 else f"{rate.seconds:g} seconds"
    return f"more than {rate.count} in {time_}"
