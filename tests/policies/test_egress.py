"""What is opened, what is remembered, and that a screen which fails lets nothing go."""

import hashlib
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from policies.conversation import Piece, Strand
from policies.decision import Allow, BlockFallBackLocal, Finding
from policies.egress import screen_outbound, unread
from policies.screening import AMBIGUOUS, Own, Screen
from policies.screening.parts import ending

SECRET = "Zq7xW2pL9rTf"
KEY = "k9Jw3Qp" + "mVx2Lr8Tn5"


@pytest.fixture(scope="module")
def screen() -> Screen:
    return Screen.build({"f": SECRET.encode()})


class Opened:
    """Pieces that count how often they were opened."""

    def __init__(self) -> None:
        self.opened: list[tuple] = []

    def piece(self, *address, text: str) -> Piece:
        def strands() -> tuple[Strand, ...]:
            self.opened.append(address)
            return (Strand((*address, "content"), text),)

        raw = repr((address[0], text)).encode()
        return Piece(address, hashlib.sha256(raw).digest(), strands)


def messages(opened: Opened, *texts: str) -> list[Piece]:
    return [opened.piece("messages", n, text=text) for n, text in enumerate(texts)]


def test_a_clean_body_is_allowed(screen):
    """Nothing found: all digests, and a mark for every piece and seam."""
    opened = Opened()
    pieces = [opened.piece("model", text="m"), *messages(opened, "hello", "there")]
    result = screen_outbound(pieces, screen, set())
    assert result.verdict == Allow()
    assert result.screened.digests == {piece.digest for piece in pieces}
    assert len(result.clean) == len(pieces) + 1


def test_what_is_known_is_not_opened(screen):
    """The same history costs a look-up per piece; a new message costs itself and its seam."""
    opened = Opened()
    first = screen_outbound(messages(opened, "one", "two", "three"), screen, set())
    known = set(first.clean)
    opened.opened.clear()
    again = screen_outbound(messages(opened, "one", "two", "three"), screen, known)
    assert (opened.opened, again.verdict, again.clean) == ([], Allow(), ())
    assert len(again.screened.digests) == 3
    screen_outbound(messages(opened, "one", "two", "three", "four"), screen, known)
    assert set(opened.opened) == {("messages", 2), ("messages", 3)}


def test_one_mark_stands_for_one_history(screen):
    """A history that was clean is not looked at piece by piece; neither another one of the same
    length, nor another credential, nor one in which something was found has its mark."""
    opened = Opened()
    texts, own = ("one", "two", "three"), Own.of([KEY])
    clean = screen_outbound(messages(opened, *texts), screen, set(), past=(0, 2)).clean
    whole = {mark for mark in clean if mark.startswith(b"whole")}
    assert len(whole) == 1
    opened.opened.clear()
    again = screen_outbound(messages(opened, *texts), screen, whole, past=(0, 2))
    assert opened.opened == [("messages", 1), ("messages", 2)]
    assert (again.verdict, len(again.screened.digests)) == (Allow(), 3)
    for others in (("one", f"two {SECRET}", "three"), (SECRET, "two", "three")):
        other = screen_outbound(messages(opened, *others), screen, whole, past=(0, 2))
        assert isinstance(other.verdict, BlockFallBackLocal)
        assert not any(mark.startswith(b"whole") for mark in other.clean)
    with_key = ("one", f"two {KEY}", "three")
    clean = screen_outbound(messages(opened, *with_key), screen, set(), past=(0, 2)).clean
    result = screen_outbound(messages(opened, *with_key), screen, set(clean), own=own, past=(0, 2))
    assert isinstance(result.verdict, BlockFallBackLocal)


def test_a_seam_behind_a_known_history_is_looked_at(screen):
    """Its last messages may hold the beginning of what goes on in the next one."""
    pieces = short("fine", SECRET[:4], SECRET[4:8])
    clean = set(screen_outbound(pieces, screen, set(), past=(0, 3)).clean)
    pieces = short("fine", SECRET[:4], SECRET[4:8], SECRET[8:])
    result = screen_outbound(pieces, screen, clean, past=(0, 3))
    assert isinstance(result.verdict, BlockFallBackLocal)


def test_a_history_that_has_grown_is_known_as_far_as_it_was(screen):
    """The mark of last time stands for what it stood for, and all that follows is read; a longer
    one is made, which holds alone."""
    opened, own = Opened(), Own.of([KEY])
    four = ("one", "two", "three", "four")
    whole = {
        mark
        for mark in screen_outbound(messages(opened, *four[:3]), screen, set(), past=(0, 2)).clean
        if mark.startswith(b"whole")
    }
    grown = messages(opened, *four)
    assert [*unread(grown, screen, whole, past=(0, 3), before=2)] == grown[2:]
    assert [*unread(grown, screen, whole, own=own, past=(0, 3), before=2)] == grown
    assert [*unread(grown, screen, {screen.version + grown[0].digest})] == grown[1:]
    opened.opened.clear()
    result = screen_outbound(grown, screen, whole, past=(0, 3), before=2)
    assert opened.opened == [("messages", number) for number in (1, 2, 3)]
    longer = {mark for mark in result.clean if mark.startswith(b"whole")} - whole
    assert [*unread(grown, screen, longer, past=(0, 3), before=2)] == grown[3:]
    for others in (("one", SECRET, "three"), ("one", "two", SECRET)):
        other = screen_outbound(messages(opened, *others), screen, whole, past=(0, 3), before=2)
        assert isinstance(other.verdict, BlockFallBackLocal)
        assert not any(mark.startswith(b"whole") for mark in other.clean)


def test_a_seam_behind_what_was_known_before_is_looked_at(screen):
    """A secret may begin in the part that is known and end in what has grown since."""
    pieces = short("fine", SECRET[:4], SECRET[4:8])
    clean = set(screen_outbound(pieces, screen, set(), past=(0, 3)).clean)
    pieces = short("fine", SECRET[:4], SECRET[4:8], SECRET[8:], "more")
    result = screen_outbound(pieces, screen, clean, past=(0, 5), before=3)
    assert isinstance(result.verdict, BlockFallBackLocal)


def test_marks_are_good_for_one_version(screen):
    """Other rules or another deny corpus read everything again."""
    opened = Opened()
    known = set(screen_outbound(messages(opened, f"a{SECRET}"), Screen.build(), set()).clean)
    result = screen_outbound(messages(opened, f"a{SECRET}"), screen, known)
    assert isinstance(result.verdict, BlockFallBackLocal)


def test_a_finding_blocks_and_is_not_remembered(screen):
    """The verdict names kind and place; what stands beside it is remembered as clean."""
    opened = Opened()
    pieces = messages(opened, "hello", f"it is {SECRET}")
    result = screen_outbound(pieces, screen, set())
    finding = Finding("deny_file", "messages[1].content", "deny")
    assert result.verdict == BlockFallBackLocal("egress-blocked", (finding,))
    assert screen.version + pieces[0].digest in result.clean
    assert screen.version + pieces[1].digest not in result.clean
    assert result.screened.digests == {piece.digest for piece in pieces}
    assert isinstance(
        screen_outbound(pieces, screen, set(result.clean)).verdict, BlockFallBackLocal
    )


def test_halves_in_two_messages(screen):
    """A secret across a seam blocks, also when each half came in a request of its own."""
    opened = Opened()
    halves = (f"it is {SECRET[:6]}", f"{SECRET[6:]} yes")
    for known in (set(), set(screen_outbound(messages(opened, halves[0]), screen, set()).clean)):
        result = screen_outbound(messages(opened, *halves), screen, known)
        assert isinstance(result.verdict, BlockFallBackLocal)
        assert [f.place for f in result.verdict.findings] == ["messages[1]"]
    alone = {
        mark
        for n, half in enumerate(halves)
        for mark in screen_outbound([opened.piece("messages", n, text=half)], screen, set()).clean
    }
    result = screen_outbound(messages(opened, *halves), screen, alone)
    assert isinstance(result.verdict, BlockFallBackLocal)


def short(*texts: str) -> list[Piece]:
    """Messages, each with the size of its bytes."""
    opened = Opened()
    return [replace(piece, size=40) for piece in messages(opened, *texts)]


def test_a_secret_in_several_short_messages(screen):
    """Also where an innocent pair of them was looked at before; one word in each is a seed."""
    parts = (SECRET[:4], SECRET[4:8], SECRET[8:])
    result = screen_outbound(short("well", *parts), screen, set())
    assert isinstance(result.verdict, BlockFallBackLocal)
    assert [f.place for f in result.verdict.findings] == ["messages[3]"]
    known = set(screen_outbound(short("well", *parts[1:]), screen, set()).clean)
    known |= set(screen_outbound(short("well", *parts[:2]), screen, set()).clean)
    again = screen_outbound(short("well", *parts), screen, known)
    assert isinstance(again.verdict, BlockFallBackLocal)


def ended(pieces: list[Piece]) -> list[Piece]:
    """The same pieces, of which the last texts are known."""

    def known(piece: Piece) -> Callable[[], list[str]]:
        last = ending([strand.text for strand in piece.strands()])
        return lambda: last

    return [replace(piece, ending=known(piece)) for piece in pieces]


@settings(max_examples=60)
@given(
    cuts=st.lists(st.integers(0, len(SECRET)), min_size=1, max_size=3),
    long=st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_of_what_was_read_its_last_texts_say_as_much_as_all_of_it(screen, cuts, long):
    """A secret across the end of what is known is found as if it had been read again."""
    ends = [0, *sorted(cuts), len(SECRET)]
    texts = [
        "word " * 500 * far + SECRET[start:stop]
        for (start, stop), far in zip(pairwise(ends), long, strict=False)
    ]
    opened = Opened()
    pieces = [
        replace(p, size=2500 * far + 12)
        for p, far in zip(messages(opened, *texts), long, strict=False)
    ]
    known = set(screen_outbound(pieces[:-1], screen, set()).clean)
    plain = screen_outbound(pieces, screen, known)
    fast = screen_outbound(ended(pieces), screen, known)
    assert (fast.verdict, fast.clean) == (plain.verdict, plain.clean)


def test_of_what_was_read_its_last_texts_are_asked_for_alone(screen):
    """And the message behind it is read whole."""
    opened = Opened()
    known = set(screen_outbound(messages(opened, "one", "two"), screen, set()).clean)
    pieces = ended(messages(opened, "one", "two", "three"))
    opened.opened.clear()
    assert screen_outbound(pieces, screen, known).verdict == Allow()
    assert opened.opened == [("messages", 2)]


def test_a_long_message_ends_what_is_looked_at_together(screen):
    """What stands before it has been read with it."""
    opened = Opened()
    pieces = [replace(p, size=5000) for p in messages(opened, "one", "two", "three")]
    first = screen_outbound(pieces, screen, set())
    assert {len(mark) for mark in first.clean} == {16 + 32, 16 + 64}


def test_members_of_the_top_have_no_seam(screen):
    """Only messages that follow each other in one list are neighbours."""
    opened = Opened()
    pieces = [
        opened.piece("system", text=SECRET[:6]),
        opened.piece("user", text=SECRET[6:]),
        opened.piece("messages", 0, text=SECRET[:6]),
        opened.piece("input", 0, text=SECRET[6:]),
    ]
    assert screen_outbound(pieces, screen, set()).verdict == Allow()


def test_ambiguous_content(screen):
    """What could not be read has its own code, and a secret beside it weighs more."""
    opened = Opened()
    hostile = "glpat-" * 30_000
    result = screen_outbound(messages(opened, hostile), screen, set())
    assert isinstance(result.verdict, BlockFallBackLocal)
    assert result.verdict.code == "egress-ambiguous"
    both = screen_outbound(messages(opened, hostile, "and", SECRET), screen, set())
    assert isinstance(both.verdict, BlockFallBackLocal)
    assert both.verdict.code == "egress-blocked"
    assert {f.family for f in both.verdict.findings} == {AMBIGUOUS, "deny"}


@pytest.mark.parametrize("method", ["findings", "seam"])
@pytest.mark.parametrize("error", [RuntimeError, MemoryError, RecursionError, KeyError])
def test_a_screen_that_fails_is_ambiguous(screen, monkeypatch, method, error):
    """SECURITY: an exception in a rule never means clean, and is not remembered as clean."""

    def fail(self, *args):
        raise error(SECRET)

    monkeypatch.setattr(Screen, method, fail)
    monkeypatch.setattr(Screen, "suspects", fail)
    opened = Opened()
    pieces = messages(opened, "hello", "there")
    result = screen_outbound(pieces, screen, set())
    assert isinstance(result.verdict, BlockFallBackLocal)
    assert result.verdict.code == "egress-ambiguous"
    assert {f.kind for f in result.verdict.findings} == {"screen-failed"}
    assert SECRET not in repr(result)
    failed = {screen.version + piece.digest for piece in pieces}
    assert not (failed & set(result.clean)) or method == "seam"


def test_a_body_that_is_not_strict_is_not_the_screens_matter(screen):
    """`ValueError` of a piece goes to the caller: a malformed body has its own answer."""

    def malformed() -> tuple[Strand, ...]:
        raise ValueError("a key stands twice")

    strands: Callable[[], tuple[Strand, ...]] = malformed
    with pytest.raises(ValueError, match="twice"):
        screen_outbound([Piece(("model",), b"d" * 32, strands)], screen, set())


def test_a_new_credential_is_looked_for_in_what_is_known(screen):
    """The first pass reads for everything; another credential reads again, and only for itself."""
    first, second = Own.of(["Bearer " + KEY]), Own.of(["Bearer " + KEY[::-1]])
    opened = Opened()
    texts = ("one", f"it was {KEY[::-1]}")
    known = set(screen_outbound(messages(opened, *texts), screen, set()).clean)
    opened.opened.clear()
    fine = screen_outbound(messages(opened, "one"), screen, known, own=first)
    assert (fine.verdict, opened.opened, fine.opened) == (Allow(), [("messages", 0)], ())
    known |= set(fine.clean)
    opened.opened.clear()
    assert screen_outbound(messages(opened, "one"), screen, known, own=first).clean == ()
    assert opened.opened == []
    result = screen_outbound(messages(opened, *texts), screen, known, own=second)
    assert isinstance(result.verdict, BlockFallBackLocal)
    assert [(f.kind, f.place) for f in result.verdict.findings] == [
        ("own_credential", "messages[1].content")
    ]
