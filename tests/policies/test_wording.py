"""Facts as they may be shown."""

from policies.decision import Finding
from policies.wording import FACT_LENGTH, at_home, one_line, summary


def test_a_fact_is_one_line_and_not_long() -> None:
    """Line ends and marks of direction go, and the rest is cut."""
    assert one_line("a\n\u202eb  c") == "a b c"
    assert len(one_line("x" * 999)) == FACT_LENGTH


def test_of_several_findings_the_first_is_named() -> None:
    """And how many others there are."""
    found = tuple(Finding(kind, "p") for kind in "aabc")
    assert summary(found) == {"kinds": "a and 2 more", "places": "p"}


def test_an_answer_from_home_says_why_and_who() -> None:
    """On a line of its own, before what the model says."""
    assert at_home("[code] Why.", "qwen3:8b") == "[code] Why. Answered here, by qwen3:8b."
