"""The shape of what `explain` tells."""

import json

from policies.conversation import Form
from policies.cut import Cut, Window
from policies.decision import Finding, Leg
from policies.screening import Screen
from policies.settings import Envelope, Policies, ToolRule
from proxy.dialects import ALL
from proxy.explained import Told, cut_of, view_of
from proxy.lazyjson import read
from tests.scenes.bodies import secret


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


def test_the_view_is_told_whole() -> None:
    """Runs, turn, units with source and trust, tools, what is opaque, unknown or held elsewhere; in
    both shapes. Names without the shape of one, or with a secret in them, are not told."""
    body = {
        "model": f"m-{secret()}",
        "messages": [
            {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "u"}}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "read"},
                {"type": "tool_use", "id": "b", "name": "mail_in"},
                {"type": "tool_use", "id": "c", "name": "no name"},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "one"},
                {"type": "tool_result", "tool_use_id": "b", "content": [
                    {"type": "text", "text": "two"}]},
                {"type": "tool_result", "tool_use_id": "c", "content": "three"},
            ]},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": [
                {"type": "brand_new"},
                {"type": "document", "title": "t",
                 "source": {"type": "text", "media_type": "text/plain", "data": "four"}},
            ]},
        ],
        "tools": [{"name": "read"}, {"name": "mail_in"}, {"name": "no name"}],
        "container": "container_1",
    }  # fmt: skip
    seen = ALL["anthropic_messages"].view(read(json.dumps(body).encode()))
    policies = Policies(Envelope(tools=(ToolRule("mail_*", trust="operator"),)))
    told = Told(view=view_of(seen, policies, Screen.build()))
    shown = json.loads(told.as_json())["view"]
    assert shown == {
        "dialect": "anthropic_messages",
        "model": "-",
        "messages": 5,
        "runs": [[0, 1], [2, 3], [4, 5]],
        "turn": 4,
        "units": [
            {"place": "messages[2].content[0].content", "source": "tool:read",
             "trust": "untrusted", "answered": True},
            {"place": "messages[2].content[1].content[0].text", "source": "tool:mail_in",
             "trust": "operator", "answered": True},
            {"place": "messages[2].content[2].content", "source": "tool:-",
             "trust": "untrusted", "answered": True},
            {"place": "messages[4].content[1].source.data", "source": "web:-",
             "trust": "untrusted", "answered": False},
        ],
        "tools": ["read", "mail_in", "-"],
        "opaque": ["messages[0].content[0]"],
        "unknown": ["messages[4].content[0]"],
        "held": ["container"],
    }  # fmt: skip
    lines = told.as_text()
    for line in (
        "runs     2–3",
        "turn     4",
        "units    place messages[2].content[1].content[0].text, source tool:mail_in, "
        "trust operator, answered True",
        "tools    mail_in",
        "opaque   messages[0].content[0]",
        "unknown  messages[4].content[0]",
        "held     container",
    ):
        assert line in lines.splitlines()
    assert not any(word in lines + told.as_json() for word in ("four", "no name", secret()))


def test_what_is_cut_is_told() -> None:
    """Which messages go, which are shortened or emptied, of which tools; no other name."""
    cut = Cut(
        Window("dialogue", "elide", notice="[dropped history — 1 earlier"),
        5,
        frozenset({3, 2}),
        {1: (("messages", 1, "content", 0),)},
        {4: ((("messages", 4, "content"), Form.RESULT),)},
        names=("read", "no name", secret()),
    )
    told = Told(leg=Leg.CLOUD, cut=cut_of(cut, Screen.build()))
    assert json.loads(told.as_json())["cut"] == {
        "mode": "dialogue",
        "strategy": "elide",
        "turn": 5,
        "gone": [2, 3],
        "shortened": [1],
        "emptied": [4],
        "tools": ["read", "-", "-"],
        "told": "[dropped history — 1 earlier",
    }
    text = told.as_text()
    assert "shows    dialogue, elide; gone 2, 3; shortened 1; emptied 4; tools read, -, -" in text
    assert "told     [dropped history" in text
    nothing = Told(leg=Leg.CLOUD, cut=cut_of(Cut(Window("strict")), Screen.build())).as_text()
    assert "gone none; shortened none; emptied none; tools none" in nothing
    assert "told" not in nothing
    assert json.loads(Told().as_json())["cut"] is None
