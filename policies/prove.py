"""An independent reader of the finished body: only what it has accounted for may leave.

Owns the proof that every value of the outbound body was screened, framed as claimed, or written by
Transom itself, and the one type that the outbound door takes. It shares no code with what it
checks: own JSON reading, own idea of a frame, no dialect. It must not repair anything.

Lists of messages are read by `proof_lists`, where most framed messages need not be opened at all
(`proof_spelled`); and of a long history even less is looked at (`proof_beginnings`).
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, NoReturn, final

from policies import proof_json as own
from policies.decision import Claimed, Screened
from policies.proof_beginnings import Asked, Beginning, Rest, beginning, rest
from policies.proof_frames import Frames
from policies.proof_lists import Lists, Mark, Marks
from policies.proof_plan import TOOLS, Planned
from policies.proof_reading import ProofFailed, members, parsed, shown
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
_NO_MARKS: Final[Mapping[bytes, Mark]] = MappingProxyType({})
_NO_PLAN: Final = Planned()


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
    opened, lists = proof.bodies(), proof.lists
    new = None
    if lists.last is not None and lists.count == 1:
        new = beginning(left, bodies, opened, lists.last, asked)
    return Cleared(_TOKEN, body, "", tuple(lists.made), new)


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
        self.planned = planned
        self.rest = left
        self.lists = Lists(self.digests, self.values, marks, planned, left)

    def bodies(self) -> tuple[own.Opened, own.Opened]:
        both = self.opened()
        came, sent = both[0].members, both[1].members
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
        if self.lists.awaited:
            raise ProofFailed("a text that was placed")
        return both

    def opened(self) -> tuple[own.Opened, own.Opened]:
        """The members of both bodies, behind what is known."""
        came, sent = members(self.rest.came), members(self.rest.sent)
        if (begun := self.rest.begun) is not None:
            for side, found in ((begun.came, came), (begun.sent, sent)):
                # SECURITY: of a key that stands twice nobody can say which one counts.
                if (key := side.again(found.members[1:])) is not None:
                    raise ProofFailed(shown(key))
        return came, sent

    def tools_out(self, came: own.Members, met: int, sent: str) -> int:
        """The next member that leaves, where the tools are left out as planned."""
        return met + (met < len(came) and came[met][0] == TOOLS != sent)

    def member(self, key: str, came: bytes, sent: bytes) -> None:
        if not self.planned.tool_use and turned_off(key, sent):
            return
        if key in _LISTS and came[:1] == sent[:1] == b"[" and self.lists.read(key, came, sent):
            return
        digest = own.digest(b"member:" + key.encode() + b"\0", came)
        if digest not in self.digests:
            raise ProofFailed(shown(key))
        if not self.lists.count:
            self.lists.before.add(digest)
        if came == sent:
            return
        at = shown(key)
        before, after = parsed(came, at), parsed(sent, at)
        if not (key in _SYSTEM and self.values.system(before, after)):
            self.values.same(before, after, at)
