"""The plan: which messages, parts and members of earlier turns do not leave."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from policies.conversation import Form, Unit
from policies.cut import Cut, Window
from policies.minimality import names_of, plan
from tests.policies.histories import OTHER, WORDS, history

STRICT, DIALOGUE = Window("strict"), Window("dialogue")
ELIDE = Window("dialogue", "elide")


def cut(letters: str, window: Window, **more: object) -> Cut:
    found = plan(history(letters, **more), window)  # type: ignore[arg-type]
    assert found is not None
    return found


def shown(letters: str, window: Window, **more: object) -> str:
    """The letters of the messages that leave."""
    gone = cut(letters, window, **more).gone
    return "".join(letter for index, letter in enumerate(letters) if index not in gone)


@pytest.mark.parametrize(
    ("letters", "strict", "dialogue"),
    [
        ("suau", "su", "suau"),
        ("sucrau", "su", "sucau"),
        ("uCrauCr", "uCr", "uauCr"),
        ("uCrmau", "u", "umau"),
        ("utau", "u", "utau"),
        ("giau", "gu", "gu"),
        ("uagu", "gu", "uagu"),
        ("u", "u", "u"),
        ("suCr", "suCr", "suCr"),
    ],
)
def test_what_leaves(letters: str, strict: str, dialogue: str) -> None:
    """Strict shows the current turn, dialogue what was said before; both keep what grants tools."""
    assert shown(letters, STRICT) == strict
    assert shown(letters, DIALOGUE) == dialogue
    assert shown(letters, Window("off")) == letters


def test_all_parallel_results_of_the_turn_stay() -> None:
    """From the start of the turn on nothing is taken out, whatever it is."""
    for window in (STRICT, DIALOGUE, ELIDE, Window("strict", "elide")):
        found = cut("uCrauCrmict", window)
        assert found.turn == 4
        assert max(found.gone, default=0) < 4
        assert all(index < 4 for index in (*found.trimmed, *found.emptied))


def test_what_is_not_said_is_left_out_of_what_was() -> None:
    """Calls, results and thinking go from beside the words that stay."""
    found = cut("ucmtau", DIALOGUE)
    assert found.trimmed == {n: (("messages", n, *OTHER),) for n in (1, 2, 3)}
    assert not found.emptied
    assert (found.at, found.inside) == (5, True)


def test_pairs_stay_without_their_content() -> None:
    """Elided, a call and its result are there, and nothing of what was given or found."""
    found = cut("uCrau", ELIDE)
    assert not found.gone
    assert not found.trimmed
    assert found.emptied == {
        1: ((("messages", 1, *WORDS, "input"), Form.OBJECT),),
        2: ((("messages", 2, *WORDS, "content"), Form.RESULT),),
    }


def test_pairs_stay_without_words_where_only_the_turn_is_shown() -> None:
    """Strict and elided: the pairs alone, and what was said beside them goes."""
    found = cut("ucmau", Window("strict", "elide"))
    assert found.gone == {0, 3}
    assert found.trimmed == {n: (("messages", n, *WORDS),) for n in (1, 2)}


@pytest.mark.parametrize("calls", [("rm -rf",), ("write",), ("x" * 49,)])
def test_pairs_of_tools_that_are_not_granted_or_not_safe_go(calls: tuple[str, ...]) -> None:
    """The name of a call is shown only where it may be told."""
    assert shown("uCrau", ELIDE, calls=calls) == "uau"


def test_half_a_pair_goes() -> None:
    """A call without its result, and a result without its call."""
    assert shown("uCau", ELIDE) == "uau"
    orphan = history("urau")
    assert plan(orphan, ELIDE).gone == {1}  # type: ignore[union-attr]


def test_pairs_without_ids_are_told_by_their_place() -> None:
    """Where calls have no ids, the result at a place answers the call at the same place."""
    seen = history("uCrau")
    bare = [
        structs.replace(m, halves=tuple(structs.replace(half, call="") for half in m.halves))
        for m in seen.messages
    ]
    found = plan(structs.replace(seen, messages=tuple(bare)), ELIDE)
    assert found is not None
    assert {*found.emptied} == {1, 2}
    uneven = structs.replace(bare[1], calls=bare[1].calls * 2)
    bare[1] = uneven
    assert plan(structs.replace(seen, messages=tuple(bare)), ELIDE).gone == {1, 2}  # type: ignore[union-attr]


def test_several_calls_in_one_member_go_and_stay_one_by_one() -> None:
    """Where a list holds the calls, it stays for the one that does, and the others leave it."""
    seen = history("uCrau")
    call = seen.messages[1].halves[0]
    first = structs.replace(
        call, holder=("calls",), way=("calls", 0), emptied=("calls", 0, "given")
    )
    second = structs.replace(first, call="lost", way=("calls", 1), emptied=("calls", 1, "given"))
    message = structs.replace(seen.messages[1], beside=(("calls",),), halves=(first, second))
    messages = (seen.messages[0], message, *seen.messages[2:])
    found = plan(structs.replace(seen, messages=messages), ELIDE)
    assert found is not None
    assert found.trimmed == {1: (("messages", 1, "calls", 1),)}
    assert found.emptied[1] == ((("messages", 1, "calls", 0, "given"), Form.OBJECT),)


def test_what_is_exchanged_is_not_left_out_besides() -> None:
    """A part that nobody knows goes with the content in which it stands."""
    seen = history("uCrau")
    inside = (*WORDS, "content", 3)
    message = structs.replace(seen.messages[2], beside=(WORDS, inside))
    found = plan(
        structs.replace(seen, messages=(*seen.messages[:2], message, *seen.messages[3:])), ELIDE
    )
    assert found is not None
    assert not found.trimmed


def test_what_came_with_a_user_first_leaves_with_a_user_first() -> None:
    """Where nothing is left of the first words, what answers them goes, too."""
    assert shown("iauau", DIALOGUE) == "uau"
    assert shown("aau", DIALOGUE) == "aau"


def test_the_model_does_not_come_first_where_what_let_it_does_not_leave() -> None:
    """A history may begin with what a model has summed up, and what it said beside that; of a model
    that simply spoke first the words stay."""
    seen = history("auau")
    first, *rest = seen.messages
    led = structs.replace(first, texts=(OTHER,), beside=(WORDS,))
    found = plan(structs.replace(seen, messages=(led, *rest)), DIALOGUE)
    assert found is not None
    assert (found.gone, found.trimmed) == ({0}, {})
    assert cut("auau", DIALOGUE).gone == frozenset()


def test_texts_with_words_of_others_in_them_go() -> None:
    """A text in which a span is marked as others' is none of the operator's in a later turn."""
    seen = history("uauau")
    span = Unit(("messages", 2, *WORDS, "text"), "a file", "tool:", message=2, span=(0, 3))
    assert plan(structs.replace(seen, units=(span,)), DIALOGUE).gone == {2}  # type: ignore[union-attr]
    for other in (
        structs.replace(span, message=4),
        structs.replace(span, address=("messages", 2, "name")),
    ):
        assert plan(structs.replace(seen, units=(other,)), DIALOGUE) == plan(seen, DIALOGUE)


def test_what_may_only_stand_between_cannot_always_stand() -> None:
    """A grant that needs its neighbours is not moved: where they go, nothing leaves."""
    assert shown("ubau", DIALOGUE) == "ubau"
    assert plan(history("ubau"), STRICT) is None
    assert plan(history("ubCu"), DIALOGUE) is None


@pytest.mark.parametrize(
    ("turns", "left"), [(None, "suauau"), (2, "suauau"), (1, "suau"), (0, "su"), (9, "suauau")]
)
def test_as_many_turns_are_heard_as_the_window_has(turns: int | None, left: str) -> None:
    """The newest of the earlier turns stay."""
    assert shown("suauau", Window("dialogue", turns=turns)) == left


def test_names_are_those_of_results_that_do_not_leave() -> None:
    """In order, each once, from the call where the result has none."""
    seen = history("uCrCrCrauCr", calls=("b", "a", "b", "c"))
    assert names_of(seen, plan(seen, STRICT)) == ("b", "a")  # type: ignore[arg-type]
    mute = structs.replace(
        seen, messages=tuple(structs.replace(m, calls=()) for m in seen.messages)
    )
    assert names_of(mute, plan(mute, STRICT)) == ("b", "a")  # type: ignore[arg-type]
    elided = history("uCrau")
    assert names_of(elided, plan(elided, ELIDE)) == ()  # type: ignore[arg-type]


@given(st.text("uiacCrmtg", max_size=12), st.text("acCrmt", max_size=8))
def test_cut_moves_only_at_a_turn(before: str, within: str) -> None:
    """Whatever a turn comes to, what is cut for it stays the same."""
    letters = f"u{before}au"
    turn = history(letters).turn
    longer = history(letters + within.replace("u", ""))
    if longer.turn != turn:
        return
    for window in (STRICT, DIALOGUE, ELIDE, Window("dialogue", turns=1)):
        first, later = plan(history(letters), window), plan(longer, window)
        assert first == later


def from_home(letters: str, window: Window, *home: int) -> Cut:
    found = plan(structs.replace(history(letters), home=frozenset(home)), window)
    assert found is not None
    return found


def test_of_what_was_said_at_home_one_line_stays() -> None:
    """In a dialogue, once for answers in a row; where nothing was said, or only the turn is shown,
    none. What was called there and what that found goes, and what was said elsewhere stays."""
    found = from_home("uacrcrauau", DIALOGUE, 2, 4, 6)
    assert (found.home, found.gone) == ({2}, {3, 4, 5, 6})
    assert not found.trimmed.keys() & {2, 4, 6}
    assert found.cuts
    assert from_home("uCrau", DIALOGUE, 1).home == frozenset()
    assert from_home("uauau", DIALOGUE, 1, 3).home == {1, 3}
    for strategy in ("drop", "elide"):
        strict = from_home("uacrcrauau", Window("strict", strategy), 2, 4, 6)
        assert (strict.home, strict.gone) == (frozenset(), frozenset(range(9)))


def test_calls_that_were_made_at_home_do_not_stay_emptied() -> None:
    """Nor what they found; whether results name the call that they answer or not."""
    found = from_home("ucrCrau", ELIDE, 3)
    assert found.emptied.keys() == {1, 2}
    assert found.gone == {3, 4}
    seen = structs.replace(history("ucCrrau"), home=frozenset({2}))
    halves = [
        structs.replace(m, halves=tuple(structs.replace(h, call="") for h in m.halves))
        for m in seen.messages
    ]
    unnamed = plan(structs.replace(seen, messages=tuple(halves)), ELIDE)
    assert unnamed is not None
    assert not unnamed.emptied
    assert unnamed.gone == {2, 3, 4}
