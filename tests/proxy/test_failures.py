"""Failures on the way out, by their name here."""

import pytest
from aiohttp.http_exceptions import BadHttpMessage

from policies.decision import Leg
from proxy.config import UpstreamSettings
from proxy.failures import gone, late, unsent

CLOUD = UpstreamSettings("u", Leg.CLOUD, "https://a.example", ("openai",), "none")
HOME = UpstreamSettings("h", Leg.LOCAL, "http://127.0.0.1:1", ("ollama",), "none")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TimeoutError("secret words"), "no connection in time"),
        (BadHttpMessage("secret words"), "what it answered is not HTTP"),
        (ConnectionResetError("secret words"), "it closed the connection before it answered"),
    ],
)
def test_the_librarys_words_are_not_passed_on(error: Exception, reason: str) -> None:
    """Code by leg, the upstream's name, a reason of ours."""
    refused = unsent(CLOUD, error)
    assert refused.code == "upstream-unreachable"
    assert refused.facts == {"upstream": "u", "reason": reason}
    assert unsent(HOME, error).code == "home-unavailable"


def test_lateness_says_what_was_waited_for() -> None:
    """One code for both legs, with the phase."""
    assert late(HOME, "first byte").facts == {"upstream": "h", "phase": " (first byte)"}
    assert late(CLOUD, "x").code == "upstream-timeout"
    assert gone(HOME, "x").code == "home-unavailable"
