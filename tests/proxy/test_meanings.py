"""What a profile means for a client."""

from dataclasses import replace

import pytest

from policies.settings import Minimality, Policies
from proxy.clients import recipes
from proxy.config import Config, RouteSettings
from proxy.meanings import MEANINGS, meaning


def config(mode: str, *routes: RouteSettings) -> Config:
    policies = Policies(minimality=Minimality(mode))  # type: ignore[arg-type]
    return replace(Config(policies=policies), routes=routes)


def test_every_mode_means_something_for_every_client() -> None:
    """However it works."""
    for by_kind in MEANINGS.values():
        for recipe in recipes():
            assert by_kind[recipe.works]


@pytest.mark.parametrize(("mode", "profile"), [("off", "relay"), ("dialogue", ""), ("strict", "")])
def test_the_profile_is_named_where_it_is_why(mode: str, profile: str) -> None:
    """A written mode is named instead."""
    told = meaning(config(mode), "relay", "agent")
    assert (told.mode, told.profile) == (mode, profile)
    assert len(told.others) == 2
    first = told.lines()[0]
    assert ("profile relay" in first) is bool(profile)
    assert (f'minimality.mode = "{mode}"' in first) is not bool(profile)


def test_routes_that_differ_are_named() -> None:
    """By what they match; those that have the same mode are not."""
    routes = (
        RouteSettings("gpt-*", "lap*", "", "u", "strict"),
        RouteSettings("", "", "", "u", "dialogue"),
        RouteSettings("x", "", "", "u", "off"),
        RouteSettings("y", "", "", "u"),
    )
    told = meaning(config("off", *routes), "relay", "chat")
    assert told.routes == (
        ("models gpt-* and clients lap*", "strict"),
        ("all other requests", "dialogue"),
    )
    assert "For all other requests it is dialogue." in told.lines()
    assert told.facts()["routes"] == [
        {"route": "models gpt-* and clients lap*", "mode": "strict"},
        {"route": "all other requests", "mode": "dialogue"},
    ]
