"""From a client's body to the bytes that may leave: view, recall, decide, claim, render, prove.

Owns the middle of a request's story; the gateway and `explain` tell the same one through it. It
must not know a socket, a header's meaning or how a refusal is dressed.
"""

import secrets
import sys
from collections.abc import Awaitable, Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

from msgspec import Struct, structs

from policies.conversation import Conversation, Piece
from policies.decide import UNASKED, Watch, decide, looks_inside, unread
from policies.decision import Claimed, Decision, FrameRow, Leg
from policies.envelope import REPLACEMENT
from policies.past import texts_of
from policies.proof_plan import Planned
from policies.prove import Beginning, Cleared, Mark, ProofFailed, prove
from policies.screening import Own, Screen
from policies.settings import Minimality, Policies
from policies.showing import Shown
from proxy.apart import KNOWN, LARGE, Apart, effort
from proxy.clean import CleanMarks
from proxy.dialects.base import Dialect
from proxy.dialects.beginnings import LEAST
from proxy.errors import Refused
from proxy.lazyjson import Document, Known, Malformed, read
from proxy.ledger import Ledger
from proxy.local.tools import AtHome, check_tools
from proxy.memory import Memory
from proxy.planned import authored, planned
from proxy.plans import Plans
from proxy.recollection import NOTHING, TRIES, Recalled, Recollection

PROVED_BYTES = 12 * 1024 * 1024
"""Bound of what is remembered of earlier proofs, texts included, though others hold them too."""

Proved = Memory[bytes, Mark]
Begun = Memory[tuple[bytes, bytes], Beginning]
_HEAD = 128  # bytes by which bodies of one conversation that are written otherwise are told apart
Owned = Memory[tuple[str, ...], tuple[Own | None]]
OWNED = 64
"""Sets of credentials that are kept compiled."""
TOOLS_BYTES = 4 * 1024 * 1024
"""Bound of the lists of tools that are remembered because they stay at home."""
_MARK = 300  # bytes of one mark, or of one row in it, with their slots
INLINE = 16 * 1024
"""Bytes above which a screen with so much to read, or a proof of so much that was framed and had
marks in it, would hold the event loop: text that is made to be hard takes a microsecond for each,
ordinary text a thirtieth of it."""
FRAMED = 4 * INLINE
"""The same for so much to frame: marks that are hard to see take a quarter of a microsecond."""
_REPLACED = REPLACEMENT.encode()
PIECE = 512  # bytes that take as long to read as what each piece costs beside its own

_HEARD = 1 << 16  # bytes of a message whose words take a while to tell

_NO_BODY = Conversation("", "", False, (), (), 0, (), (), ())


def draw() -> str:
    """A nonce: 16 bytes from the operating system, 32 lower-case hex digits. Raises
    `Refused("framing-failed")` where it has none."""
    try:
        # SECURITY: fresh on every call; never derived from content, never kept for a process.
        return secrets.token_hex(16)
    except (OSError, NotImplementedError) as error:
        raise Refused("framing-failed") from error


Met = Callable[[Conversation], Awaitable[frozenset[int]]]
"""Who is told a conversation, and tells which of its messages were given at home."""


class Request(Struct, frozen=True, eq=False):
    """A body that was read, and what it is read with. `credentials`: values of headers. `vouched`:
    ids that the upstream itself gave. `bounded`: a model is to answer, so limits hold. `met` is
    told the conversation once it is known, before anything is decided about it, and may refuse
    it; it tells which messages of the model were given at home. `leaving` is told what of it would
    leave for a cloud, and may refuse that; `parting` the same where all else lets it leave, before
    anything of that is remembered. `minimality`: where its route has settings of its own, and then
    `route` is its name.
    `stripped`: tools that lead off this node are taken out before a model at home sees them.
    `viewed`: the view of it, where it was taken before."""

    body: bytes
    dialect: Dialect
    leg: Leg
    client: str = ""
    around: Sequence[Piece] = ()
    credentials: Sequence[str] = ()
    vouched: Container[str] = ()
    bounded: bool = True
    met: Met | None = None
    leaving: Callable[[Conversation], Awaitable[None]] | None = None
    parting: Callable[[Conversation], Awaitable[None]] | None = None
    minimality: Minimality | None = None
    stripped: bool = False
    route: str = ""
    viewed: Conversation | None = None

    def __repr__(self) -> str:
        return f"<Request of {len(self.body)} bytes>"  # what is in it is in no repr


class Outgoing(Struct, frozen=True, eq=False):
    """What may leave. `cleared` on a cloud leg, where `body` is the same bytes; both are absent
    when the decision is a refusal or an answer. `conversation` where the body was looked into."""

    decision: Decision
    body: bytes | None = None
    cleared: Cleared | None = None
    conversation: Conversation | None = None

    def __repr__(self) -> str:
        return "<Outgoing>"  # what is in it is in no repr


def open_body(dialect: Dialect, body: bytes) -> tuple[Document, str]:
    """Read `body` as one JSON object, of which only the top level is opened, and the model that it
    names: enough to choose an upstream. Raises `Refused("body-invalid")`, naming the place."""
    return _opened(dialect, body, dialect.known(body))


def _opened(dialect: Dialect, body: bytes, known: Known | None) -> tuple[Document, str]:
    try:
        document = read(body, judge=False, known=known)
        return document, dialect.glance(document)
    except Malformed as wrong:
        raise _invalid(wrong) from None


def look(dialect: Dialect, document: Document) -> Conversation:
    """The view, or `Refused("body-invalid")`."""
    try:
        conversation = dialect.view(document)
        if len(document.body) > _HEARD:
            _hear(conversation)
    except Malformed as wrong:
        raise _invalid(wrong) from None
    return conversation


def _hear(conversation: Conversation) -> None:
    """Tell the words of large messages now, in the thread of a large body, and not on the loop."""
    large = {piece.address for piece in conversation.pieces if piece.size > _HEARD}
    for message in conversation.messages if large else ():
        if message.address in large:
            conversation.said(message.index)


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a request is prepared with. `screen` returns the rules in force; it raises
    `Refused("secrets-unreadable")`."""

    policies: Policies
    ledger: Ledger
    clean: CleanMarks
    screen: Callable[[], Screen]
    draw: Callable[[], str] = draw
    apart: Apart = field(default_factory=Apart)
    proved: Proved = field(default_factory=lambda: Memory(PROVED_BYTES))
    begun: Begun = field(default_factory=lambda: Memory(PROVED_BYTES))
    at_home: AtHome = field(default_factory=lambda: Memory(TOOLS_BYTES))
    owned: Owned = field(default_factory=lambda: Memory(OWNED), repr=False)
    plans: Plans = field(default_factory=Plans)

    async def open(self, dialect: Dialect, body: bytes) -> tuple[Document, str]:
        """`open_body`, apart from the loop where that takes a while."""
        size = len(body)
        if LARGE < size <= KNOWN * LARGE:
            known = dialect.known(body)
            if effort(size, 0 if known is None else len(known.raw)) <= LARGE:
                return _opened(dialect, body, known)
        return await self.apart.run(size, open_body, dialect, body)

    async def prepare(self, request: Request, document: Document) -> Outgoing:
        """Everything between a glance at the body and the socket. Raises `Refused`."""
        known = document.root.source.known
        size = effort(len(request.body), 0 if known is None else len(known.raw))
        if not looks_inside(request.leg, self.policies):
            await self.apart.run(size, self._passed, request, document)
            return Outgoing(UNASKED, document.body)
        conversation = await self.apart.run(size, self._seen, request, document)
        if request.met is not None:
            home = await request.met(conversation)
            conversation = structs.replace(conversation, home=home) if home else conversation
        policies = self._policies(request)
        ledger = Recollection(
            self.ledger, policies, request.leg, request.client, self.plans, request.route
        )
        for _ in range(TRIES):
            recalled = await ledger.recall(conversation)
            if request.leaving is not None and isinstance(recalled.shown, Shown):
                await request.leaving(recalled.seen)
            decision = await self._decide(request, recalled, policies)
            if decision.refusal is None and request.parting is not None:
                await request.parting(conversation)
            if decision.refusal is not None or decision.final is not None:
                return Outgoing(decision, conversation=conversation)
            claimed = await ledger.claim(recalled.seen, decision)
            if claimed.agreed:
                agreed = _Agreed(request, document, recalled.seen, decision, claimed)
                if len(request.body) > LARGE and not self._goes_on(agreed):
                    size = len(request.body)
                small = len(request.body) <= INLINE
                much = 0 if small else _to_frame(recalled, decision)
                return await self._finished(size, much, agreed)
        raise Refused("state-unavailable")

    def beside(self, pieces: Sequence[Piece], credentials: Sequence[str] = ()) -> Decision:
        """Whether what comes without a body may leave for a cloud: the decision about `pieces`
        alone, headers, path and query. Raises `Refused`."""
        watch = Watch(self.screen(), self.clean.marks, pieces, self._own(credentials))
        decision = self._decided(watch, Recalled(_NO_BODY, NOTHING), self.policies)
        self.clean.add(decision.clean)
        return decision

    def _passed(self, request: Request, document: Document) -> None:
        """A body into which nobody looks; how it began is of use next time."""
        self._check_tools(request, document)
        if len(request.body) >= LEAST:
            request.dialect.passed(document)

    def _seen(self, request: Request, document: Document) -> Conversation:
        self._check_tools(request, document)
        return request.viewed or look(request.dialect, document)

    def _check_tools(self, request: Request, document: Document) -> None:
        if request.leg is Leg.LOCAL and not request.stripped:
            check_tools(document, request.dialect.name, self.at_home)

    def _policies(self, request: Request) -> Policies:
        if request.minimality in (None, self.policies.minimality):
            return self.policies
        return replace(self.policies, minimality=request.minimality)

    async def _decide(self, request: Request, recalled: Recalled, policies: Policies) -> Decision:
        if request.leg is Leg.LOCAL:
            return self._decided(None, recalled, policies, request.bounded)
        own = self._own(request.credentials)
        watch = Watch(self.screen(), self.clean.marks, request.around, own, request.vouched)
        most = len(request.body) + PIECE * len(recalled.seen.pieces)
        if most > INLINE and _cost_of(unread(recalled.seen, watch)) > INLINE:
            decision = await self.apart.always(
                self._decided, watch, recalled, policies, request.bounded
            )
        else:
            decision = self._decided(watch, recalled, policies, request.bounded)
        self.clean.add(decision.clean)
        return decision

    def _own(self, credentials: Sequence[str]) -> Own | None:
        key = tuple(credentials)
        if (kept := self.owned.get(key)) is None:
            kept = (Own.of(key),)
            self.owned.put(key, kept, 1)
        return kept[0]

    def _decided(
        self,
        watch: Watch | None,
        recalled: Recalled,
        policies: Policies,
        bounded: bool = True,
    ) -> Decision:
        try:
            return decide(
                recalled.seen,
                watch=watch,
                remembered=recalled.remembered,
                policies=policies,
                draw=self.draw,
                bounded=bounded,
                shown=recalled.shown,
            )
        except Malformed as wrong:
            raise _invalid(wrong) from None

    def _begins(self, agreed: "_Agreed") -> tuple[bytes, bytes]:
        """By what the beginning that was proved last is found."""
        root = self.ledger.root(agreed.request.client, agreed.conversation)
        return root, agreed.document.body[:_HEAD]

    def _goes_on(self, agreed: "_Agreed") -> bool:
        """Whether nothing is to be proved, or what is known of the body was, under the same plan,
        and most likely need not be again."""
        if agreed.decision.screened is None:
            return True
        known = agreed.document.root.source.known
        begun = self.begun.get(self._begins(agreed))
        if known is None or begun is None or not known.is_of(begun.came.body):
            return False
        return (begun.planned, begun.authored) == (agreed.planned, agreed.authored)

    async def _finished(self, size: int, much: int, agreed: "_Agreed") -> Outgoing:
        """`_made`, with so `much` to frame: on the loop what holds nobody up."""
        if size > LARGE or much > FRAMED:
            return await self.apart.always(self._made, agreed)
        body = self._rendered(agreed)
        if much > INLINE and _REPLACED in body:
            return await self.apart.always(self._proved, agreed, body)
        return self._proved(agreed, body)

    def _made(self, agreed: "_Agreed") -> Outgoing:
        """The body as it leaves, and on a cloud leg the proof of it."""
        return self._proved(agreed, self._rendered(agreed))

    def _rendered(self, agreed: "_Agreed") -> bytes:
        return agreed.request.dialect.render(
            agreed.document, agreed.conversation, agreed.decision, agreed.claimed
        )

    def _proved(self, agreed: "_Agreed", body: bytes) -> Outgoing:
        document, conversation = agreed.document, agreed.conversation
        decision, claimed = agreed.decision, agreed.claimed
        if decision.screened is None:
            return Outgoing(decision, body, None, conversation)
        key = self._begins(agreed)
        begun = self.begun.get(key)
        try:
            cleared = prove(
                body,
                client_body=document.body,
                screened=decision.screened,
                texts=texts_of(conversation),
                claimed=claimed,
                authored=agreed.authored,
                marks=self.proved,
                planned=agreed.planned,
                begun=begun,
            )
        except ProofFailed as failed:
            raise Refused("proof-failed", places=f" ({failed})") from None
        for mark in cleared.marks:
            self.proved.put(mark.digest, mark, _MARK + sum(map(_cost, mark.frames)))
        if (new := cleared.beginning) is not None and new is not begun:
            self.begun.renew(key, new, new.size)
        return Outgoing(decision, body, cleared, conversation)


class _Agreed(Struct, frozen=True, eq=False):
    """What was decided about a request, with the rows that hold for it."""

    request: Request
    document: Document
    conversation: Conversation
    decision: Decision
    claimed: Claimed

    @property
    def planned(self) -> Planned:
        """What the proof is told of the decision."""
        return planned(self.conversation, self.decision)

    @property
    def authored(self) -> frozenset[str]:
        """The texts of the registry that were decided to stand in the body."""
        return authored(self.decision, self.claimed)

    def __repr__(self) -> str:
        return "<_Agreed>"  # what is in it is in no repr


def _cost_of(pieces: Iterable[Piece]) -> int:
    return sum([piece.size + PIECE for piece in pieces])


def _to_frame(recalled: Recalled, decision: Decision) -> int:
    """Characters of the texts that are framed for the first time."""
    units, sure = recalled.seen.units, len(recalled.remembered.sure)
    return sum([len(units[f.unit].text) for f in decision.frames[sure:] if not f.known])


def _cost(framed: tuple[FrameRow, str]) -> int:
    return _MARK + sys.getsizeof(framed[1])


def _invalid(wrong: Malformed) -> Refused:
    return Refused("body-invalid", reason=str(wrong))
