"""A refusal goes home by its own code, facts and endpoint."""

from typing import Any, cast

import pytest

from policies.decision import Leg
from proxy.config import Config, Fallback, UpstreamSettings
from proxy.endpoint_table import TABLE
from proxy.errors import Refused
from proxy.stay import Stay

HOME = UpstreamSettings("home", Leg.LOCAL, "http://127.0.0.1:1", ("ollama",), "none", None, "m")


def stay(path: str) -> Stay:
    row = next(each for each in TABLE if each.path == path)
    admitted = type("Admitted", (), {"match": type("Match", (), {"endpoint": row})})
    none = cast(Any, None)
    return Stay(
        Config(upstreams=(HOME,), fallback=Fallback("home")), none, none, none, admitted, none
    )


@pytest.mark.parametrize(
    ("path", "no", "home"),
    [
        ("/v1/messages", Refused("egress-blocked"), HOME),
        ("/v1/messages", Refused("body-invalid"), None),
        ("/v1/responses", Refused("egress-ambiguous", held="previous_response_id"), None),
        ("/v1/embeddings", Refused("egress-blocked"), None),
    ],
)
def test_home_answers_by_what_the_refusal_says(
    path: str, no: Refused, home: UpstreamSettings | None
) -> None:
    """What leans on the cloud is told so, and elsewhere than where home has an answer it stands."""
    assert stay(path).instead(no, Leg.CLOUD) == home
    assert stay(path).instead(no, Leg.LOCAL) is None
