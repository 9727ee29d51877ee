"""What a decision and a claim say about the units of a conversation."""

from policies.conversation import Unit
from policies.decision import Claimed, FrameRow


def test_a_claim_gives_the_texts_of_what_is_framed():
    """By number, and of no other unit: the proof takes these for what stands in frames."""
    units = tuple(Unit(("messages", n), text, "tool:read") for n, text in enumerate("abc"))
    rows = {number: FrameRow("0" * 32, "read", intro=True) for number in (0, 2)}
    assert Claimed(rows).texts(units) == {0: "a", 2: "c"}
    assert Claimed({}).texts(units) == {}
