"""The window of a turn as text, and what a cut says of one message."""

import pytest

from policies.cut import OPEN, Cut, Form, Window, dumped, loaded


@pytest.mark.parametrize(
    "window",
    [OPEN, Window("strict", notice="[dropped history — 3"), Window("dialogue", "elide", 2)],
)
def test_a_window_is_read_as_it_was_written(window: Window) -> None:
    """What is noted of a turn comes back as it was."""
    assert loaded(dumped(window)) == window


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"mode":"ajar"}', '{"mode":"off","wide":1}'])
def test_anything_else_is_no_window(text: str) -> None:
    """A note that this version cannot read is refused, not guessed at."""
    with pytest.raises(ValueError, match=r"window|Expecting"):
        loaded(text)


def test_ways_are_those_to_all_that_does_not_leave() -> None:
    """Parts that are left out and values that are exchanged count alike."""
    cut = Cut(
        Window("dialogue", "elide"),
        trimmed={1: (("messages", 1, "content", 0),)},
        emptied={1: ((("messages", 1, "content", 2, "input"), Form.OBJECT),)},
    )
    assert cut.ways(1) == (("messages", 1, "content", 0), ("messages", 1, "content", 2, "input"))
    assert cut.ways(2) == ()
    assert cut.cuts
    assert not Cut(OPEN).cuts
