"""An independent reader of the finished body: only what it has accounted for may leave.

Owns the proof that every value of the outbound body was screened, framed as claimed, or written by
Transom itself, and the one type that the outbound door takes. It shares no code with what it
checks: own JSON reading, own idea of a frame, no dialect. It must not repair anything.

What was opened once need not be opened again: a mark is the SHA-256 of a client's message and of
what it leaves as, so it fits no other pair, and it counts only while every frame that it stands for
is claimed, for the same texts, by the request at hand. Most framed messages need not be opened at
all (`proof_spelled`), and of a long history even less is looked at (`proof_beginnings`).
"""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NoReturn, Protocol, final

from policies import proof_json as own
from policies.conversation import Address
from policies.decision import Claimed, Screened
from policies.proof_beginnings import Asked, Beginning, Last, Rest, beginning, rest
from policies.proof_cut import Shortened, untold
from policies.proof_frames import Frames, Met
from policies.proof_plan import TOOLS, Planned, is_thinking, repeats, says
from policies.proof_reading import ProofFailed, less, members, pair, parsed, shown
from policies.proof_tools import silent, turned_off
from policies.proof_values import Values

__all__ = [
    "Beginning",
    "Cleared",
    "Mark",
    "Marks",
    "ProofFailed",
    "nothing_to_prove",
    "prove",
    "unread",
]

_LISTS = ("messages", "input")
_SYSTEM = ("system", "instructions")
_TOKEN: Final = object()
_NO_MARKS: Final[Mapping[bytes, "Mark"]] = MappingProxyType({})
_NO_PLAN: Final = Planned()


@final
class Mark:
    """That one message of a client, leaving as it did, was proved with `frames` in it. Only this
    module makes them; `digest` is the SHA-256 of the pair."""

    __slots__ = ("digest", "frames")
    digest: bytes
    frames: Met

    def __init__(self, token: object, digest: bytes, frames: Met) -> None:
        # SECURITY: what vouches for bytes that are not read again is made by their proof alone.
        if token is not _TOKEN:
            raise TypeError("a mark is made by the proof alone")
        object.__setattr__(self, "digest", digest)
        object.__setattr__(self, "frames", frames)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a mark is never changed")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a mark is never copied")


class Marks(Protocol):
    """Marks of earlier proofs by their digest."""

    def get(self, digest: bytes, /) -> Mark | None:
        """The mark with this digest, if it is remembered."""
        ...


@final
class Cleared:
    """A body that may leave for a cloud. `reason` is empty for a proven one, else why it went
    unread. `marks` are new, for later proofs, and so is `beginning`. Only this module makes them.
    """

    __slots__ = ("beginning", "body", "marks", "reason")
    body: bytes
    reason: str
    marks: tuple[Mark, ...]
    beginning: Beginning | None

    def __init__(
        self,
        token: object,
        body: bytes,
        reason: str,
        marks: tuple[Mark, ...] = (),
        beginning: Beginning | None = None,
    ) -> None:
        # SECURITY: the token is private to this module; no other code can clear a body.
        if token is not _TOKEN:
            raise TypeError("a body is cleared by the proof alone")
        object.__setattr__(self, "body", body)
        object.__setattr__(self, "reason", reason)
        object.__setattr__(self, "marks", marks)
        object.__setattr__(self, "beginning", beginning)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a cleared body is never changed")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a cleared body is never copied")

    def __repr__(self) -> str:
        return f"Cleared({len(self.body)} bytes{', unread' if self.reason else ''})"


def nothing_to_prove() -> Cleared:
    """For a request without a body."""
    return Cleared(_TOKEN, b"", "")


def unread(body: bytes, reason: str) -> Cleared:
    """For an endpoint that the owner opened in so many words; `reason` names the setting."""
    if not reason:
        raise ValueError("a body that nobody read needs a reason")
    return Cleared(_TOKEN, body, reason)


def prove(
    body: bytes,
    *,
    client_body: bytes,
    screened: Screened,
    texts: Mapping[int, str],
    claimed: Claimed,
    authored: Collection[str],
    marks: Marks = _NO_MARKS,
    planned: Planned = _NO_PLAN,
    begun: Beginning | None = None,
) -> Cleared:
    """Check `body` against what the client sent and what was decided; the only way to `Cleared`.

    Every top-level member and message of `client_body` must stand in `body`, in order, either byte
    for byte or with strings put into the frames of `claimed` (unit number → row; `texts` holds the
    units' texts) and nothing else changed; beside them only `authored` texts, and what is `planned`
    to be placed or left out. Each must have a digest in `screened`: SHA-256 over `member:<key>\\0`
    or `message\\0` and its bytes. Every claimed frame must be there. `marks` are those of earlier
    proofs, `begun` is the beginning that may be the one of these bodies; new ones are in `Cleared`.
    Raises `ProofFailed` with the place that is not accounted for.
    """
    frames, ours = Frames(claimed, texts), frozenset(authored)
    bodies, asked = (client_body, body), Asked(screened.digests, planned, ours)
    left = rest(bodies, begun, asked, frames)
    proof = _Proof(screened, frames, ours, marks, planned, left)
    lists = proof.bodies()
    new = None
    if proof.last is not None and proof.lists == 1:
        new = beginning(left, bodies, lists, proof.last, asked)
    return Cleared(_TOKEN, body, "", tuple(proof.made), new)


class _Proof:
    """One check: what may stand in the body, and which frames were not met yet."""

    def __init__(
        self,
        screened: Screened,
        frames: Frames,
        authored: frozenset[str],
        marks: Marks,
        planned: Planned,
        left: Rest,
    ) -> None:
        self.digests = screened.digests
        self.frames = frames
        self.values = Values(frames, authored)
        self.marks = marks
        self.planned = planned
        self.texts = [*planned.placed]
        self.short: Shortened | None = None
        self.notice = "" if planned.cut is None else planned.cut.window.notice
        self.made: list[Mark] = []
        self.rest = left
        self.last: Last | None = None
        self.before: set[bytes] = set()
        self.lists = 0

    def bodies(self) -> tuple[own.Members, own.Members]:
        came, sent = self.opened()
        met, silenced = 0, not self.planned.tool_use
        for key, raw in sent:
            if silenced:
                met = self.tools_out(came, met, key)
            if met < len(came) and came[met][0] == key:
                self.member(key, came[met][1], raw)
                met += 1
            elif silenced and turned_off(key, raw):
                continue
            elif key not in _SYSTEM or not self.values.is_authored(parsed(raw, key)):
                raise ProofFailed(shown(key))
        if silenced:
            met = self.tools_out(came, met, "")
            silent(sent)
        if met < len(came):
            raise ProofFailed(shown(came[met][0]))
        if self.frames.left:
            raise ProofFailed("a frame that was claimed")
        if self.texts or self.notice:
            raise ProofFailed("a text that was placed")
        return came, sent

    def opened(self) -> tuple[own.Members, own.Members]:
        """The members of both bodies, behind what is known."""
        came, sent = members(self.rest.came), members(self.rest.sent)
        if (begun := self.rest.begun) is not None:
            for side, found in ((begun.came, came), (begun.sent, sent)):
                # SECURITY: of a key that stands twice nobody can say which one counts.
                if (key := side.again(found[1:])) is not None:
                    raise ProofFailed(shown(key))
        return came, sent

    def tools_out(self, came: own.Members, met: int, sent: str) -> int:
        """The next member that leaves, where the tools are left out as planned."""
        return met + (met < len(came) and came[met][0] == TOOLS != sent)

    def member(self, key: str, came: bytes, sent: bytes) -> None:
        if not self.planned.tool_use and turned_off(key, sent):
            return
        if key in _LISTS and came[:1] == sent[:1] == b"[" and self.listed(key, came, sent):
            return
        digest = own.digest(b"member:" + key.encode() + b"\0", came)
        if digest not in self.digests:
            raise ProofFailed(shown(key))
        if not self.lists:
            self.before.add(digest)
        if came == sent:
            return
        at = shown(key)
        before, after = parsed(came, at), parsed(sent, at)
        if not (key in _SYSTEM and self.values.system(before, after)):
            self.values.same(before, after, at)

    def listed(self, key: str, came: bytes, sent: bytes) -> bool:
        """The list was screened message by message, and is read so; False where it was screened
        whole, as a list of plain texts is."""
        before = own.elements(came)
        cut, begun = self.planned.cut, self.rest.begun
        if cut is not None and cut.window.mode != "off" and key == self.planned.key:
            skipped = begun.came.count if begun is not None and begun.key == key else 0
            self.short = Shortened(cut, key, came, skipped, self.planned.home)
            if skipped > cut.at:
                self.notice = ""
        elif self.planned.home and key == self.planned.key:
            # SECURITY: a view in which nothing is left out holds what was given at home.
            raise ProofFailed(key)
        elif before and own.digest(b"message\0", before[0]) not in self.digests:
            return False
        self.lists += 1
        self.messages(key, before, own.elements(sent))
        return True

    def messages(self, key: str, came: Sequence[bytes], sent: Sequence[bytes]) -> None:
        begun = self.rest.begun
        skipped, before = self.rest.skipped if begun and begun.key == key else (0, 0)
        met, done, seen = 0, skipped, set[bytes]()
        for number, raw in enumerate(sent, before):
            at = f"{key}[{number}]"
            if self.notice and self.told(done, raw, at):
                continue
            if self.texts and self.repeated(key, came, met - 1, raw, at):
                continue
            met = self.passed_over(key, came, skipped, met)
            expected = came[met] if met < len(came) else b""
            digest = own.digest(b"message\0", expected)
            ways = self.planned.ways(key, skipped + met)
            first = len(self.frames.met)
            if (short := self.short) is not None and short.before(skipped + met):
                if not self.earlier(short, skipped + met, digest, expected, raw, at):
                    continue
                digest = short.digest(skipped + met, digest)
            elif (raw != expected or ways) and not self.message(
                digest, expected, raw, at, ways, self.opens(skipped + met)
            ):
                continue
            if met == len(came) or (digest and digest not in self.digests):
                raise ProofFailed(at)
            met, done = met + 1, skipped + met + 1
            if met == len(came) and number - before + 1 == len(sent):
                read = (expected, met - 1), (raw, number - before)
                known = frozenset(seen | self.before)
                self.last = Last(key, *read, known, tuple(self.frames.met[:first]))
            seen |= {digest} if digest else set()
        if (met := self.passed_over(key, came, skipped, met)) < len(came):
            raise ProofFailed(f"{key}[{skipped + met}]")

    def passed_over(self, key: str, came: Sequence[bytes], skipped: int, met: int) -> int:
        """The next message that is not left out as a whole."""
        gone = self.short.cut.gone if self.short is not None else frozenset()
        if not (gone or self.planned.removed):
            return met
        while met < len(came):
            if skipped + met not in gone:
                if self.planned.ways(key, skipped + met) != [()]:
                    break
                at = f"{key}[{skipped + met}]"
                # SECURITY: a plan that leaves out a result or an order is a bug of ours.
                if not is_thinking(parsed(came[met], at)):
                    raise ProofFailed(at)
            met += 1
        return met

    def opens(self, index: int) -> str:
        """The notice with which that message begins, if it does."""
        cut = self.planned.cut
        return self.notice if cut is not None and cut.inside and cut.at == index else ""

    def told(self, index: int, sent: bytes, at: str) -> bool:
        """Whether `sent` is the notice, as a message of its own, before that one of theirs."""
        cut = self.planned.cut
        if not self.notice or cut is None or cut.inside or cut.at != index:
            return False
        if not says(parsed(sent, at), self.notice):
            return False
        self.notice = ""
        return True

    def earlier(
        self, short: Shortened, index: int, digest: bytes, came: bytes, sent: bytes, at: str
    ) -> bool:
        """Whether `sent` is what may leave of the message `came` of an earlier turn; False for one
        of our own."""
        both = own.digest(b"earlier\0" + short.about(index) + digest, sent)
        if type(mark := self.marks.get(both)) is Mark and mark.digest == both:
            return True
        before, after = pair(came, sent, at)
        if self.values.is_authored(after):
            return False
        # SECURITY: whatever the plan says, a call, a result or a thought of an earlier turn is none
        # of what may leave.
        if not short.stays(after) or not own.identical(short.left(before, index, at), after):
            raise ProofFailed(at)
        self.made.append(Mark(_TOKEN, both, ()))
        return True

    def repeated(self, key: str, came: Sequence[bytes], behind: int, sent: bytes, at: str) -> bool:
        """Whether `sent` repeats words of a user, as planned behind that message."""
        for placed in self.planned.behind(behind):
            if placed not in self.texts or not says(parsed(sent, at), placed.text):
                continue
            match placed.quotes:
                case (str(where), int(index), *way) if where == key and index < len(came):
                    if repeats(placed.text, parsed(came[index], at), tuple(way)):
                        self.texts.remove(placed)
                        return True
            raise ProofFailed(at)
        return False

    def message(
        self,
        digest: bytes,
        came: bytes,
        sent: bytes,
        at: str,
        ways: Sequence[Address],
        notice: str = "",
    ) -> bool:
        """Whether `sent` is the message `came` with frames in it, with the `notice` before it and
        without the thinking to which `ways` lead; False for one of our own."""
        # SECURITY: how a message is spelled tells what it says only where no key stands twice.
        if not (ways or notice) and own.is_plain(came) and self.frames.meet_spelled(came, sent):
            return True
        both = own.digest(b"proved\0" + repr((ways, notice)).encode() + digest, sent)
        mark = self.marks.get(both)
        # SECURITY: a memory may err, so a mark says itself what it is for; and it says that the
        # pair was right under those frames, not that they are the frames of this request.
        if type(mark) is Mark and mark.digest == both and self.frames.meet_again(mark.frames):
            self.notice = "" if notice else self.notice
            return True
        before, after = pair(came, sent, at) if came else (None, parsed(sent, at))
        if self.values.is_authored(after):
            return False
        if notice:
            try:
                after, self.notice = untold(after, before, notice), ""
            except ValueError:
                raise ProofFailed(at) from None
        first, placed = len(self.frames.met), self.values.placed
        self.values.same(less(before, ways, at), after, at)
        # Where a text of ours was placed, the mark would outlive a change of that text.
        if self.values.placed == placed:
            self.made.append(Mark(_TOKEN, both, tuple(self.frames.met[first:])))
        return True
