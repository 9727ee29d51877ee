"""The proof's comparison of two values."""

import pytest

from policies import proof_json as own
from policies.decision import Claimed, FrameRow
from policies.proof_frames import Frames
from policies.proof_reading import ProofFailed
from policies.proof_values import Values

NONCE = "0123456789abcdef" * 2
OURS = "Ours."
FRAMED = f"[[TRANSOM_DATA nonce={NONCE} field=read]]\ntext\n[[END_TRANSOM_DATA nonce={NONCE}]]"


def values() -> Values:
    return Values(Frames(Claimed({0: FrameRow(NONCE, "read", intro=False)}), {0: "text"}), {OURS})


@pytest.mark.parametrize(
    ("came", "sent"),
    [
        ({"a": [1, "x", None]}, {"a": [1, "x", None]}),
        ({"a": "text"}, {"a": FRAMED}),
        (["a", "b"], ["a", {"type": "text", "text": OURS}, "b"]),
        ([], [OURS]),
        ('{"a": "text"}', f'{{"a": "{FRAMED}"}}'.replace("\n", "\\n")),
    ],
    ids=str,
)
def test_what_may_differ(came: object, sent: object) -> None:
    """Frames and values of ours, also within a string that is a JSON object; nothing else."""
    values().same(came, sent, "here")


@pytest.mark.parametrize(
    ("came", "sent"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, {"a": True}),
        ("x", "y"),
        (["a", "b"], ["b", "a"]),
        (["a", "b"], ["a"]),
        (["a"], ["a", "stranger"]),
        ([1], "1"),
        ('{"a": "x"}', '{"a": "y"}'),
        ('{"a": "x"}', '{"a"'),
    ],
    ids=str,
)
def test_what_may_not_differ(came: object, sent: object) -> None:
    """Order, type, number, text: told by its place."""
    with pytest.raises(ProofFailed, match="here"):
        values().same(came, sent, "here")


def test_values_of_ours_are_counted() -> None:
    """Every text in them is authored, and there is at least one."""
    mine = values()
    assert mine.is_authored({"role": "system", "content": OURS})
    assert not mine.is_authored({"role": "system", "content": []})
    for more in ("theirs", 1, 1.5, None, True, own.Number("1"), {"theirs": OURS}, [["theirs"]]):
        assert not mine.is_authored({"content": [OURS, more]}), "nobody wrote that"
        assert not mine.is_authored({"content": [more, OURS]}), "nobody wrote that"
    assert not mine.is_authored({"content": [OURS, "theirs"]})
    assert mine.placed == 1


def test_system_text_is_followed_by_ours() -> None:
    """Joined behind a blank line, as further blocks, or where nothing stood."""
    assert values().system(None, [{"type": "text", "text": OURS}])
    assert values().system("be kind", f"be kind\n\n{OURS}")
    assert values().system("", OURS)
    blocks = [{"type": "text", "text": "be kind"}, {"type": "text", "text": OURS}]
    assert values().system("be kind", blocks)
    assert not values().system("be kind", f"be cruel\n\n{OURS}")
    assert not values().system("be kind", blocks[1:])
    assert not values().system(["be kind"], blocks)
