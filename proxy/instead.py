"""Which refusals home may answer in place of a cloud, and where it has an answer.

Owns that rule, for requests that come in and for those that are only explained. It must not know
how home finds its answer.
"""

from typing import Final

from policies.decision import Leg
from proxy.config import Config, UpstreamSettings

KEPT: Final = frozenset(
    {
        "egress-ambiguous", "egress-blocked", "home-only", "not-minimal", "proof-failed",
        "secrets-unreadable",
    }
)  # fmt: skip
"""Refusals of what must not leave. Others are about the request itself, and home would not do
better."""

ENDPOINTS: Final = frozenset(
    {
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/chat/completions",
        "/v1/responses",
        "/v1/responses/input_tokens",
        "/api/chat",
    }
)
"""Where home has an answer."""


def instead(
    config: Config, code: str, *, leg: Leg, path: str, held: bool
) -> UpstreamSettings | None:
    """Who answers in place of the refusal `code`; None where it stands. `leg` was to be taken to
    the endpoint `path`; `held`: the request leans on what the cloud holds, and a client sends all
    of it again when it is told."""
    stands = leg is not Leg.CLOUD or code not in KEPT or config.policies.egress.on_hit == "refuse"
    return None if stands or held or path not in ENDPOINTS else config.home
