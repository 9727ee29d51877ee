"""What a decision says of itself."""

from policies.decision import Screened


def test_what_was_read_is_in_no_representation() -> None:
    """The strings of a body are the caller's own."""
    screened = Screened(frozenset({b"d"}), frozenset({"a word of theirs"}))
    assert "theirs" not in repr(screened)
    assert "1 pieces" in repr(screened)
