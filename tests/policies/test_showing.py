"""The window of a turn, and what of a conversation remains in view."""

from dataclasses import replace

import pytest
from msgspec import structs

from policies.conversation import Piece, Strand
from policies.cut import OPEN, Window
from policies.decision import Refusal
from policies.settings import Minimality
from policies.showing import (
    FOLDED,
    TOO_LONG,
    UNDIVIDED,
    WHOLE,
    Shown,
    leans,
    remaining,
    remains,
    show,
)
from tests.policies.histories import history

STRICT, DIALOGUE, ELIDE = (
    Minimality("strict"),
    Minimality("dialogue"),
    Minimality("dialogue", "elide"),
)


def told(letters: str, settings: Minimality, known: Window | None = None) -> Shown:
    found = show(history(letters), known, settings)
    assert isinstance(found, Shown)
    return found


def texts(shown: Shown) -> list[str]:
    return [strand.text for piece in shown.seen.pieces for strand in piece.strands()]


def test_what_remains_is_all_that_the_screen_reads() -> None:
    """No string of what is cut is among the strings that would leave."""
    assert texts(told("ucrau", DIALOGUE)) == ["words 0", "words 1", "words 3", "words 4"]
    assert texts(told("ucrau", STRICT)) == ["words 4"]
    everything = told("ucrau", Minimality("off"))
    assert everything.seen.pieces == history("ucrau").pieces
    assert everything.window == OPEN


def test_a_message_of_which_something_goes_is_another_piece() -> None:
    """What was found clean without a part is not taken for the whole, nor the whole for it."""
    whole, cut = history("ucrau").pieces[1], told("ucrau", DIALOGUE).seen.pieces[1]
    assert whole.address == cut.address
    assert whole.digest != cut.digest
    elided = told("ucrau", ELIDE).seen.pieces[1]
    assert elided.digest not in (whole.digest, cut.digest)


def test_units_state_and_places_of_what_is_cut_are_not_there() -> None:
    """Nothing of it is framed, leans on an upstream, or is told."""
    seen = structs.replace(
        history("uCrauCr"),
        opaque=(("messages", 2, "content", 0), ("messages", 6, "content", 0)),
        unknown=(("messages", 1, "content", 0, "x"), ("model",)),
        leaning=((("messages", 2), ("file_id", "f1")), (("container",), ("container", "c1"))),
    )
    found = show(seen, None, STRICT)
    assert isinstance(found, Shown)
    left = found.seen
    assert left.opaque == (("messages", 6, "content", 0),)
    assert left.unknown == (("model",),)
    assert (left.held, left.leans) == (("container",), (("container", "c1"),))
    assert [unit.message for unit in left.units] == [6]
    assert [unit.message for unit in left.passed] == [2]
    assert left.since == left.turn == 4
    assert left.messages == seen.messages


def test_the_first_request_of_a_turn_tells_and_later_ones_repeat() -> None:
    """The notice is made once; a known window is kept as it is, whatever is set now."""
    first = told("uCrau", STRICT)
    assert first.window is not None
    assert first.window.notice.startswith("[dropped history — 4 ")
    assert "(read)" in first.window.notice
    again = told("uCrauCr", DIALOGUE, first.window)
    assert again.window is None
    assert again.cut.window == first.window
    assert again.cut.gone == first.cut.gone


def test_iteration_counts_the_rounds_since_the_request() -> None:
    """A turn that is met in its middle says so."""
    found = told("uCrauCrCr", STRICT)
    assert found.window is not None
    assert "at iteration 3 " in found.window.notice


def test_nothing_is_told_where_nothing_goes() -> None:
    """Neither in a first turn, nor where only parts of messages go."""
    assert told("suCr", STRICT).cut.window.notice == ""
    assert told("utau", DIALOGUE).cut.window.notice == ""


def test_a_plain_chat_has_no_window_to_remember() -> None:
    """Where nothing is cut and no turn takes several requests there is nothing to note."""
    plain = structs.replace(history("uau"), tools=())
    found = show(plain, None, DIALOGUE)
    assert isinstance(found, Shown)
    assert found.window is None
    assert told("uau", DIALOGUE).window is not None


def test_a_notice_that_has_to_be_a_head_is_there() -> None:
    """Strict and elided, a pair may not come first."""
    small = history("uCrau")
    pieces = tuple(structs.replace(piece, size=1) for piece in small.pieces)
    found = show(structs.replace(small, pieces=pieces), None, Minimality("strict", "elide"))
    assert isinstance(found, Shown)
    assert found.window is not None
    assert found.window.notice
    assert show(structs.replace(small, pieces=pieces), None, STRICT).window.notice == ""  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("cap", "heard", "left"),
    [(100, None, 5), (35, None, 5), (34, 1, 3), (21, 1, 3), (20, 0, 1), (7, 0, 1)],
)
def test_a_cap_shows_fewer_turns(cap: int, heard: int | None, left: int) -> None:
    """The oldest words go first, then all but the current turn; that is never shortened."""
    seen = history("uauau")
    found = show(seen, None, replace(DIALOGUE, max_outbound_chars=cap))
    assert isinstance(found, Shown)
    assert found.cut.window.turns == heard
    assert len(found.seen.pieces) == left


@pytest.mark.parametrize(
    ("mode", "letters", "cap", "goes"),
    [
        ("dialogue", "uCr", 0, True),
        ("dialogue", "uau", 0, True),
        ("dialogue", "uCrau", 0, False),
        ("dialogue", "utau", 0, False),
        ("dialogue", "uauau", 34, False),
        ("strict", "suCr", 0, True),
        ("strict", "uau", 0, False),
        ("off", "uCrau", 0, True),
    ],
)
def test_with_the_strategy_home_all_leaves_or_nothing(
    mode: str, letters: str, cap: int, goes: bool
) -> None:
    """What would be cut, for the mode or for the cap, keeps all of it; nothing is taken out."""
    seen = history(letters)
    found = show(seen, None, Minimality(mode, "home", cap))  # type: ignore[arg-type]
    if goes:
        assert isinstance(found, Shown)
        assert found.seen.pieces == seen.pieces
    else:
        assert isinstance(found, Refusal)
        assert (found.code, found.facts["reason"]) == ("not-minimal", WHOLE)


def test_a_turn_that_has_begun_keeps_its_strategy() -> None:
    """What is set meanwhile counts from the next turn on."""
    first = told("uCrau", STRICT)
    assert told("uCrauCr", Minimality("strict", "home"), first.window).cut.gone == first.cut.gone
    assert isinstance(show(history("uCrau"), Window("strict", "home"), STRICT), Refusal)


def test_more_than_the_cap_does_not_leave() -> None:
    """Not the current turn alone, and nothing where all is to be shown."""
    for settings in (STRICT, DIALOGUE, Minimality("off")):
        found = show(history("uau"), None, replace(settings, max_outbound_chars=5))
        assert isinstance(found, Refusal)
        assert (found.code, found.facts["reason"]) == ("not-minimal", TOO_LONG)


def test_a_long_piece_of_few_letters_is_within_the_cap() -> None:
    """What counts are characters of texts, not bytes."""
    seen = history("u")
    piece = Piece(("messages", 0), b"x", lambda: (Strand(("messages", 0), "ä" * 9),), 90)
    assert isinstance(
        show(structs.replace(seen, pieces=(piece,)), None, Minimality(max_outbound_chars=9)), Shown
    )


def test_what_cannot_be_cut_does_not_leave() -> None:
    """A grant without its neighbours, and a history that nobody can take apart."""
    assert show(history("ubau"), None, STRICT) == Refusal(
        "not-minimal", facts={"reason": UNDIVIDED}
    )
    folded = structs.replace(history(""), folded=(("context",),))
    assert show(folded, None, DIALOGUE) == Refusal("not-minimal", facts={"reason": FOLDED})
    assert isinstance(show(folded, None, Minimality("off")), Shown)
    few = replace(STRICT, max_outbound_chars=1)
    assert isinstance(show(history("ubau"), None, few), Refusal)


def test_state_that_an_upstream_holds_is_not_minimal() -> None:
    """Whoever vouches for it: nobody here can say what it is."""
    seen = structs.replace(history("u"), held=("previous_response_id",))
    assert leans(seen, OPEN) is None
    assert leans(history("u"), Window("strict")) is None
    no = leans(seen, Window("dialogue"))
    assert no is not None
    assert "`previous_response_id`" in no.facts["reason"]


def test_remaining_of_an_open_window_is_everything() -> None:
    """Nothing is taken out of what is shown whole."""
    seen = history("uau")
    assert remaining(seen, told("uau", Minimality("off")).cut).pieces == seen.pieces


def test_what_home_has_said_does_not_remain() -> None:
    """No piece and no unit of it is left, and it is told apart from the same history elsewhere."""
    seen = structs.replace(history("uauCrau"), home=frozenset({1, 3, 5}))
    found = show(seen, None, DIALOGUE)
    assert isinstance(found, Shown)
    assert found.cut.home == {1, 5}
    assert texts(found) == ["words 0", "words 2", "words 6"]
    assert not found.seen.units
    unit = structs.replace(history("ucr").units[0], message=1)
    assert not remains(found.cut, unit)


@pytest.mark.parametrize(
    ("letters", "settings", "home"),
    [
        ("uau", Minimality("off"), 1),
        ("uauCr", DIALOGUE, 3),
        ("uauCr", STRICT, 3),
        ("ugau", DIALOGUE, 1),
    ],
)
def test_what_cannot_be_left_out_keeps_all_at_home(
    letters: str, settings: Minimality, home: int
) -> None:
    """Where everything is shown, where the turn goes on from it, where others need it."""
    found = show(structs.replace(history(letters), home=frozenset({home})), None, settings)
    assert found == Refusal("home-only")
    assert isinstance(show(history(letters), None, settings), Shown)
