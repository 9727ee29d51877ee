"""Which units get a frame."""

from collections.abc import Callable
from dataclasses import replace

from msgspec import structs

from policies.conversation import Conversation, Unit
from policies.decision import Frame, FrameRow, Remembered, Turn
from policies.envelope import POLICY_TEXT
from policies.envelope.plan import plan_frames
from policies.pins import Pins
from policies.settings import Envelope, ToolRule
from tests.policies.envelope.talks import talk

ON = Pins(Envelope())


def units(*spec: tuple[str, int, bool]) -> tuple[Unit, ...]:
    """(text, message, answered) each."""
    return tuple(
        Unit(("messages", n), text, "tool:read", "read", f"c{n}", 0, message, answered)
        for n, (text, message, answered) in enumerate(spec)
    )


def conversation(units: tuple[Unit, ...], tools: tuple[str, ...] = ()) -> Conversation:
    return Conversation("d", "m", False, (), (), 0, units, tools, ())


def drawing(*nonces: str) -> Callable[[], str]:
    return iter(nonces).__next__


def test_one_nonce_for_a_message_and_the_intro_on_its_first_new_frame() -> None:
    """Parallel results share a nonce; the next message has its own."""
    seen = conversation(units(("a", 1, False), ("b", 1, False), ("c", 3, False)))
    plan = plan_frames(seen, Remembered({}), ON, drawing("n1", "n2"))
    assert [(f.unit, f.row.nonce, f.row.intro, f.known) for f in plan.frames] == [
        (0, "n1", True, False),
        (1, "n1", False, False),
        (2, "n2", True, False),
    ]
    assert {frame.row.field for frame in plan.frames} == {"read"}


def test_a_known_unit_keeps_its_row_and_new_ones_beside_it_draw_their_own() -> None:
    """Clients merge messages: what was framed before reads as before."""
    row = FrameRow("old", "read", intro=True)
    seen = conversation(units(("new", 1, False), ("old", 1, True)))
    plan = plan_frames(seen, Remembered({1: row}), ON, drawing("n1"))
    assert [(f.unit, f.row.nonce, f.known) for f in plan.frames] == [
        (0, "n1", False),
        (1, "old", True),
    ]
    assert plan.frames[1].row is row


def test_a_nonce_that_the_text_holds_is_drawn_again() -> None:
    """The text cannot have known it, but a chance hit must not make it right."""
    seen = conversation(units(("has n1", 1, False), ("other", 1, False)))
    plan = plan_frames(seen, Remembered({}), ON, drawing("n1", "n2"))
    assert [frame.row.nonce for frame in plan.frames] == ["n2", "n2"]


def test_adopted_trusted_and_switched_off() -> None:
    """Read elsewhere, with no thinking behind it: framed at once, and counted. Operator tools and a
    disabled envelope: left."""
    seen = conversation(units(("a", 1, True), ("b", 3, False)), ("read",))
    plan = plan_frames(seen, Remembered({}), ON, drawing("n1", "n2"))
    assert (len(plan.frames), plan.adopted, plan.policy_text) == (2, 1, POLICY_TEXT)
    trusting = Pins(Envelope(tools=(ToolRule("re*", "operator"),)))
    plan = plan_frames(seen, Remembered({}), trusting, drawing())
    assert (plan.frames, plan.adopted, plan.policy_text) == ((), 0, POLICY_TEXT)
    off = plan_frames(seen, Remembered({}), Pins(Envelope(enabled=False)), drawing())
    assert (off.frames, off.adopted, off.policy_text) == ((), 0, "")


def test_the_policy_text_comes_with_tools_or_frames_and_not_alone() -> None:
    """Neither tools nor frames: nothing is explained."""
    assert not plan_frames(conversation(()), Remembered({}), ON, drawing()).policy_text
    framed = conversation(units(("a", 1, False)))
    assert plan_frames(framed, Remembered({}), ON, drawing("n1")).policy_text


def test_rules_of_a_tool_are_written_into_its_rows() -> None:
    """The first rule that matches counts; what is short enough is not cut."""
    rules = (ToolRule("mail", encode="json", max_chars=4), ToolRule("*", max_chars=2))
    seen = conversation(units(("12345", 1, False), ("1234", 3, False), ("123", 5, False)))
    mail, short, other = (
        structs.replace(unit, source=f"tool:{name}", tool=name)
        for unit, name in zip(seen.units, ("mail", "mail", "read"), strict=True)
    )
    pins = Pins(Envelope(tools=rules))
    plan = plan_frames(
        structs.replace(seen, units=(mail, short, other)),
        Remembered({}),
        pins,
        drawing("n1", "n2", "n3"),
    )
    assert [(f.row.field, f.row.kept, f.row.encode) for f in plan.frames] == [
        ("mail", 4, "json"),
        ("mail", None, "json"),
        ("read", 2, "raw"),
    ]


def test_a_known_row_is_kept_whatever_the_rules_say_now() -> None:
    """How much of a text was given, and how, is as it was."""
    row = FrameRow("old", "read", intro=True, kept=3)
    plan = plan_frames(
        conversation(units(("12345", 1, True))),
        Remembered({0: row}),
        Pins(Envelope(tools=(ToolRule("*", encode="json", max_chars=1),))),
        drawing(),
    )
    assert plan.frames == (Frame(0, row, known=True),)


def test_a_loop_of_elsewhere_is_bare_and_explained_later() -> None:
    """What thinking follows has no frame, and the policy text would stand before it: both wait."""
    plan = plan_frames(talk("uArAr"), Remembered({}), ON, drawing("n1"))
    assert [(frame.unit, frame.late) for frame in plan.frames] == [(1, False)]
    assert (plan.adopted, plan.policy_text, plan.turn) == (1, "", Turn.RAW)
    assert plan.explains
    assert plan.removed == plan.hollow == ()


def test_with_the_operators_next_turn_all_is_framed_late() -> None:
    """New rows hold in views that begin here; the thinking before goes, and is named."""
    plan = plan_frames(talk("uArHu"), Remembered({}), ON, drawing("n1"))
    assert [(frame.unit, frame.late, frame.known) for frame in plan.frames] == [(0, True, False)]
    assert (plan.adopted, plan.policy_text, plan.turn) == (1, POLICY_TEXT, Turn.ANEW)
    assert plan.removed == (("messages", 1, "content", 0), ("messages", 3, "content", 0))
    assert plan.hollow == (("messages", 3),)


def test_late_rows_are_read_again_where_they_hold() -> None:
    """Before the beginning of this view the late row of a unit counts, behind it the plain one; a
    unit that has neither is new."""
    plain, late = (FrameRow(name, "read", intro=True) for name in ("plain", "late"))
    seen = talk("uArHuarar")
    remembered = Remembered({0: plain, 1: plain}, late={0: late}, turns={4: Turn.ANEW})
    plan = plan_frames(seen, remembered, ON, drawing("n1"))
    assert [(frame.unit, frame.row.nonce, frame.known) for frame in plan.frames] == [
        (0, "late", True),
        (1, "plain", True),
        (2, "n1", False),
    ]
    assert (plan.adopted, plan.turn) == (0, None)
    without = Remembered({1: plain, 2: plain}, late={5: late}, turns={4: Turn.ANEW})
    new = plan_frames(seen, without, ON, drawing("n1")).frames[0]
    assert (new.unit, new.row.nonce, new.known, new.late) == (0, "n1", False, True)


def test_a_conversation_of_elsewhere_without_results_is_told_too() -> None:
    """Only the policy text has to wait, or thinking has to go: that counts as one."""
    loop = plan_frames(talk("uAr"), Remembered({}, turns={0: Turn.RAW}), ON, drawing("n1"))
    assert (loop.adopted, loop.policy_text) == (1, "")
    begins = plan_frames(talk("uAu"), Remembered({}), ON, drawing())
    assert (begins.adopted, begins.policy_text, len(begins.removed)) == (1, POLICY_TEXT, 1)
    later = plan_frames(talk("uAuAu"), Remembered({}, turns={2: Turn.ANEW}), ON, drawing())
    assert (later.adopted, len(later.removed)) == (0, 1)


def test_once_explained_it_stays_explained() -> None:
    """Whatever a later request declares: by the pins, or by how an earlier turn was sent."""
    bare = talk("uau", tools=())
    assert not plan_frames(bare, Remembered({}), ON, drawing()).policy_text
    assert plan_frames(bare, Remembered({}), replace(ON, explains=True), drawing()).policy_text
    turns = {0: Turn.WITH}
    assert plan_frames(bare, Remembered({}, turns=turns), ON, drawing()).policy_text


def test_a_first_unit_does_not_bring_the_text_before_answers_without_it() -> None:
    """The conversation began here without it: the unit is framed, the beginning stays."""
    seen = talk("uauar", tools=())
    begun = plan_frames(seen, Remembered({}, pins=ON), ON, drawing("n1"))
    assert (len(begun.frames), begun.policy_text) == (1, "")
    first = plan_frames(talk("ur", tools=()), Remembered({}, pins=ON), ON, drawing("n1"))
    assert first.policy_text == POLICY_TEXT
    declared = plan_frames(talk("uauar"), Remembered({}, pins=ON), ON, drawing("n1"))
    assert declared.policy_text == POLICY_TEXT
