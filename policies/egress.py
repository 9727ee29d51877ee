"""What leaves for a cloud is read first: every new piece of a body meets the screen.

Owns which pieces are opened, what is remembered as clean and how findings become a verdict. It
must not know how secrets are recognised, nor any dialect.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import TypeVar

from msgspec import Struct

from policies.conversation import Address, Piece
from policies.decision import Allow, BlockFallBackLocal, EgressVerdict, Finding, Screened
from policies.screening import AMBIGUOUS, Own, Screen, Strings, Suspects, place

FAILED = "screen-failed"
"""The kind of a finding that says that the screen itself failed on a piece."""


SHORT = 1024
"""Bytes below which a message may lie whole within one secret."""
CHAIN = 6
"""Messages before another one that are looked at together with it."""

_ALLOW = Allow()
_T = TypeVar("_T")
Opened = tuple[Address, Strings]
Marks = Sequence[tuple[bytes, Screen | Own]]
Seam = tuple[bytes, int, int]
"""Mark, numbers of the first piece and of the last."""


class ScreenResult(Struct, frozen=True):
    """`verdict` on the whole body, `screened` for the proof, and in `clean` the marks to remember:
    pass them back in as `known` and what they stand for is not opened again. A mark holds the
    version of the screen, so marks of an older rule set or deny corpus match nothing. `opened`:
    address and strings of each piece that was not known."""

    verdict: EgressVerdict
    screened: Screened
    clean: tuple[bytes, ...]
    opened: tuple[Opened, ...] = ()

    def __repr__(self) -> str:
        return f"<ScreenResult {self.verdict}>"  # what was read is in no repr


def screen_outbound(
    pieces: Sequence[Piece],
    screen: Screen,
    known: Container[bytes],
    *,
    own: Own | None = None,
    beside: Sequence[Finding] = (),
    past: tuple[int, int] = (0, 0),
    before: int = 0,
) -> ScreenResult:
    """Read every piece whose mark is not in `known`, and every seam between neighbours. `own`: the
    credentials of the request, which stand nowhere else in it. `beside`: what was found otherwise
    and counts as much. `past`: first piece, and the one after the last, of a history that is likely
    to come again: one mark stands for all of it. `before`: the one after the last of that history
    when it came last.

    `pieces` in the order of the body. Raises `ValueError` of `Piece.strands` for a body that is
    not strict JSON; anything that goes wrong in the screen itself makes the piece ambiguous.
    """
    digests = [piece.digest for piece in pieces]
    skipped = _skipped(digests, screen, known, own, past, before)
    readers = _readers(digests, skipped, screen, own, known)
    seams = list(_seams(pieces, screen.version, known, skipped))
    strings = _strings(pieces, readers, seams)
    opened = {n: strings[n] for n, marks in readers.items() if marks[0][1] is screen}
    suspects = _suspects(screen, own, strings, opened, seams, readers)
    findings = list(beside)
    clean: list[bytes] = []
    for mark, found in (
        *_alone(pieces, readers, strings, suspects),
        *_together(pieces, screen, seams, strings, suspects),
    ):
        findings += found
        if not found:
            clean.append(mark)
    screened = Screened(frozenset(digests))
    if past[1] > past[0] and not findings:
        clean.append(_whole(digests[slice(*past)], screen, own))
    read = tuple([(pieces[number].address, each) for number, each in opened.items()])
    return ScreenResult(_verdict(findings), screened, tuple(clean), read)


def unread(
    pieces: Sequence[Piece],
    screen: Screen,
    known: Container[bytes],
    *,
    own: Own | None = None,
    past: tuple[int, int] = (0, 0),
    before: int = 0,
) -> Iterator[Piece]:
    """The pieces that `screen_outbound` is going to open for the `screen` itself."""
    skipped = _skipped([piece.digest for piece in pieces], screen, known, own, past, before)
    for number in _but(len(pieces), skipped):
        if screen.version + pieces[number].digest not in known:
            yield pieces[number]


def _skipped(
    digests: Sequence[bytes],
    screen: Screen,
    known: Container[bytes],
    own: Own | None,
    past: tuple[int, int],
    before: int,
) -> tuple[int, int]:
    """How much of the past was read, seams and all: the whole of it, or what it was before."""
    start, stop = past
    for end in (before, stop) if before < stop else (stop,):
        if start < end and _whole(digests[start:end], screen, own) in known:
            return start, end
    return 0, 0


def _whole(digests: Sequence[bytes], screen: Screen, own: Own | None) -> bytes:
    """The mark of several pieces one after the other, with their seams, for all who read them."""
    # SECURITY: it names each piece and each reader, or it would vouch for what nobody has read.
    readers = screen.version + (b"" if own is None else own.digest)
    return b"whole" + readers + sha256(b"".join(digests)).digest()


def _but(count: int, skipped: tuple[int, int]) -> tuple[int, ...]:
    start, stop = skipped
    return (*range(start), *range(stop, count))


def _readers(
    digests: Sequence[bytes],
    skipped: tuple[int, int],
    screen: Screen,
    own: Own | None,
    known: Container[bytes],
) -> dict[int, Marks]:
    """Number of a piece → who has not read it yet, each with the mark that says that there was
    nothing. A new credential is looked for in what is known to be clean, and nothing else is done
    again."""
    numbers, version = _but(len(digests), skipped), screen.version
    new = [n for n in numbers if version + digests[n] not in known]
    readers: dict[int, Marks] = {n: [(version + digests[n], screen)] for n in new}
    if own is None:
        return readers
    others = [n for n in numbers if own.digest + digests[n] not in known]
    for n in others:
        readers[n] = [*readers.get(n, ()), (own.digest + digests[n], own)]
    return dict(sorted(readers.items()))


def _strings(
    pieces: Sequence[Piece], readers: Iterable[int], seams: Sequence[Seam]
) -> dict[int, Strings]:
    """Number of each piece that is looked into → its strings; of those that are there only for what
    goes on behind them, the last ones."""
    whole = {*readers, *[right for _, _, right in seams]}
    before = {number for _, first, right in seams for number in range(first, right)}
    return {
        number: (Strings.of if number in whole else Strings.last_of)(pieces[number])
        for number in sorted(whole | before)
    }


def _suspects(
    screen: Screen,
    own: Own | None,
    strings: Mapping[int, Strings],
    opened: Mapping[int, Strings],
    seams: Sequence[Seam],
    readers: Mapping[int, Marks],
) -> Suspects:
    """What has to be read by itself: all pieces are gone over as one first."""
    sought = own if any(isinstance(marks[-1][1], Own) for marks in readers.values()) else None
    look = partial(screen.suspects, strings, opened, [seam[1:] for seam in seams], sought)

    def everything() -> Suspects:
        return Suspects(dict.fromkeys(opened), set(range(len(seams))), own is not None)

    suspects = _tried(look, everything)
    others = [text for n in readers if n not in opened for text in strings[n].all]
    if sought is not None and others and not suspects.own:
        suspects.own = _tried(partial(sought.may_stand_in, others), lambda: True)
    return suspects


def _alone(
    pieces: Sequence[Piece],
    readers: Mapping[int, Marks],
    strings: Mapping[int, Strings],
    suspects: Suspects,
) -> Iterator[tuple[bytes, tuple[Finding, ...]]]:
    """What each reader finds in each of the pieces, with the mark to remember."""
    for number, marks in readers.items():
        for mark, reader in marks:
            found: tuple[Finding, ...] = ()
            if isinstance(reader, Own):
                if suspects.own:
                    read = partial(reader.findings, strings[number].strands)
                    found = _guarded(pieces[number], read)
            elif number in suspects.alone:
                read = partial(reader.findings, strings[number].strands, suspects.alone[number])
                found = _guarded(pieces[number], read)
            yield mark, found


def _together(
    pieces: Sequence[Piece],
    screen: Screen,
    seams: Sequence[Seam],
    strings: Mapping[int, Strings],
    suspects: Suspects,
) -> Iterator[tuple[bytes, tuple[Finding, ...]]]:
    """The same for what goes across the ends of messages."""
    for at, (mark, first, right) in enumerate(seams):
        found: tuple[Finding, ...] = ()
        if at in suspects.seams:
            before = [strand for n in range(first, right) for strand in strings[n].strands]
            found = _guarded(pieces[right], partial(screen.seam, before, strings[right].strands))
        yield mark, found


def _guarded(piece: Piece, read: Callable[[], tuple[Finding, ...]]) -> tuple[Finding, ...]:
    return _tried(read, lambda: (Finding(FAILED, place(piece.address), AMBIGUOUS),))


def _tried(read: Callable[[], _T], failed: Callable[[], _T]) -> _T:
    try:
        return read()
    except Exception:
        # SECURITY: a screen that fails has read nothing; what it failed on does not leave.
        return failed()


def _seams(
    pieces: Sequence[Piece], version: bytes, known: Container[bytes], skipped: tuple[int, int]
) -> Iterator[tuple[bytes, int, int]]:
    """Mark, number of the first piece and of the last, of messages that follow each other in one
    list and across whose ends nobody has looked. Two, and more where those between are short: one
    secret may go over several."""
    before, begins = "", 0
    start, stop = skipped
    for number in (*range(start + (stop > start)), *range(stop, len(pieces))):
        piece = pieces[number]
        listed = str(piece.address[0]) if len(piece.address) == 2 else ""
        if not listed or listed != before:
            begins = number
        else:
            first = number - 1
            least = max(begins, number - CHAIN)
            while first > least and 0 < pieces[first].size < SHORT:
                first -= 1
            digests = [each.digest for each in pieces[first : number + 1]]
            # SECURITY: a mark is good for all that was looked at, or an innocent pair would vouch
            # for what another message makes of it.
            mark = version + b"".join(digests)
            if mark not in known:
                yield mark, first, number
        before = listed


def _verdict(findings: Sequence[Finding]) -> EgressVerdict:
    if not findings:
        return _ALLOW
    distinct = tuple(dict.fromkeys(findings))
    certain = any(finding.family != AMBIGUOUS for finding in distinct)
    failed = any(finding.kind == FAILED for finding in distinct)
    return BlockFallBackLocal("egress-blocked" if certain else "egress-ambiguous", distinct, failed)
