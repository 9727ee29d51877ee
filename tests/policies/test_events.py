"""Events: a kind, what it is about, and facts that nobody can change afterwards."""

import pytest

from policies.decision import Decision, Leg
from policies.events import Event


def test_an_event_is_about_the_session_unless_it_names_a_message() -> None:
    """The default place is the request itself, and the default facts are none and stay none."""
    event = Event("rate-soft")
    assert (event.at, dict(event.facts)) == (-1, {})
    with pytest.raises(TypeError):
        event.facts["tool"] = "x"  # type: ignore[index]


def test_a_decision_has_no_events_unless_a_policy_says_so() -> None:
    """A clean request costs the recorder nothing."""
    assert Decision(Leg.CLOUD).events == ()
