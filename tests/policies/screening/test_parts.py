"""Parts of one secret: which strings count, and how much of them where they meet."""

from policies.conversation import Strand
from policies.screening.mending import BETWEEN_PARTS
from policies.screening.parts import crossing, halves, meeting, outer, sort_out, spaced


def test_strings_are_sorted_by_what_they_may_be_a_part_of():
    """Contents and keys of any length; of the others those that can hold something."""
    at = ("messages", 0)
    strands = [
        Strand((*at, "text"), "text", is_key=True),
        Strand((*at, "text"), "a"),
        Strand((*at, "id"), "toolu_0001"),
        Strand((*at, "role"), "user"),
    ]
    assert sort_out(strands) == (["a"], ["text"], ["toolu_0001"])


def test_of_long_texts_the_ends_count():
    """With something between them that nothing goes across."""
    assert halves("abcdef", 3) == "abcdef"
    assert halves("abcdefg", 3) == "abc\n\0\nefg"
    assert crossing(["ab", "cdefgh"], 2) == ("abcd\n\0\ngh", f"ab{BETWEEN_PARTS}cd\n\0\ngh")
    assert spaced(["ab", "cd"]) == "ab cd"


def test_messages_meet_with_as_much_as_was_asked_for():
    """Over several short texts, and over a part of a long one."""
    met = meeting(["long", "ab", "c"], ["d", "efgh", "i"], 4)
    assert (met.ending, met.left, met.right) == (["long", "ab", "c"], "gabc", "defg")
    assert met.crossing == ("gabcdefg", f"b{BETWEEN_PARTS}c{BETWEEN_PARTS}defg")
    assert met.words == "long ab c"
    assert meeting([], ["d"], 4)[:3] == ([], "", "d")


def test_of_what_is_known_the_ends_count():
    """The last one, and the first if something comes before it."""
    parts = ["abcdef", "g", "h"]
    assert outer(parts, 3, start=False) == ["def", "g", "h"]
    assert outer(parts, 2, start=True) == ["ab", "g", "h"]
    assert outer([], 3, start=True) == []
