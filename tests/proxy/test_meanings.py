"""What a profile means for a client."""

import pytest

from proxy import leaving
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


def test_what_becomes_of_the_rest_is_said_where_something_is_cut() -> None:
    """Emptied, or all of it at home; left out needs no word, and where all leaves there is none."""
    for strategy, word in (("elide", "emptied"), ("home", "stays home"), ("drop", "")):
        lines = meaning(Leaving("dialogue", "balanced", (), strategy), "agent").lines()
        assert [word in line for line in lines[1:-1]] == ([True] if word else [])
    assert len(meaning(Leaving("off", "relay", (), "home"), "agent").lines()) == 2
    told_home = Leaving("dialogue", "balanced", (), "home")
    assert leaving.told(told_home.facts()) == told_home
