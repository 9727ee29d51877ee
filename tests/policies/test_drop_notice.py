"""What a model is told of turns that it is not shown."""

import pytest

from policies.drop_notice import OPENING, build_drop_notice, is_safe
from policies.turn_minimal import is_notice

PLAIN = (
    "[dropped history — 2 earlier message(s) were dropped from this window at iteration 4 by the"
    " 'strict' window strategy. Nothing was summarized: those turns are simply not being re-sent."
    " The client still holds them in its own history.]"
)


def notice(*names: str, granted: tuple[str, ...] | None = None, spared: int | None = None) -> str:
    return build_drop_notice(
        count=2,
        iteration=4,
        strategy="strict",
        names=names,
        granted=names if granted is None else granted,
        spared=spared,
    )


def test_words() -> None:
    """Counts and our own words, and nothing that is not so."""
    assert notice() == PLAIN
    assert PLAIN.startswith(OPENING)
    assert "commit log" not in PLAIN
    assert is_notice(PLAIN)


def test_drop_notice_prints_only_granted_safe_names() -> None:
    """A name of another shape, or of a tool that is not granted now, is left out as a whole."""
    names = ("lookup", "look up", "lookup\n", "a" * 49, "", "TRANSOM_DATA", "gone", "mcp__x.y:z-1")
    told = notice(*names, granted=tuple(name for name in names if name != "gone"))
    assert "(lookup, mcp__x.y:z-1)" in told
    assert is_notice(told)
    assert notice("gone", "look up", granted=("look up",)) == PLAIN


def test_four_names_are_shown_each_once_in_order() -> None:
    """Filtered before they are counted; an ellipsis stands for the rest."""
    assert "(d, b, a, c) —" in notice("d", "b", "d", "a", "c")
    told = notice("e!", "d", "b", "a", "c", "e")
    assert "(d, b, a, c, …) —" in told
    assert is_notice(told)


@pytest.mark.parametrize(("spared", "left"), [(10_000, "(lookup)"), (300, PLAIN), (120, "")])
def test_names_go_before_the_notice_does(spared: int, left: str) -> None:
    """A notice is shorter than what was dropped, or it is not there."""
    told = notice("lookup", spared=spared)
    assert left in told
    assert (told == "") is (left == "")


def test_one_that_is_needed_is_there_however_long() -> None:
    """Where a message of a user has to come first it is never left out."""
    assert notice("lookup", spared=None)


@pytest.mark.parametrize(
    "text", ["", PLAIN + " ", PLAIN.replace("2", "0"), "[dropped history — x]"]
)
def test_anything_else_is_no_notice(text: str) -> None:
    """The proof knows the form by itself."""
    assert not is_notice(text)


def test_safe_names() -> None:
    """As a whole, and without the stem of the markers."""
    assert is_safe("a.B-c:d_1")
    assert not any(map(is_safe, ("", "a\n", "ä", "a b", "xTRANSOM_DATAx")))
