"""Places are safe to show: schema words, indices, and a star for everything else."""

from hypothesis import given
from hypothesis import strategies as st

from policies.screening.places import LONGEST, SCHEMA_WORDS, place, place_of_key


def test_known_words_and_indices_are_shown():
    """The place of a tool argument names the way to it, not the argument."""
    assert place(("messages", 3, "content", 0, "input", "path-of-mine")) == (
        "messages[3].content[0].input.*"
    )
    assert place(()) == ""
    assert place(("secret-key",)) == "*"


def test_a_key_never_shows_itself():
    """A finding in a key ends in a star even where the key is a schema word."""
    assert place_of_key(("messages", 0, "content")) == "messages[0].*"
    assert place_of_key(("k",)) == "*"


def test_a_deep_place_is_cut():
    """At most 120 characters, with a star for what was cut."""
    assert place(("messages", *("content", 10**9) * 20)).endswith(".*")


@given(st.lists(st.text() | st.integers(0, 10**9) | st.sampled_from(sorted(SCHEMA_WORDS))))
def test_places_are_short_and_hold_nothing_else(address):
    """Property: at most 120 characters, and every word in it is a schema word."""
    shown = place(tuple(address))
    assert len(shown) <= LONGEST
    for word in shown.replace("[", ".").split("."):
        assert word in SCHEMA_WORDS or word in ("", "*") or word.rstrip("]").isdigit()
