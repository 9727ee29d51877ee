"""What stands in a row of the audit, and what never does."""

import io
import json

import pytest

from policies.decision import Finding
from policies.kinds import KINDS
from proxy import audit, logs
from proxy.errors import Refused

FIELDS = {
    "client": "laptop",
    "session": "abcdefabcdef",
    "dialect": "openai_chat",
    "endpoint": "/v1/chat/completions",
    "leg": "cloud",
    "upstream": "openai",
    "model": "gpt-x",
    "bytes_in": 12,
    "body": "never",
}
FOUND = (Finding("nsec", "messages[0].content"), Finding("nsec", "messages[2].content"))


def value(row: audit.Row) -> dict[str, object]:
    read = json.loads(row.value)
    assert isinstance(read, dict)
    return read


def test_a_blocked_request_has_whose_where_and_what() -> None:
    """Every field that the owner asks by."""
    row = audit.refused(b"d", FIELDS, Refused("egress-blocked", findings=FOUND), 400)
    assert value(row) == {
        "event": "blocked",
        "client": "laptop",
        "session": "abcdefabcdef",
        "dialect": "openai_chat",
        "endpoint": "/v1/chat/completions",
        "upstream": "openai",
        "model": "gpt-x",
        "bytes_in": 12,
        "status": 400,
        "notice": "egress-blocked",
        "kinds": ["nsec"],
        "places": ["messages[0].content", "messages[2].content"],
        "leg_asked": "cloud",
        "leg_taken": "",
        "trail": [],
    }
    assert (row.digest, row.code) == (b"d", "egress-blocked")
    assert row.counts == ("egress-blocked",)
    assert audit.refused(b"d", FIELDS, Refused("read-loop"), 400).counts == ()


def test_what_the_caller_can_repair_raises_no_notice() -> None:
    """It has its row, with the facts of its words."""
    row = audit.refused(b"d", {}, Refused("no-route", dialect="openai"), 404)
    assert (value(row)["event"], row.code) == ("refused", "")
    assert value(row)["trail"] == ["dialect=openai"]
    assert (value(row)["leg_asked"], value(row)["leg_taken"]) == ("", "")


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("truncated", "truncated"),
        ("cloud-while-home-up", "escalated"),
        ("egress-observed", "observed"),
        ("read-loop", "bounded"),
    ],
)
def test_what_goes_on_says_where_to(kind: str, word: str) -> None:
    """The leg that was asked, the one that was taken; kinds and places where something was found.
    No counter is its own: it is an event, and counted as that."""
    row = audit.happened(b"d", kind, FIELDS, {"turns": "3"}, FOUND, taken="local")
    told = value(row)
    assert (told["event"], told["trail"]) == (word, ["turns=3"])
    assert (told["leg_asked"], told["leg_taken"]) == ("cloud", "local")
    assert told["kinds"] == ["nsec"]
    assert "kinds" not in value(audit.happened(b"d", kind, FIELDS, {}, taken="cloud"))
    assert row.counts == ()
    assert told.get("notice", "") == KINDS[kind].notice


def test_what_went_home_says_so() -> None:
    """The leg that was asked, the one that was taken, why, and its notice."""
    no = Refused("egress-blocked", findings=tuple(FOUND))
    row = audit.diverted(b"d", FIELDS, no)
    told = value(row)
    assert (told["event"], told["leg_asked"], told["leg_taken"]) == ("diverted", "cloud", "local")
    assert (told["notice"], told["kinds"]) == ("egress-blocked", ["nsec"])
    assert (row.code, row.counts) == ("egress-blocked", ("egress-blocked", "diverted"))


def test_names_that_strangers_chose_are_kept_in_a_safe_shape() -> None:
    """Neither a field nor a fact may hold what the screen finds, nor steer a terminal."""
    logs.set_up(io.StringIO(), json=True, clean=lambda text: "secret" not in text)
    fields = {**FIELDS, "model": "a secret", "client": "x\u202ey"}
    facts = {"tool": "my secret", "why": "a\nb", "B!": "x"}
    row = audit.happened(b"d", "truncated", fields, facts, taken="cloud")
    told = value(row)
    assert (told["model"], told["client"]) == ("-", "-")
    assert told["trail"] == ["tool=-", "why=a b"]
    assert "secret" not in row.value
    logs.set_up(io.StringIO(), json=True)
    assert audit.safe({"tool": "", **{f"n{n}": "x" for n in range(99)}}).keys() < {
        f"n{n}" for n in range(99)
    }
