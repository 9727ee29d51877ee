"""How much leaves, told by a node and read by whoever asks it."""

from dataclasses import replace

import pytest

from policies.settings import Minimality, Policies
from proxy.config import Config, RouteSettings
from proxy.leaving import Leaving, leaving, told

ROUTES = (
    RouteSettings("gpt-*", "lap*", "", "u", "strict"),
    RouteSettings("", "", "", "u", "dialogue"),
    RouteSettings("x", "", "", "u", "off"),
    RouteSettings("y", "", "", "u"),
)


def config(mode: str, *routes: RouteSettings) -> Config:
    policies = Policies(minimality=Minimality(mode))  # type: ignore[arg-type]
    return replace(Config(policies=policies, profile="relay"), routes=routes)


@pytest.mark.parametrize(("mode", "profile"), [("off", "relay"), ("dialogue", ""), ("strict", "")])
def test_the_profile_is_named_where_it_is_why(mode: str, profile: str) -> None:
    """A written mode is named instead."""
    assert leaving(config(mode)) == Leaving(mode, profile)


def test_routes_that_differ_are_named() -> None:
    """By what they match; those that have the same mode are not."""
    assert leaving(config("off", *ROUTES)).routes == (
        ("models gpt-* and clients lap*", "strict"),
        ("all other requests", "dialogue"),
    )


@pytest.mark.parametrize("mode", ["off", "dialogue"])
def test_what_is_told_is_read_as_it_was(mode: str) -> None:
    """Facts come back whole; what is none of this version's is no fact."""
    held = leaving(config(mode, *ROUTES))
    assert told(held.facts()) == held
    assert told({**held.facts(), "routes": None}) == replace(held, routes=())
    for other in (None, {}, [], {"mode": "brand-new"}):
        assert told(other) is None
