"""Notes about loops: where they stand, once, ever after."""

from dataclasses import replace

import pytest
from msgspec import structs

from policies.authored import LOOP_NOTE, NOTES, TURN_NOTE
from policies.conversation import Conversation
from policies.decision import Frame, FrameRow, Note, Remembered
from policies.limits import Level, Verdict
from policies.loop_notes import Unwritable, known_notes, marked, new_note
from tests.policies.test_loops import letters, seen

SOFT = Verdict(Level.SOFT, "read-loop", "same-result", 10)


def frames(*units: int, known: bool = False, late: bool = False) -> list[Frame]:
    return [Frame(unit, FrameRow("ab" * 16, "f", True), known, late) for unit in units]


def talk(rounds: str = "aaaaa") -> Conversation:
    return seen("openai_chat", letters(rounds))


def test_a_note_goes_behind_the_newest_results() -> None:
    """Beside the last new unit of the newest run, in the words for what was found."""
    assert new_note(talk(), SOFT, (), frames(3, 4)) == Note(4, 10, LOOP_NOTE, known=False)
    turn = replace(SOFT, code="turn-limit")
    assert new_note(talk(), turn, (), frames(4)) == Note(4, 10, TURN_NOTE, known=False)


@pytest.mark.parametrize("level", [Level.HARD, Level.BEYOND])
def test_only_a_soft_bound_brings_one(level: Level) -> None:
    """Nor does nothing, nor a model that takes none, nor results that nobody remembers."""
    assert new_note(talk(), replace(SOFT, level=level), (), frames(4)) is None
    assert new_note(talk(), None, (), frames(4)) is None
    assert new_note(structs.replace(talk(), notes=False), SOFT, (), frames(4)) is None
    assert new_note(talk(), SOFT, (), []) is None
    assert new_note(talk(), SOFT, (), frames(3)) is None
    assert new_note(talk(), SOFT, (), frames(4, known=True)) is None
    assert new_note(talk(), SOFT, (), frames(4, late=True)) is None


def test_a_turn_gets_each_text_once() -> None:
    """What stands in this turn is not said again; what stood in an earlier one is."""
    there = Note(2, 6, LOOP_NOTE, known=True)
    assert new_note(talk(), SOFT, (there,), frames(4)) is None
    assert new_note(talk(), replace(SOFT, code="turn-limit"), (there,), frames(4)) is not None
    assert new_note(structs.replace(talk(), turn=7), SOFT, (there,), frames(4)) is not None


def test_notes_stand_where_they_stood() -> None:
    """Behind the whole run of the unit that they are remembered by, in order."""
    remembered = Remembered({}, followed={4: TURN_NOTE, 1: LOOP_NOTE})
    assert known_notes(talk(), remembered) == (
        Note(1, 4, LOOP_NOTE, known=True),
        Note(4, 10, TURN_NOTE, known=True),
    )
    assert known_notes(structs.replace(talk(), notes=False), remembered) == ()
    assert known_notes(talk(), Remembered({})) == ()


def test_a_note_of_a_newer_version_is_not_left_out() -> None:
    """Other bytes than those that were sent would not do."""
    with pytest.raises(Unwritable):
        known_notes(talk(), Remembered({}, followed={1: "loop-note/9"}))


def test_the_row_of_the_unit_says_so() -> None:
    """That one alone."""
    note = Note(4, 10, LOOP_NOTE, known=False)
    assert [frame.row.followed for frame in marked(frames(3, 4), note)] == [False, True]


@pytest.mark.parametrize("text", NOTES.values(), ids=list(NOTES))
def test_a_note_says_whose_words_it_is(text: str) -> None:
    """In one line, without a mark of a frame."""
    assert text.startswith("[Transom] ")
    assert "\n" not in text
    assert "TRANSOM_DATA" not in text
