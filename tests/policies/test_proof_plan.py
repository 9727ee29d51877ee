"""The proof's own view of what is left out and what is repeated."""

import pytest

from policies.decision import Placed
from policies.proof_plan import Planned, is_thinking, repeats, says, without

THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "s"}
TEXT = {"type": "text", "text": "t"}
MESSAGE = {"role": "assistant", "content": [THOUGHT, TEXT, {"type": "redacted_thinking"}]}
ASKED = {"role": "user", "content": "Fix the pier."}
PARTS = {"role": "User", "content": [TEXT, {"type": "input_text", "text": "Fix it."}, {"type": 3}]}


def test_ways_are_found_by_message() -> None:
    """From the message down, in a steady order; an empty way is the whole message."""
    removed = frozenset(
        {("messages", 1, "content", 2), ("messages", 1, "content", 0), ("input", 3)}
    )
    plan = Planned(removed)
    assert plan.ways("messages", 1) == [("content", 0), ("content", 2)]
    assert plan.ways("input", 3) == [()]
    assert plan.ways("messages", 3) == []


def test_texts_are_found_by_the_message_before() -> None:
    """Where nothing was placed there is nothing."""
    placed = Placed(4, "[operator] x", 0, ("messages", 0, "content"), known=True)
    assert [*Planned(placed=(placed,)).behind(4)] == [placed]
    assert [*Planned(placed=(placed,)).behind(3)] == []


def test_thinking_and_nothing_else_is_left_out() -> None:
    """The message without its thinking; all other values are the same objects."""
    assert without(MESSAGE, [("content", 0), ("content", 2)]) == {
        "role": "assistant",
        "content": [TEXT],
    }
    details = {"role": "assistant", "content": "t", "reasoning_details": [THOUGHT]}
    assert without(details, [("reasoning_details",)]) == {"role": "assistant", "content": "t"}


@pytest.mark.parametrize(
    ("message", "ways"),
    [
        (MESSAGE, [("content", 1)]),
        (MESSAGE, [("content", 0), ("content", 1)]),
        (MESSAGE, [("content", 9)]),
        (MESSAGE, [("content", 0, "thinking")]),
        (MESSAGE, [("role",)]),
        (MESSAGE, [("reasoning_details",)]),
        ({**MESSAGE, "reasoning_details": "x"}, [("reasoning_details",)]),
        ({"role": "user", "content": "x"}, [("content", 0)]),
        ("x", [("content", 0)]),
    ],
    ids=str,
)
def test_nothing_else_may_be_left_out(message: object, ways: list[tuple[str | int, ...]]) -> None:
    """A plan that would drop a text, a call or a result is no plan."""
    with pytest.raises(ValueError, match="something else"):
        without(message, ways)


def test_what_is_thinking() -> None:
    """By its type alone."""
    assert is_thinking({"type": "reasoning", "encrypted_content": "x"})
    assert not any(map(is_thinking, [TEXT, "thinking", {"type": "tool_result"}, [THOUGHT]]))


@pytest.mark.parametrize(
    "value",
    [
        {"role": "user", "content": "x"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]},
    ],
    ids=str,
)
def test_a_message_of_the_user_says_one_text(value: dict[str, object]) -> None:
    """In the two shapes that dialects have, with nothing beside it."""
    assert says(value, "x")
    assert not says(value, "y")
    assert not says({**value, "name": "a"}, "x")
    assert not says({**value, "role": "system"}, "x")
    assert not says([value], "x")


@pytest.mark.parametrize(
    ("text", "message", "way", "right"),
    [
        ("[operator] Fix the pier.", ASKED, ("content",), True),
        ("[operator] Fix…", ASKED, ("content",), True),
        ("[operator] Fix it.", PARTS, ("content", 1, "text"), True),
        ("[operator] Sink the pier.", ASKED, ("content",), False),
        ("Fix the pier.", ASKED, ("content",), False),
        ("[operator] Fix the pier.", {**ASKED, "role": "tool"}, ("content",), False),
        ("[operator] Fix the pier.", ASKED, ("role",), False),
        ("[operator] t", PARTS, ("content", 7, "text"), False),
        ("[operator] t", PARTS, ("content", 2, "text"), False),
        ("[operator] t", PARTS, ("content",), False),
        ("[operator] " + "x" * 600, {**ASKED, "content": "x" * 700}, ("content",), False),
        ("[operator] x", "x", ("content",), False),
    ],
    ids=str,
)
def test_whose_words_are_repeated(
    text: str, message: object, way: tuple[str | int, ...], right: bool
) -> None:
    """The beginning of what a user said at that place, labelled, within the bound."""
    assert repeats(text, message, way) is right
