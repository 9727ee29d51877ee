"""The log lines of one request."""

import io
import json
from typing import Any

import pytest

from policies.decision import Decision, Finding, Leg, Refusal, Screened
from proxy import logs
from proxy.errors import Refused
from proxy.journal import Line
from proxy.log_fields import LONGEST_LIST

FOUND = (Finding("nsec", "messages[0].content"), Finding("nsec", "messages[2].content"))


@pytest.fixture
def log() -> io.StringIO:
    stream = io.StringIO()
    logs.set_up(stream, json=True)
    return stream


def lines(log: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


def line() -> Line:
    ticks = iter(range(100))
    return Line.begin("req-1", lambda: float(next(ticks)))


def test_one_line_per_request_with_what_is_known(log: io.StringIO) -> None:
    """Fields gather; empty ones are left out; time is counted from the beginning."""
    about = line()
    about.know(client="", leg="cloud", status=200, bytes_in=0)
    about.decided(Decision(Leg.CLOUD, screened=Screened(frozenset())))
    about.end(bytes_out=7)
    (told,) = lines(log)
    assert told["event"] == "request"
    assert (told["request"], told["leg"], told["status"]) == ("req-1", "cloud", 200)
    assert (told["bytes_in"], told["bytes_out"], told["ms"]) == (0, 7, 1000.0)
    assert (told["verdict"], told["frames"]) == ("allow", 0)
    assert "client" not in told


def test_what_is_blocked_is_an_error_with_kinds_and_places(log: io.StringIO) -> None:
    """Kinds once each, every place, the notice; the last line knows the verdict."""
    about = line()
    about.decided(Decision(Leg.CLOUD, refusal=Refusal("egress-blocked", FOUND)))
    about.refused(Refused("egress-blocked", findings=FOUND), 400)
    about.end(bytes_out=1)
    blocked, told = lines(log)
    assert (blocked["event"], blocked["level"]) == ("egress_blocked", "error")
    assert blocked["kinds"] == ["nsec"]
    assert blocked["places"] == ["messages[0].content", "messages[2].content"]
    assert (told["verdict"], told["notice"], told["status"]) == ("block", "egress-blocked", 400)


def test_what_is_only_watched_or_adopted_has_a_line_of_its_own(log: io.StringIO) -> None:
    """Observed findings warn; adopted units are counted and named in the answer's headers."""
    about = line()
    about.know(leg="cloud")
    screened = Screened(frozenset())
    about.decided(Decision(Leg.CLOUD, adopted=3, observed=FOUND, screened=screened))
    observed, adopted = lines(log)
    assert (observed["event"], observed["level"]) == ("egress_observed", "warning")
    assert (adopted["notice"], adopted["times"]) == ("adopted", 3)
    assert about.headers() == [
        ("x-transom-leg", "cloud"),
        ("x-transom-request", "req-1"),
        ("x-transom-notice", "adopted"),
    ]


def test_what_is_noted_is_told_by_kind_and_place(log: io.StringIO) -> None:
    """One line for hidden characters, one for forged openings, bounded; no verdict hangs on it."""
    about = line()
    about.know(leg="local")
    hidden = tuple(Finding("tag", f"messages[{n}].content", "unicode") for n in range(100))
    forged = Finding("drop_notice", "messages[1].content", "opening")
    about.decided(Decision(Leg.LOCAL, noted=(*hidden, forged)))
    opening, characters = lines(log)
    assert (opening["notice"], opening["level"], opening["times"]) == ("forged-opening", "info", 1)
    assert (opening["kinds"], opening["places"]) == (["drop_notice"], ["messages[1].content"])
    assert (characters["notice"], characters["level"]) == ("hidden-characters", "warning")
    assert (characters["kinds"], characters["times"]) == (["tag"], 100)
    assert len(characters["places"]) == LONGEST_LIST
    assert ("x-transom-notice", "hidden-characters") in about.headers()
    assert "verdict" not in characters


def test_a_local_leg_has_no_verdict(log: io.StringIO) -> None:
    """Nothing was screened, so nothing is said about it."""
    about = line()
    about.decided(Decision(Leg.LOCAL))
    about.end(bytes_out=0)
    assert "verdict" not in lines(log)[0]


def test_other_refusals_and_breaks_are_notices(log: io.StringIO) -> None:
    """The severity is the catalogue's; a doubled base URL and a failure of ours are told too."""
    about = line()
    about.refused(Refused("no-route"), 404)
    about.broke("upstream-timeout")
    about.forgiven()
    about.failed(RuntimeError("not to be told"))
    told = lines(log)
    assert [(each["event"], each["level"]) for each in told] == [
        ("notice", "warning"),
        ("notice", "error"),
        ("notice", "warning"),
        ("notice", "error"),
    ]
    assert told[3]["error"] == ["RuntimeError"]
    assert "not to be told" not in log.getvalue()
