"""Which upstream a request goes to."""

from dataclasses import replace

import pytest

from policies.decision import Leg
from policies.settings import Minimality, Policies
from proxy.config import Config, RouteSettings, UpstreamSettings
from proxy.errors import Refused
from proxy.routes import choose

CLOUD = UpstreamSettings("cloud", Leg.CLOUD, "https://a.example", ("anthropic", "openai"), "none")
OTHER = UpstreamSettings("other", Leg.CLOUD, "https://b.example", ("openai",), "none")
HOME = UpstreamSettings("home", Leg.LOCAL, "http://127.0.0.1:1", ("ollama",), "none")
CONFIG = Config(
    upstreams=(CLOUD, OTHER, HOME),
    routes=(
        RouteSettings("gpt-*", "", "", "other"),
        RouteSettings("*", "laptop", "openai", "other"),
        RouteSettings("", "", "anthropic", "home"),
    ),
)


@pytest.mark.parametrize(
    ("family", "model", "client", "name"),
    [
        ("openai", "gpt-6", "", "other"),
        ("openai", "GPT-6", "", "cloud"),
        ("openai", "x", "laptop", "other"),
        ("anthropic", "gpt-6", "laptop", "cloud"),
        ("ollama", "gpt-6", "", "home"),
    ],
)
def test_first_match_wins_else_the_first_that_speaks(
    family: str, model: str, client: str, name: str
) -> None:
    """Globs with case; a route to an upstream without the dialect is passed over."""
    assert choose(CONFIG, family=family, model=model, client=client).upstream.name == name


@pytest.mark.parametrize(
    ("model", "client", "mode"),
    [("gpt-6", "", "dialogue"), ("x", "laptop", "strict"), ("x", "", "dialogue")],
)
def test_a_route_has_a_mode_of_its_own(model: str, client: str, mode: str) -> None:
    """What it says beats what is said in general; strategy and cap are the same for all."""
    general = Policies(minimality=Minimality("dialogue", "elide", 9))
    config = replace(
        CONFIG,
        policies=general,
        routes=(
            RouteSettings("gpt-*", "", "", "other"),
            RouteSettings("", "laptop", "", "other", "strict"),
        ),
    )
    chosen = choose(config, family="openai", model=model, client=client)
    assert chosen.minimality == Minimality(mode, "elide", 9)  # type: ignore[arg-type]


def test_nobody_who_speaks_is_a_notice() -> None:
    """No upstream with the dialect: `no-route`, naming the dialect."""
    with pytest.raises(Refused) as refused:
        choose(replace(CONFIG, upstreams=(OTHER,)), family="ollama", model="", client="")
    assert (refused.value.code, refused.value.facts) == ("no-route", {"dialect": "ollama"})
