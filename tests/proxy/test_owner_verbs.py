"""`transom blocked`, `notices`, `sessions`, `status`: what they print and how they end."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from proxy import cli, owner_verbs
from proxy.asking import NO_NODE

ROW = {
    "id": 1,
    "at": "2023-11-14T22:13:20Z",
    "last": "2023-11-14T22:13:21Z",
    "times": 6,
    "event": "blocked",
    "notice": "egress-blocked",
    "kinds": ["nsec"],
    "places": ["messages[0].content"],
    "trail": [],
    "client": "laptop",
    "session": "abcdefabcdef",
    "leg_asked": "cloud",
    "leg_taken": "",
}
NOTICE = {
    "id": 3,
    "code": "rate-soft",
    "severity": "info",
    "says": "[rate-soft] Fast.",
    "session": "abcdefabcdef",
    "client": "",
    "first": "f",
    "last": "l",
    "times": 2,
    "acked": False,
}
SESSION = {
    "session": "abcdefabcdef",
    "client": "laptop",
    "first": "f",
    "last": "l",
    "requests": 7,
    "rounds": 3,
    "untrusted": True,
}
STATUS = {
    "ok": True,
    "url": "http://127.0.0.1:1",
    "version": "1",
    "upstreams": {"home": "local"},
    "home": {"up": True, "model": "qwen3:8b", "context": 40960, "busy": 1, "seats": 16},
    "counters": {"frames": 3},
    "notices": 1,
}


class Node:
    """Answers what it is given, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {
            "blocked": {"ok": True, "rows": [ROW]},
            "notices": {"ok": True, "rows": [NOTICE]},
            "sessions": {"ok": True, "rows": [SESSION]},
            "status": STATUS,
            "ack": {"ok": True},
            "release": {"ok": True, "marks": 5},
        }
        self.asked: list[tuple[str, Mapping[str, object]]] = []

    def __call__(self, verb: str, seconds: float = 5.0, **facts: object) -> Any:
        self.asked.append((verb, facts))
        return self.answers[verb]


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Node:
    made = Node()
    monkeypatch.setattr(owner_verbs, "ask_node", made)
    return made


@pytest.mark.parametrize(
    ("verb", "row"), [("blocked", ROW), ("notices", NOTICE), ("sessions", SESSION)]
)
def test_json_is_one_object_per_line(
    node: Node, capsys: pytest.CaptureFixture[str], verb: str, row: object
) -> None:
    """As the node has it; words go elsewhere."""
    node.answers[verb]["rows"] = [row, row]
    assert cli.run([verb, "--json"]) == 0
    printed = capsys.readouterr()
    assert [json.loads(line) for line in printed.out.splitlines()] == [row, row]
    assert printed.err == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["blocked"], "nothing was blocked, refused, cut or diverted"),
        (["blocked", "--since", "1h"], "nothing was blocked, refused, cut or diverted"),
        (["notices"], "no notice is open"),
        (["notices", "--all"], "there is nothing to tell"),
        (["sessions"], "no session was seen"),
    ],
)
def test_where_there_is_nothing_it_says_so(
    node: Node, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    """In words beside the data, of which there is none; as JSON nothing is said."""
    node.answers[arguments[0]]["rows"] = []
    assert cli.run(arguments) == 0
    assert capsys.readouterr() == ("", f"{words}\n")
    assert cli.run([*arguments, "--json"]) == 0
    assert capsys.readouterr() == ("", "")


def test_lines_for_people(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    """Number, when last, how often, what, whose, from which leg to which, kinds and places."""
    for verb in ("blocked", "notices", "sessions", "status"):
        assert cli.run([verb]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "    1 2023-11-14T22:13:21Z    6x blocked   laptop abcdefabcdef cloud>- egress-blocked"
        " nsec messages[0].content",
        "    3 l    2x info    [rate-soft] Fast. abcdefabcdef",
        "abcdefabcdef l      7 requests    3 rounds at most laptop third-party text",
        "url       http://127.0.0.1:1",
        "version   1",
        "upstream  home (local)",
        "home      qwen3:8b (up, 40960 tokens), 1 of 16 answers under way",
        "notices   1",
        "        3 frames",
    ]


def test_one_is_counted_as_one(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    """In the columns of the others."""
    node.answers["sessions"]["rows"] = [{**SESSION, "requests": 1, "rounds": 1}, SESSION]
    assert cli.run(["sessions"]) == 0
    one, more = capsys.readouterr().out.splitlines()
    assert "      1 request     1 round  at most" in one
    assert one.index("at most") == more.index("at most")


def test_a_row_without_a_leg_has_no_way(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    """What was refused before an upstream was chosen was on its way nowhere."""
    node.answers["blocked"]["rows"] = [{**ROW, "leg_asked": ""}]
    assert cli.run(["blocked"]) == 0
    assert "laptop abcdefabcdef egress-blocked nsec" in capsys.readouterr().out


def test_blocked_since(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    """A time with its unit; another is a usage error that repeats nothing."""
    assert cli.run(["blocked", "--since", "2h"]) == 0
    assert node.asked == [("blocked", {"after": 0, "within": 7200.0})]
    assert cli.run(["blocked", "--since", "canary"]) == 2
    printed = capsys.readouterr()
    assert "option --since: expected a time" in printed.err
    assert "canary" not in printed.err


def test_blocked_follow_goes_on_behind_what_it_has_shown(
    node: Node, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Until it is interrupted, or the node is gone."""
    rounds = iter([[ROW], [], [{**ROW, "id": 9}]])

    def rest(seconds: float) -> None:
        try:
            node.answers["blocked"] = {"ok": True, "rows": next(rounds)}
        except StopIteration:
            raise KeyboardInterrupt from None

    node.answers["blocked"] = {"ok": True, "rows": []}
    monkeypatch.setattr(owner_verbs.time, "sleep", rest)
    assert cli.run(["blocked", "--follow", "--json"]) == 130
    assert [facts["after"] for _, facts in node.asked] == [0, 0, 1, 1]
    assert [json.loads(line)["id"] for line in capsys.readouterr().out.splitlines()] == [1, 9]


def test_acknowledging(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    """One that is open: 0; another: 1; what is no number: 2."""
    assert cli.run(["notices", "ack", "3"]) == 0
    assert node.asked == [("ack", {"id": 3})]
    node.answers["ack"] = {"ok": False}
    assert cli.run(["notices", "ack", "4"]) == 1
    for wrong in (["ack"], ["ack", "x"], ["ack", "1", "2"], ["canary"], ["ack", "9" * 99]):
        assert cli.run(["notices", *wrong]) == 2
    assert "canary" not in capsys.readouterr().err
    assert cli.run(["notices", "--all"]) == 0
    assert node.asked[-1] == ("notices", {"all": True})


def test_releasing_a_session(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    """One that home has answered in: 0; another: 1; what is no session: 2."""
    assert cli.run(["sessions", "release", "abcdefabcdef"]) == 0
    assert node.asked == [("release", {"id": "abcdefabcdef"})]
    node.answers["release"] = {"ok": True, "marks": 0}
    assert cli.run(["sessions", "release", "abcdefabcdef"]) == 1
    for wrong in (["release"], ["release", "canary"], ["canary"], ["release", "A" * 12]):
        assert cli.run(["sessions", *wrong]) == 2
    assert "canary" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("home", "said"),
    [
        (None, "none: what must not leave is refused"),
        ({"up": False, "model": "m", "context": 0, "busy": 0, "seats": 16}, "m (down), 0 of 16"),
        ({"up": None, "model": "m", "context": 0, "busy": 0, "seats": 16}, "m (not asked), 0"),
    ],
)
def test_how_home_is(node: Node, capsys: pytest.CaptureFixture[str], home: Any, said: str) -> None:
    """None, down, or of a kind that tells nothing."""
    node.answers["status"] = {**STATUS, "home": home}
    assert cli.run(["status"]) == 0
    assert said in capsys.readouterr().out


def test_a_node_whose_state_is_down(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    """The thing asked about is not fine."""
    failed = {"ok": False, "problem": "its state cannot be read or written"}
    node.answers = dict.fromkeys(node.answers, failed)
    for arguments in (
        ["blocked"],
        ["notices"],
        ["notices", "ack", "1"],
        ["sessions"],
        ["status"],
        ["sessions", "release", "abcdefabcdef"],
    ):
        assert cli.run(arguments) == 1, arguments
    assert "cannot read or write its state" in capsys.readouterr().err
    node.answers["status"] = {**STATUS, "upstreams": None}
    assert cli.run(["status", "--json"]) == 0


def test_without_a_node_a_verb_says_where_it_looked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for verb in ("blocked", "notices", "sessions", "status"):
        assert cli.run([verb]) == NO_NODE
    assert str(tmp_path) in capsys.readouterr().err
