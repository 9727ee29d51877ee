"""How far a body is the one that was proved last time, and what of it need not be read again.

Part of the proof, and as independent: it shares no code with what it checks. It must not know what
may stand in a message. A client sends its whole history with every turn, and all but the end of it
is the same, byte for byte, as it came and as it leaves.

A beginning is the bytes of both bodies up to some message of their list, proved to belong together.
Equal bytes are read alike: where both bodies begin so again, the reading of both goes on there, in
the list. So each is read from there on, and what was proved of all before is asked about once more:
that the screen has read it, that its frames are claimed, and that the same is planned.
"""

from typing import Final, NoReturn, final

from msgspec import Struct

from policies import proof_json as own
from policies.decision import FrameRow
from policies.proof_frames import Frames, Met
from policies.proof_plan import Planned

LEAST: Final = 1024
"""Bytes of a body below which reading it whole costs less than a beginning."""

_TOKEN: Final = object()


class Side(Struct, frozen=True, eq=False):
    """One `body` up to `stop`, where a message begins, the keys of the members before the list, in
    one case, and the number of messages between."""

    body: bytes
    stop: int
    keys: frozenset[str]
    count: int

    def of(self, body: bytes, key: str) -> bytes | None:
        """`body` with nothing before those messages of the list `key` that are behind; None where
        it does not begin so."""
        # SECURITY: only equal bytes are read alike.
        if not body.startswith(memoryview(self.body)[: self.stop]):
            return None
        # A message begins right behind the bytes that are the same, as it did when they were read.
        return b'{"%b":[%b' % (key.encode(), body[self.stop :])

    def again(self, found: own.Members) -> str | None:
        """The key among those of the rest that stood before the list already."""
        return next((key for key, _ in found if key.casefold() in self.keys), None)


@final
class Beginning:
    """That the members before the list `key` and messages of it were proved: `came` as the
    client's, `sent` as what leaves, with `frames` in them, under one `planned` and with these
    `authored` texts at hand. `digests` are theirs. `apart`: rows and texts of the frames. Only the
    proof makes one."""

    __slots__ = ("apart", "authored", "came", "digests", "frames", "key", "planned", "sent")
    key: str
    came: Side
    sent: Side
    digests: frozenset[bytes]
    frames: Met
    planned: Planned
    authored: frozenset[str]
    apart: tuple[tuple[FrameRow, ...], tuple[str, ...]]

    def __init__(
        self,
        token: object,
        key: str,
        came: Side,
        sent: Side,
        digests: frozenset[bytes],
        frames: Met,
        planned: Planned,
        authored: frozenset[str],
    ) -> None:
        # SECURITY: what vouches for messages that are not read again is made by their proof alone.
        if token is not _TOKEN:
            raise TypeError("a beginning is made by the proof alone")
        apart = tuple([row for row, _ in frames]), tuple([text for _, text in frames])
        values = (apart, authored, came, digests, frames, key, planned, sent)
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a beginning is never changed")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a beginning is never copied")

    @property
    def size(self) -> int:
        """Bytes that it keeps alive, the texts aside."""
        return len(self.came.body) + len(self.sent.body) + 400 * len(self.frames)


class Rest(Struct, frozen=True):
    """What is left to be read of two bodies. `came` and `sent` are the bodies without what `begun`
    stands for, or whole."""

    came: bytes
    sent: bytes
    begun: Beginning | None = None

    @property
    def skipped(self) -> tuple[int, int]:
        """How many messages are not read, of the client's and of what leaves."""
        return (0, 0) if self.begun is None else (self.begun.came.count, self.begun.sent.count)


class Asked(Struct, frozen=True):
    """What one request is proved against: digests of what was screened, the plan, texts of ours."""

    digests: frozenset[bytes]
    planned: Planned
    authored: frozenset[str]


def rest(
    bodies: tuple[bytes, bytes], begun: Beginning | None, asked: Asked, frames: Frames
) -> Rest:
    """What has to be read of the `bodies`, as they came and as they leave. The frames of what need
    not be are met then."""
    came, sent = bodies
    # SECURITY: a memory may give anything; and what was proved under one plan, with frames that
    # were claimed and messages that were screened then, says nothing of another request.
    if (
        type(begun) is Beginning
        and not asked.planned.placed
        and (begun.planned, begun.authored) == (asked.planned, asked.authored)
        and begun.digests <= asked.digests
        and (less := begun.came.of(came, begun.key)) is not None
        and (leaves := begun.sent.of(sent, begun.key)) is not None
        and frames.begin_with(begun.frames, begun.apart)
    ):
        return Rest(less, leaves, begun)
    return Rest(came, sent)


class Last(Struct, frozen=True):
    """The last message of the list `key` that was compared, and the last of both lists: its size
    as it came and as it leaves, and how many of those that were read stand before it. `met`: the
    frames of those; `digests`: theirs, and those of the members before the list."""

    key: str
    came: tuple[int, int]
    sent: tuple[int, int]
    digests: frozenset[bytes]
    met: Met


def beginning(
    was: Rest,
    bodies: tuple[bytes, bytes],
    lists: tuple[own.Opened, own.Opened],
    last: Last,
    asked: Asked,
) -> Beginning | None:
    """What to remember of a proof that has just succeeded: all up to the `last` message of a list;
    None where that is not worth it, or not written as usual. `lists`: the members of both bodies,
    as far as they were read."""
    if asked.planned.placed or not asked.planned.tool_use or len(bodies[0]) < LEAST:
        return None
    begun = was.begun
    if begun is not None and not (last.came[1] or last.sent[1]):
        return begun
    sides = (None, None) if begun is None else (begun.came, begun.sent)
    came = _side(bodies[0], was.came, lists[0], last.key, last.came, sides[0])
    sent = _side(bodies[1], was.sent, lists[1], last.key, last.sent, sides[1])
    if came is None or sent is None:
        return None
    digests = last.digests if begun is None else begun.digests | last.digests
    return Beginning(_TOKEN, last.key, came, sent, digests, last.met, asked.planned, asked.authored)


def _side(
    body: bytes,
    read: bytes,
    opened: own.Opened,
    key: str,
    last: tuple[int, int],
    was: Side | None,
) -> Side | None:
    """`body`, of which `read` was read, behind what `was` known, up to its `last` message."""
    size, before = last
    skipped = 0 if was is None else was.count
    if opened.starts is None or not (before or skipped):
        return None
    names = [name for name, _ in opened.members]
    number = names.index(key)
    raw = opened.members[number][1]
    if raw[-2:-1].isspace():
        return None
    # Nothing but a bracket stands behind the last message.
    at = opened.starts[number] + len(raw) - 1 - size
    keys = frozenset(name.casefold() for name in names[: number + 1]) if was is None else was.keys
    # No copy is made of bytes that are kept anyway: as they came, for the next view of them.
    return Side(body, len(body) - len(read) + at, keys, skipped + before)
