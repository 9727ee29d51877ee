"""What policies may see, where nobody has read more."""

from policies.conversation import Conversation


def test_a_conversation_that_nobody_can_ask_says_nothing() -> None:
    """One that was made without its bytes at hand has no words to give."""
    bare = Conversation("d", "m", False, (), (), 0, (), (), ())
    assert (bare.said(0), bare.prompt) == ((), ())
