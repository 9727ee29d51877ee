"""Plans of cuts are remembered for the very same history, and for nothing else."""

from msgspec.structs import replace

from policies.conversation import Unit
from policies.cut import Window
from policies.minimality import plan
from proxy.plans import Plans
from tests.policies.histories import WORDS, history

DIALOGUE = Window("dialogue")


def test_the_same_history_is_planned_once() -> None:
    """Whatever the turn comes to, and as `plan` would."""
    plans = Plans()
    for letters in ("ucrau", "ucrauCr", "ucrauCrCr"):
        assert plans(history(letters), DIALOGUE) == plan(history(letters), DIALOGUE)
    assert plans.asked == 1


def test_anything_else_is_planned_anew() -> None:
    """Another window, another history, other tools, and first words in another place."""
    plans = Plans()
    seen = history("ucrau")
    for other in (seen, history("uCrau"), history("ucrau", tools=()), history("ucragu")):
        for window in (DIALOGUE, Window("strict"), Window("dialogue", "elide")):
            assert plans(other, window) == plan(other, window)
    assert plans.asked == 12
    assert plans(history("ubau"), Window("strict")) is None
    assert plans(history("ubau"), Window("strict")) is None
    assert plans.asked == 13


def test_marked_spans_are_looked_at_each_time() -> None:
    """They belong to no message, and may be marked otherwise in another conversation."""
    plans = Plans()
    seen = history("uauau")
    span = Unit(("messages", 2, *WORDS, "text"), "a file", "tool:", message=2, span=(0, 3))
    assert plans(seen, DIALOGUE) != plans(replace(seen, units=(span,)), DIALOGUE)
    assert plans.asked == 1


def test_what_home_has_said_is_planned_for_itself() -> None:
    """The same history is cut otherwise once it is known whose answers are in it."""
    plans = Plans()
    seen = history("uauau")
    for home in (frozenset[int](), frozenset({1}), frozenset({1, 3})):
        cut = plans(replace(seen, home=home), DIALOGUE)
        assert cut is not None
        assert cut.home == home
    assert plans.asked == 3
