"""Which refusals home may answer."""

from dataclasses import replace
from typing import Any, cast

import pytest

from policies.decision import Leg
from policies.settings import Egress, Policies
from proxy.config import Config, Fallback, UpstreamSettings
from proxy.endpoint_table import TABLE, Treatment
from proxy.errors import Refused
from proxy.stay import ENDPOINTS, KEPT, Stay

HOME = UpstreamSettings("home", Leg.LOCAL, "http://127.0.0.1:1", ("ollama",), "none", None, "m")


class _Admitted:
    """As much of a request as is asked for here."""

    def __init__(self, path: str) -> None:
        row = next(each for each in TABLE if each.path == path)
        self.match = type("Match", (), {"endpoint": row})


def stay(path: str = "/v1/messages", **changes: Any) -> Stay:
    config = replace(Config(upstreams=(HOME,), fallback=Fallback("home")), **changes)
    none = cast(Any, None)
    return Stay(config, none, none, none, cast(Any, _Admitted(path)), none)


@pytest.mark.parametrize("code", sorted(KEPT))
def test_what_must_not_leave_is_answered_at_home(code: str) -> None:
    """Each of them, where a cloud was asked."""
    assert stay().instead(Refused(code), Leg.CLOUD) == HOME
    assert stay().instead(Refused(code), Leg.LOCAL) is None


@pytest.mark.parametrize("code", ["body-invalid", "rate-hard", "framing-failed", "turn-limit"])
def test_what_is_wrong_with_the_request_itself_is_not(code: str) -> None:
    """Home would do no better."""
    assert stay().instead(Refused(code), Leg.CLOUD) is None


def test_a_client_that_leans_on_the_cloud_is_told_so() -> None:
    """It sends everything again; then home may answer."""
    no = Refused("egress-ambiguous", held="previous_response_id")
    assert stay().instead(no, Leg.CLOUD) is None


def test_the_owner_may_have_it_refused() -> None:
    """`on_hit = "refuse"`, or no model; `observe` keeps home what it does not let go."""
    no = Refused("egress-blocked")
    for on_hit, found in (("refuse", None), ("observe", HOME), ("home", HOME)):
        policies = Policies(egress=Egress(on_hit=on_hit))  # type: ignore[arg-type]
        assert stay(policies=policies).instead(no, Leg.CLOUD) == found
    assert stay(fallback=Fallback("away")).instead(no, Leg.CLOUD) is None
    assert stay(upstreams=(replace(HOME, model=""),)).instead(no, Leg.CLOUD) is None


def test_home_answers_conversations_and_counts() -> None:
    """Every endpoint that is named is one of these; of the others the refusal stands."""
    asked = {row.path: row.treatment for row in TABLE if row.method == "POST"}
    for path in ENDPOINTS:
        assert asked[path] in (Treatment.CONVERSATION, Treatment.COUNT)
    assert stay("/v1/embeddings").instead(Refused("egress-blocked"), Leg.CLOUD) is None
