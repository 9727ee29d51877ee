"""Where the upstream's view begins anew, and how a turn is read."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from policies.conversation import Conversation
from policies.cut import OPEN, Window
from policies.decision import FrameRow, Remembered, Turn
from policies.envelope.epoch import (
    Epoch,
    begins_anew,
    epoch_of,
    is_strange,
    standing,
    turns_of,
)
from policies.envelope.plan import plan_frames
from policies.pins import Pins
from policies.settings import Envelope
from tests.policies.envelope.talks import talk

ROW = FrameRow("1" * 32, "read", intro=True)
LATE = FrameRow("2" * 32, "read", intro=True)
PINS = Pins(Envelope())


def known(
    *units: int, turns: dict[int, Turn] | None = None, anew: tuple[int, ...] = ()
) -> Remembered:
    return Remembered(dict.fromkeys(units, ROW), turns=turns or {}, anew=anew, pins=PINS)


def test_turns_begin_where_the_operator_speaks() -> None:
    """A run that answers a call begins none; where nobody speaks the whole history is one."""
    assert turns_of(talk("uArAuAru")) == (0, 4)
    assert turns_of(talk("rAr")) == (0,)
    assert turns_of(talk("")) == (0,)


@pytest.mark.parametrize(
    ("shape", "remembered", "loose", "expected"),
    [
        # Everything was sent from here.
        ("u", known(), False, Epoch(turn=Turn.WITH)),
        ("uAr", known(turns={0: Turn.WITH}), False, Epoch(sealed=1)),
        ("uArAu", known(0, turns={0: Turn.WITH}), False, Epoch(sealed=3, turn=Turn.WITH)),
        # Nothing is bound to anything: it can be framed at once.
        ("uarar", known(), False, Epoch(turn=Turn.WITH)),
        # Sent elsewhere, in the middle of a loop: bare until the operator speaks.
        ("uArAr", Remembered({}), True, Epoch(raw=True, sealed=3, turn=Turn.RAW)),
        ("uArAr", Remembered({}), False, Epoch(raw=True, sealed=3, turn=Turn.RAW)),
        ("uArArAr", known(1, turns={0: Turn.RAW}), True, Epoch(raw=True, sealed=5)),
        # The operator speaks: anew.
        ("uArAu", Remembered({}), True, Epoch(4, turn=Turn.ANEW)),
        ("uArAu", Remembered({}), False, Epoch(4, turn=Turn.ANEW)),
        ("uArArAu", known(1, turns={0: Turn.RAW}), True, Epoch(6, turn=Turn.ANEW)),
        # And it stays so, in that turn and in later ones.
        ("uArAuAr", known(turns={4: Turn.ANEW}), False, Epoch(4, sealed=5)),
        (
            "uArAuArAu",
            known(turns={4: Turn.ANEW}),
            False,
            Epoch(4, sealed=7, turn=Turn.WITH),
        ),
        # A turn elsewhere in between: anew with the next.
        ("uAuAu", known(turns={0: Turn.WITH}), False, Epoch(4, turn=Turn.ANEW)),
        # A row was lost within a loop: anew at the newest run, once in a turn.
        ("uArAr", known(1, turns={0: Turn.WITH}), True, Epoch(4, anew=True)),
        ("uArArAr", known(1, 2, turns={0: Turn.WITH}, anew=(4,)), False, Epoch(4, sealed=5)),
        ("uArArAr", known(1, 2, turns={0: Turn.WITH}, anew=(4,)), True, Epoch(4, sealed=5)),
        # Mixed: a turn of elsewhere, entered in its middle, behind turns of here.
        ("uAuArAr", known(0, turns={0: Turn.WITH}), True, Epoch(6, turn=Turn.WITH, anew=True)),
        # The model's own words are the newest: there is no run to begin with.
        ("uArA", known(turns={0: Turn.WITH}), True, Epoch(sealed=3)),
    ],
)
def test_how_a_turn_is_read(
    shape: str, remembered: Remembered, loose: bool, expected: Epoch
) -> None:
    """Histories in shorthand, what is known of them, and whether something cannot get a frame."""
    assert epoch_of(talk(shape), remembered, loose=loose, policy=True) == expected


def test_without_a_policy_text_the_thinking_of_elsewhere_may_stay() -> None:
    """Nothing of ours stands before it, so it fits."""
    view = epoch_of(talk("uAuA", tools=()), Remembered({}), loose=False, policy=False)
    assert view == Epoch(sealed=3)


def test_a_turn_taken_back_takes_its_beginning_along() -> None:
    """A view that began anew is remembered by its turn: another turn at that place is another."""
    rewound = epoch_of(talk("uArAr"), known(turns={0: Turn.RAW}), loose=True, policy=True)
    assert (rewound.start, rewound.raw) == (-1, True)


def test_the_newest_of_several_beginnings_counts() -> None:
    """Turns and runs alike."""
    turns = {0: Turn.WITH, 2: Turn.ANEW, 4: Turn.ANEW}
    assert standing(talk("uAuAuAr"), known(turns=turns)).start == 4
    assert standing(talk("uAuAuAr"), known(turns=turns, anew=(6,))).start == 6


def test_a_beginning_within_a_raw_turn_ends_its_rawness() -> None:
    """What comes behind it was sent with frames."""
    view = standing(talk("uArArAr"), known(turns={0: Turn.RAW}, anew=(4,)))
    assert (view.start, view.raw, view.sealed) == (4, False, 5)


def test_late_rows_hold_before_the_start_alone() -> None:
    """Behind it, and in views that did not begin anew, a unit reads as it did the first time."""
    remembered = Remembered({0: ROW}, late={0: LATE, 1: LATE})
    assert Epoch(5).row(0, 2, remembered) is LATE
    assert Epoch(5).row(1, 6, remembered) is None
    assert Epoch().row(0, 2, remembered) is ROW
    assert Epoch(5).row(0, 2, Remembered({0: ROW})) is ROW


def test_all_thinking_before_the_start_is_left_out() -> None:
    """And messages that held nothing else are named."""
    seen = talk("uAuHuA")
    assert Epoch(4).left_out(seen) == (("messages", 1, "content", 0), ("messages", 3, "content", 0))
    assert Epoch(4).hollowed(seen) == (("messages", 3),)
    assert Epoch().left_out(seen) == Epoch().hollowed(seen) == ()


@pytest.mark.parametrize(
    ("shape", "rows", "turns", "strange"),
    [
        ("uArAr", {0: ROW}, {0: Turn.WITH}, False),
        ("uArAr", {}, {0: Turn.WITH}, True),
        ("uar", {}, {}, False),
        ("uAr", {}, {}, True),
        ("uaur", {}, {2: Turn.ANEW}, True),
        ("uAuA", {}, {0: Turn.WITH, 2: Turn.WITH}, False),
        ("uAuA", {}, {0: Turn.WITH, 2: Turn.RAW}, True),
    ],
)
def test_what_has_to_be_looked_up_further(
    shape: str, rows: dict[int, FrameRow], turns: dict[int, Turn], strange: bool
) -> None:
    """Only where something was not sent from here as a matter of course."""
    assert is_strange(talk(shape), rows, turns, {}) is strange


def test_a_plain_chat_is_never_strange() -> None:
    """Where there is nothing to frame or explain, nothing was ever late."""
    assert not is_strange(talk("uAuA", tools=()), {}, {}, {})


@pytest.mark.parametrize(
    ("shape", "turns", "expected"),
    [
        ("uarar", {0: Turn.WITH}, False),
        ("uArar", {0: Turn.WITH}, True),
        ("uHu", {}, True),
        ("uaur", {2: Turn.ANEW}, True),
        ("", {}, False),
    ],
)
def test_only_thinking_makes_a_view_begin_anew(
    shape: str, turns: dict[int, Turn], expected: bool
) -> None:
    """Or a turn with which it has done so, whatever has become of the thinking since."""
    assert begins_anew(talk(shape), turns) is expected
    assert not begins_anew(structs.replace(talk(shape), since=len(shape)), {})


@given(st.text("uarAH", max_size=8), st.data())
def test_where_no_view_begins_anew_a_late_row_changes_nothing(
    shape: str, data: st.DataObject
) -> None:
    """Whatever else is known of the history: so late rows need not be looked up there."""
    seen = talk(shape)
    some = st.sets(st.sampled_from(range(len(seen.units) or 1)))
    starts = st.sampled_from(turns_of(seen))
    turns = data.draw(st.dictionaries(starts, st.sampled_from(Turn)))
    remembered = known(*sorted(data.draw(some) & {*range(len(seen.units))}), turns=turns)
    late = dict.fromkeys(data.draw(some), LATE)
    plans = [
        plan_frames(seen, structs.replace(remembered, late=rows), PINS, lambda: "3" * 32)
        for rows in ({}, late)
    ]
    if not begins_anew(seen, turns):
        assert plans[0] == plans[1]


CUT = Window("dialogue", notice="told")


def cut(shape: str, since: int) -> Conversation:
    return structs.replace(talk(shape), since=since)


def test_a_cut_view_never_waits_for_the_operator() -> None:
    """A turn that began elsewhere is not sent as it came: it begins anew at the newest run."""
    view = epoch_of(cut("uAuArAr", 2), Remembered({}), loose=True, policy=True)
    assert view == Epoch(6, turn=Turn.WITH, anew=True)


def test_a_cut_view_knows_its_own_turn_alone() -> None:
    """What was thought before is not there: nothing is bound to it, and it is not taken out."""
    seen = cut("uAuAuArA", 4)
    assert turns_of(seen) == (4,)
    sent = structs.replace(known(0, turns={4: Turn.WITH}), windows={4: CUT})
    view = epoch_of(seen, sent, loose=False, policy=True)
    assert view == Epoch(sealed=7)
    assert view.left_out(seen) == ()
    assert not is_strange(seen, sent.rows, sent.turns, sent.windows)
    begun = Epoch(6)
    assert begun.left_out(seen) == (("messages", 5, "content", 0),)
    assert Epoch(8).hollowed(cut("uHuHuHrH", 4)) == (("messages", 5), ("messages", 7))


def test_a_turn_without_a_window_begins_anew_once() -> None:
    """Thinking in it was done in another view; afterwards the window says so."""
    seen = cut("uAuAr", 2)
    once = epoch_of(seen, known(0, turns={2: Turn.WITH}), loose=False, policy=True)
    assert once == Epoch(4, anew=True)
    again = replace(CUT, anew=True)
    assert is_strange(seen, {0: ROW}, {2: Turn.WITH}, {2: again})
    later = structs.replace(known(0, turns={2: Turn.WITH}, anew=(4,)), windows={2: again})
    assert epoch_of(cut("uAuArAr", 2), later, loose=False, policy=True) == Epoch(4, sealed=5)


def test_a_turn_that_shows_more_than_the_one_before_begins_anew() -> None:
    """Thinking of turns that were cut is left out; of turns that showed everything it stays."""
    seen = talk("uAuAu")
    turns = {0: Turn.WITH, 2: Turn.WITH}
    cut_before = structs.replace(known(turns=turns), windows={2: CUT})
    assert epoch_of(seen, cut_before, loose=False, policy=False) == Epoch(4, turn=Turn.ANEW)
    open_before = structs.replace(known(turns=turns), windows={0: OPEN, 2: OPEN})
    assert epoch_of(seen, open_before, loose=False, policy=True) == Epoch(sealed=3, turn=Turn.WITH)
    now = structs.replace(known(turns={4: Turn.ANEW}), windows={4: OPEN})
    assert epoch_of(talk("uAuAuAr"), now, loose=False, policy=True) == Epoch(4, sealed=5)
