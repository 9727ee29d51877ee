"""Parts of one secret: which strings count, and how much of them where they meet."""

from hypothesis import given
from hypothesis import strategies as st

from policies.conversation import Piece, Strand, Texts
from policies.screening.mending import BETWEEN_PARTS
from policies.screening.parts import (
    Strings,
    crossing,
    halves,
    meeting,
    outer,
    sort_out,
    sort_value,
    spaced,
    where_met,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(("text", "id", "name", "role", "input")), inner)
    ),
    max_leaves=12,
)


def test_strings_are_sorted_by_what_they_may_be_a_part_of():
    """Contents, keys, and what is a part of nothing."""
    at = ("messages", 0)
    strands = [
        Strand((*at, "text"), "text", is_key=True),
        Strand((*at, "text"), "a"),
        Strand((*at, "id"), "toolu_0001"),
        Strand((*at, "role"), "user"),
    ]
    assert sort_out(strands) == (["a"], ["text"], ["toolu_0001", "user"])
    assert repr(sort_out(strands)) == "Texts(1, 1, 2)"


@given(value=VALUES, step=st.sampled_from(("messages", "role", 0)))
def test_a_value_is_sorted_as_its_strands_are(value, step):
    """Wherever a string stands, and whatever it is called."""
    sorted_out = Texts([], [], [])
    sort_value(value, step, sorted_out)
    assert sorted_out == sort_out(list(strands_of(value, (step,))))


def strands_of(value, address):
    """Every key and string of `value`, with the way to it."""
    if isinstance(value, str):
        yield Strand(address, value)
    for key, member in value.items() if isinstance(value, dict) else ():
        yield Strand((*address, key), key, is_key=True)
        yield from strands_of(member, (*address, key))
    for index, item in enumerate(value) if isinstance(value, list) else ():
        yield from strands_of(item, (*address, index))


def test_where_strings_stand_is_asked_once_and_only_if_somebody_does():
    """What is sorted without the ways to it is read again for them, and kept."""
    asked = []

    def strands():
        asked.append(1)
        return (Strand(("system",), "system", is_key=True), Strand(("system",), "a"))

    texts = Texts(["a"], ["system"], [])
    strings = Strings.of(Piece(("system",), b"", strands, 0, lambda: texts))
    assert (list(strings.all), asked) == (["a", "system"], [])
    assert strings.strands is strings.strands
    assert asked == [1]
    assert Strings.of(Piece(("system",), b"", strands)).texts == texts


def test_of_long_texts_the_ends_count():
    """With something between them that nothing goes across."""
    assert halves("abcdef", 3) == "abcdef"
    assert halves("abcdefg", 3) == "abc\n\0\nefg"
    assert crossing(["ab", "cdefgh"], 2) == ("abcd\n\0\ngh", f"ab{BETWEEN_PARTS}cd\n\0\ngh")
    assert spaced(["ab", "cd"]) == "ab cd"


def test_where_texts_meet_nothing_is_left_out():
    """Nor is anything that is further away kept: nothing meets the first at its start, nor the last
    at its end."""
    assert where_met(["abcd", "efghijkl", "mno", "pqrs"], 2) == "cdef\n\0\nklmnopq"
    assert where_met(["a", "b"], 2) == "ab"
    assert where_met(["a"], 2) == where_met([], 2) == ""


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
    assert outer(parts, 4, start=True) == parts
    assert outer([], 3, start=True) == []
