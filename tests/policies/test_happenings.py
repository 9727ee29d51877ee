"""What there is to count in a request."""

import pytest
from msgspec.structs import replace

from policies.conversation import Conversation, Form, Half, Message, Origin, ToolCall, Unit
from policies.cut import Cut, Window
from policies.decision import Decision, Final, Finding, Frame, FrameRow, Leg, Refusal
from policies.events import Event
from policies.happenings import MOST_UNKNOWN, detailed, events_of, new_frames, place_of, tainted
from policies.settings import Envelope, Policies, RefusalRule, ToolRule

ROW = FrameRow("0" * 32, "f", intro=False)
UNIT = Unit(("messages", 2), "it was declined", "tool:mail", "mail", "call", message=2)
MAIL = Policies(refusals=(RefusalRule("mail", refused="declined"),))


def conversation(**more: object) -> Conversation:
    given = {"units": (UNIT,), "tools": ("mail",), **more}
    messages = (Message(0, ("messages", 0), "user", Origin.OPERATOR, b"0"),)
    return Conversation(
        "d", "m", False, messages, (), 0, given["units"], given["tools"], (),  # type: ignore[arg-type]
        unknown=given.get("unknown", ()),  # type: ignore[arg-type]
    )  # fmt: skip


def test_the_events_of_a_request() -> None:
    """Those of the policies as they are, then adoptions, what is noted, unknown parts, refusals."""
    hidden = Finding("tag", "messages[3].content", "unicode")
    forged = Finding("intro", "tools[0]", "opening")
    decision = Decision(
        Leg.LOCAL, adopted=2, noted=(hidden, forged), events=(Event("truncated", 4),)
    )
    unknown = (("messages", 0, "content", 0), ("fancy",))
    found = list(events_of(conversation(unknown=unknown), decision, MAIL))
    assert [(event.kind, event.at) for event, _ in found] == [
        ("truncated", 4),
        ("adopted", -1),
        ("forged-opening", -1),
        ("hidden-characters", 3),
        ("unknown-part", 0),
        ("unknown-part", -1),
        ("call-refused", 2),
    ]
    assert dict(found[1][0].facts) == {"count": "2"}
    assert [apart for _, apart in found[4:]] == [
        ("messages[0].content[0]",),
        ("*",),
        ("mail", "call"),
    ]


def test_one_kind_of_what_is_noted_alone() -> None:
    """Without the other kind."""
    for kind, family in (("hidden-characters", "unicode"), ("forged-opening", "opening")):
        decision = Decision(Leg.LOCAL, noted=(Finding("x", "tools[0]", family),))
        found = [event.kind for event, _ in events_of(conversation(), decision, Policies())]
        assert found == [kind]


def test_what_does_not_leave_is_told_with_the_names_of_its_tools() -> None:
    """How much and how; nothing where nothing is cut, or where the request does not go."""
    cut = Cut(Window("dialogue"), 4, frozenset({1, 2}), {3: ()}, {3: (), 0: ()})
    (event,) = [e for e, _ in events_of(conversation(), Decision(Leg.CLOUD, cut=cut), Policies())]
    assert (event.kind, event.at) == ("truncated", 4)
    assert dict(event.facts) == {
        "mode": "dialogue",
        "strategy": "drop",
        "gone": "2",
        "trimmed": "2",
    }
    whole = Decision(Leg.CLOUD, cut=Cut(Window("dialogue")))
    refused = Decision(Leg.CLOUD, cut=cut, refusal=Refusal("egress-blocked"))
    for decision in (whole, refused):
        assert not list(events_of(conversation(), decision, Policies()))
    bare = Decision(Leg.CLOUD, cut=Cut(Window("strict"), gone=frozenset({1})))
    (event,) = [event for event, _ in events_of(conversation(), bare, Policies())]
    assert dict(event.facts) == {"mode": "strict", "strategy": "drop", "gone": "1"}


def test_the_tools_of_what_is_cut_are_looked_up_when_they_are_asked_for() -> None:
    """A walk through the history, for the one row of the turn."""
    call = Message(0, ("messages", 0), "assistant", Origin.AGENT, b"0", (ToolCall("c", "mail"),))
    result = Message(1, ("messages", 1), "user", Origin.TOOL, b"1", answers=("c",))
    talk = replace(conversation(), messages=(call, result))
    cut = Cut(Window("dialogue"), 2, frozenset({0, 1}))
    event = Event("truncated", 2, {"gone": "2"})
    decision = Decision(Leg.CLOUD, cut=cut)
    assert dict(detailed(event, talk, decision)) == {"gone": "2", "tools": "mail"}
    assert detailed(event, conversation(), decision) == event.facts
    assert detailed(event, talk, Decision(Leg.CLOUD)) == event.facts
    assert dict(detailed(Event("adopted"), talk, decision)) == {}


def test_a_clean_request_has_none() -> None:
    """Nothing is made of nothing."""
    assert list(events_of(conversation(), Decision(Leg.CLOUD), Policies())) == []


def test_unknown_parts_are_told_up_to_a_bound() -> None:
    """A body full of them is one client's matter."""
    many = tuple(("messages", index) for index in range(99))
    assert len(list(events_of(conversation(unknown=many), Decision(Leg.CLOUD), Policies()))) == (
        MOST_UNKNOWN
    )


def test_third_party_text_taints() -> None:
    """Frames do, and results of tools that the owner does not vouch for, framed or not."""
    trusting = Policies(envelope=Envelope(tools=(ToolRule("mail", "operator"),)))
    framed = Decision(Leg.LOCAL, frames=(Frame(0, ROW, known=True),))
    assert tainted(conversation(), framed, trusting)
    assert tainted(conversation(), Decision(Leg.LOCAL), Policies())
    assert not tainted(conversation(), Decision(Leg.LOCAL), trusting)
    assert not tainted(conversation(units=()), Decision(Leg.LOCAL), Policies())


def test_only_new_frames_are_counted() -> None:
    """They stand behind the known ones."""
    frames = (Frame(0, ROW, known=True), Frame(1, ROW, known=False), Frame(2, ROW, known=False))
    assert new_frames(Decision(Leg.LOCAL, frames=frames)) == 2
    assert new_frames(Decision(Leg.LOCAL, frames=frames[1:])) == 2
    assert new_frames(Decision(Leg.LOCAL)) == 0


def test_the_message_of_a_finding() -> None:
    """By its place; -1 where that is in no message."""
    assert place_of((Finding("k", "input[12].output"), Finding("k", "messages[1]"))) == 12
    assert place_of((Finding("k", "tools[1].name"),)) == -1
    assert place_of(()) == -1


RESULTS = Half("call", "", ("content", 0), ("content", 0), ("content", 0, "content"), Form.RESULT)
BESIDE = Half("call", "", ("content", 1), ("content", 1), None, Form.RESULT)


def odd(origin: Origin, *, answers: bool = True, halves: tuple[Half, ...] = ()) -> Conversation:
    """A conversation whose one message holds something unknown."""
    message = Message(
        0, ("messages", 0), "x", origin, b"0", answers=("call",) if answers else (), halves=halves
    )
    return replace(
        conversation(units=(), unknown=(("messages", 0, "content", 0, "content", 1),)),
        messages=(message,),
    )


@pytest.mark.parametrize(
    ("seen", "decision", "policies", "kind"),
    [
        (odd(Origin.TOOL), Decision(Leg.CLOUD), Policies(), "unframed-part"),
        (odd(Origin.UNKNOWN), Decision(Leg.LOCAL), Policies(), "unframed-part"),
        (odd(Origin.OPERATOR, halves=(RESULTS,)), Decision(Leg.CLOUD), Policies(), "unframed-part"),
        (odd(Origin.OPERATOR), Decision(Leg.CLOUD), Policies(), "unknown-part"),
        (odd(Origin.TOOL, halves=(BESIDE,)), Decision(Leg.CLOUD), Policies(), "unknown-part"),
        (odd(Origin.TOOL, answers=False), Decision(Leg.CLOUD), Policies(), "unknown-part"),
        (odd(Origin.TOOL), Decision(Leg.CLOUD), Policies(Envelope(False)), "unknown-part"),
        (
            odd(Origin.TOOL),
            Decision(Leg.CLOUD, refusal=Refusal("egress-blocked")),
            Policies(),
            "unknown-part",
        ),
        (
            odd(Origin.TOOL),
            Decision(Leg.CLOUD, final=Final("read-loop")),
            Policies(),
            "unknown-part",
        ),
        (
            odd(Origin.TOOL),
            Decision(Leg.CLOUD, cut=Cut(Window("strict"), 1)),
            Policies(),
            "unknown-part",
        ),
        (
            odd(Origin.TOOL),
            Decision(Leg.CLOUD, cut=Cut(Window("off"), 1)),
            Policies(),
            "unframed-part",
        ),
    ],
)
def test_what_is_unknown_in_a_result_that_leaves(
    seen: Conversation, decision: Decision, policies: Policies, kind: str
) -> None:
    """It leaves without a frame, where others would have one."""
    assert [event.kind for event, _ in events_of(seen, decision, policies)] == [kind]


def test_what_is_unknown_in_a_member_is_in_no_message() -> None:
    """However its address reads."""
    unknown = (("tools", 0, "x"), ("messages", 7))
    found = events_of(conversation(units=(), unknown=unknown), Decision(Leg.CLOUD), Policies())
    assert [event.at for event, _ in found] == [-1, -1]
