"""The proof's reading of a list of messages: each of them as it came and as it leaves.

Part of the proof, and as independent: it shares no code with what it checks. It must not know what
else may stand in a body. Mostly all of a list is seen at once (`proof_spelled`); what was opened
once need not be opened again: a mark is the SHA-256 of a client's message and of what it leaves as,
so it fits no other pair, and it counts only while every frame that it stands for is claimed, for
the same texts, by the request at hand.
"""

from collections.abc import Sequence, Set
from typing import Final, NoReturn, Protocol, final

from policies import proof_json as own
from policies.conversation import Address
from policies.proof_beginnings import Last, Rest
from policies.proof_cut import Shortened, untold
from policies.proof_frames import Met
from policies.proof_plan import Planned, is_thinking, repeats, says
from policies.proof_reading import ProofFailed, less, pair, parsed
from policies.proof_values import Values

_TOKEN: Final = object()


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


class Lists:
    """The lists of messages of a body: `count` of them were read. `digests` were screened; `before`
    are those of the members before the first list. `made`: new marks; `last`: the last message."""

    def __init__(
        self, digests: frozenset[bytes], values: Values, marks: Marks, planned: Planned, left: Rest
    ) -> None:
        self.digests = digests
        self.frames = values.frames
        self.values = values
        self.marks = marks
        self.planned = planned
        self.texts = [*planned.placed]
        self.short: Shortened | None = None
        self.notice = "" if planned.cut is None else planned.cut.window.notice
        self.made: list[Mark] = []
        self.rest = left
        self.last: Last | None = None
        self.before: set[bytes] = set()
        self.count = 0

    @property
    def awaited(self) -> bool:
        """Whether a text that was to be placed was not met."""
        return bool(self.texts or self.notice)

    def read(self, key: str, came: bytes, sent: bytes) -> bool:
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
        self.count += 1
        skipped = self.skipped(key)[0]
        if self.goes_on(skipped) and self.together(key, (came, sent), before):
            return True
        self.messages(key, before, own.elements(sent))
        return True

    def goes_on(self, index: int) -> bool:
        """Whether it is planned that all messages from that one on leave as they are."""
        if self.notice or self.texts or self.planned.removed:
            return False
        return self.short is None or self.short.behind(index)

    def together(
        self,
        key: str,
        lists: tuple[bytes, bytes],
        came: Sequence[bytes],
        met: tuple[int, int] = (0, 0),
        seen: Set[bytes] = frozenset(),
    ) -> bool:
        """Whether all messages of two `lists`, as they came and as they leave, are the same but for
        frames. Before them stand those that were `met`, and `seen` by their digests."""
        first = len(self.frames.met)
        if (spelled := self.frames.meet_spelled(*lists)) is None:
            return False
        digests = [own.digest(b"message\0", raw) for raw in came]
        for number, digest in enumerate(digests, self.skipped(key)[1] + met[1]):
            if digest not in self.digests:
                raise ProofFailed(f"{key}[{number}]")
        size, number = len(came[-1]), len(came) - 1
        count, grown = spelled.before(len(lists[0]) - 1 - size)
        read = (size, met[0] + number), (size + spelled.grown[-1] - grown, met[1] + number)
        known = self.before.union(seen, digests[:-1])
        self.last = Last(key, *read, frozenset(known), tuple(self.frames.met[: first + count]))
        return True

    def skipped(self, key: str) -> tuple[int, int]:
        """How many messages of that list are not read, of the client's and of what leaves."""
        begun = self.rest.begun
        return self.rest.skipped if begun and begun.key == key else (0, 0)

    def messages(self, key: str, came: Sequence[bytes], sent: Sequence[bytes]) -> None:
        skipped, before = self.skipped(key)
        met, done, seen = 0, skipped, set[bytes]()
        tried = False
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
            # Mostly something stands before a conversation, and all of that goes on alike.
            if first and raw != expected and not tried and self.goes_on(skipped + met):
                tried, rest = True, (came[met:], sent[number - before :])
                lists = _array(rest[0]), _array(rest[1])
                if self.together(key, lists, rest[0], (met, number - before), seen):
                    return
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
                read = (len(expected), met - 1), (len(raw), number - before)
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
        if not (ways or notice) and self.frames.meet_spelled(came, sent):
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


def _array(items: Sequence[bytes]) -> bytes:
    return b"[%b]" % b",".join(items)
