"""What a profile means for a client."""

import pytest

from proxy.clients import recipes
from proxy.leaving import Leaving
from proxy.meanings import MEANINGS, meaning


def test_every_mode_means_something_for_every_client() -> None:
    """However it works."""
    for by_kind in MEANINGS.values():
        for recipe in recipes():
            assert by_kind[recipe.works]


@pytest.mark.parametrize(("mode", "profile"), [("off", "relay"), ("dialogue", ""), ("strict", "")])
def test_the_profile_is_named_where_it_is_why(mode: str, profile: str) -> None:
    """A written mode is named instead; the others are offered."""
    told = meaning(Leaving(mode, profile), "agent")
    assert told.facts()["mode"] == mode
    assert len(told.others) == 2
    first = told.lines()[0]
    assert ("profile relay" in first) is bool(profile)
    assert (f'minimality.mode = "{mode}"' in first) is not bool(profile)


def test_routes_that_differ_are_named() -> None:
    """Each with its mode, for people and as data."""
    told = meaning(Leaving("off", "relay", (("models gpt-*", "strict"),)), "chat")
    assert "For models gpt-* it is strict." in told.lines()
    assert told.facts()["routes"] == [{"route": "models gpt-*", "mode": "strict"}]
