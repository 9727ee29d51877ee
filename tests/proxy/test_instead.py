"""Which refusals home may answer."""

from dataclasses import replace
from typing import Any

import pytest

from policies.decision import Leg
from policies.settings import Egress, Policies
from proxy.config import Config, Fallback, UpstreamSettings
from proxy.endpoint_table import TABLE, Treatment
from proxy.instead import ENDPOINTS, KEPT, instead

HOME = UpstreamSettings("home", Leg.LOCAL, "http://127.0.0.1:1", ("ollama",), "none", None, "m")


def answers(
    code: str,
    path: str = "/v1/messages",
    *,
    leg: Leg = Leg.CLOUD,
    held: bool = False,
    **changes: Any,
) -> UpstreamSettings | None:
    config = replace(Config(upstreams=(HOME,), fallback=Fallback("home")), **changes)
    return instead(config, code, leg=leg, path=path, held=held)


@pytest.mark.parametrize("code", sorted(KEPT))
def test_what_must_not_leave_is_answered_at_home(code: str) -> None:
    """Each of them, where a cloud was asked."""
    assert answers(code) == HOME
    assert answers(code, leg=Leg.LOCAL) is None


@pytest.mark.parametrize("code", ["body-invalid", "rate-hard", "framing-failed", "turn-limit"])
def test_what_is_wrong_with_the_request_itself_is_not(code: str) -> None:
    """Home would do no better."""
    assert answers(code) is None


def test_a_client_that_leans_on_the_cloud_is_told_so() -> None:
    """It sends everything again; then home may answer."""
    assert answers("egress-ambiguous", held=True) is None


def test_the_owner_may_have_it_refused() -> None:
    """`on_hit = "refuse"`, or no model; `observe` keeps home what it does not let go."""
    for on_hit, found in (("refuse", None), ("observe", HOME), ("home", HOME)):
        policies = Policies(egress=Egress(on_hit=on_hit))  # type: ignore[arg-type]
        assert answers("egress-blocked", policies=policies) == found
    assert answers("egress-blocked", fallback=Fallback("away")) is None
    assert answers("egress-blocked", upstreams=(replace(HOME, model=""),)) is None


def test_home_answers_conversations_and_counts() -> None:
    """Every endpoint that is named is one of these; of the others the refusal stands."""
    asked = {row.path: row.treatment for row in TABLE if row.method == "POST"}
    for path in ENDPOINTS:
        assert asked[path] in (Treatment.CONVERSATION, Treatment.COUNT)
    assert answers("egress-blocked", "/v1/embeddings") is None
