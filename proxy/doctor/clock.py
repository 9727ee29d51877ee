"""Whether the clock is right: tokens, certificates and times of rest lean on it.

Owns that look. The other clock is that of a cloud upstream: one HEAD request without a body and
without a credential, which runs no model.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Final

from policies.decision import Leg
from policies.prove import nothing_to_prove
from proxy.config import Config, Timeouts, UpstreamSettings
from proxy.doctor import Check
from proxy.errors import Refused
from proxy.upstream import Outbound

MADE: Final = 1_795_910_400.0
"""2026-11-29, in seconds since 1970: no clock that is right shows an earlier time to this code."""

APART: Final = 120.0
"""Seconds that two clocks may differ; a request under way explains a few."""

_PATIENCE: Final = 10.0


async def examine(config: Config, now: Callable[[], float] = time.time) -> Check:
    """The first cloud upstream that tells the time decides; without one, only a clock that stands
    before this version was made is known to be wrong."""
    if now() < MADE:
        return Check("clock", "wrong", "stands before this version was made; set the time")
    limits = Timeouts(min(config.timeouts.connect, _PATIENCE), _PATIENCE, _PATIENCE)
    async with Outbound(limits, tailnet=config.tailnet) as outbound:
        for upstream in config.upstreams:
            if upstream.leg is not Leg.CLOUD:
                continue
            # SECURITY: asking for the time shows nobody's key.
            shown = await _asked(outbound, replace(upstream, auth="none", key=None))
            if shown is not None:
                return _compared(now() - shown, upstream.name)
    return Check("clock", "skipped", "no cloud upstream told the time to compare it with")


def _compared(ahead: float, name: str) -> Check:
    if abs(ahead) <= APART:
        return Check("clock", "fine", f"agrees with that of {name}")
    word = "ahead of" if ahead > 0 else "behind"
    return Check("clock", "wrong", f"is {abs(ahead):.0f} s {word} that of {name}; set the time")


async def _asked(outbound: Outbound, upstream: UpstreamSettings) -> float | None:
    try:
        answer = await outbound.send_cloud(
            upstream,
            method="HEAD",
            path="/",
            query="",
            headers=(),
            credentials=(),
            family=upstream.dialects[0],
            cleared=nothing_to_prove(),
        )
    except Refused:
        return None
    answer.close()
    dates = [value for name, value in answer.headers if name.lower() == "date"]
    try:
        return parsedate_to_datetime(dates[0]).timestamp() if dates else None
    except ValueError:
        return None
