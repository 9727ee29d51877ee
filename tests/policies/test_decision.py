"""What a decision says of itself."""

from policies.decision import Screened


def test_what_was_read_is_in_no_representation() -> None:
    """A digest tells whether two bodies have a message in common."""
    screened = Screened(frozenset({b"a digest of theirs"}))
    assert "theirs" not in repr(screened)
    assert "1 pieces" in repr(screened)
