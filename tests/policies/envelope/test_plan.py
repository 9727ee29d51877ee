"""Which units get a frame."""

from collections.abc import Callable

from policies.conversation import Conversation, Unit
from policies.decision import FrameRow, Remembered
from policies.envelope import POLICY_TEXT
from policies.envelope.plan import plan_frames
from policies.pins import Pins
from policies.settings import Envelope, ToolRule

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
