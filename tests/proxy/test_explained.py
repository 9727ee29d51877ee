"""The shape of what `explain` tells."""

import json

from policies.decision import Finding, Leg
from proxy.explained import Told


def test_each_verdict_reads_and_parses() -> None:
    """Refused, blocked, sent: verdict, notice and whether anything goes, in both shapes."""
    told = Told()
    told.refused("no-route", "[no-route] words")
    assert (told.goes, json.loads(told.as_json())["notice"]) == (False, "no-route")
    assert "notice   [no-route] words" in told.as_text()
    told = Told(leg=Leg.CLOUD)
    told.blocked("egress-blocked", "words", (Finding("k", "messages[0]"),))
    assert not told.goes
    assert json.loads(told.as_json())["findings"] == [{"kind": "k", "place": "messages[0]"}]
    assert "found    k at messages[0]" in told.as_text()
