"""What policies may see, where nobody has read more."""

from functools import partial

from msgspec import structs

from policies.conversation import (
    Conversation,
    Message,
    Origin,
    Piece,
    Strand,
    ToolCall,
    Unit,
)
from policies.past import Past


def test_a_conversation_that_nobody_can_ask_says_nothing() -> None:
    """One that was made without its bytes at hand has no words to give."""
    bare = Conversation("d", "m", False, (), (), 0, (), (), ())
    assert (bare.said(0), bare.prompt) == ((), ())


def test_values_are_compared_by_what_they_were_given() -> None:
    """Two pieces, units or messages are equal whatever is worked out about them later."""
    one, same = (Piece(("m", 0), b"d", partial(tuple, [n]), 3) for n in range(2))
    assert one == same
    assert one != Piece(("m", 0), b"e", tuple, 3)
    assert one != Unit(("m", 0), "d", "tool:x")
    known = Unit(("m", 0), "said", "tool:x", digest=partial(bytes, 1))
    known.names["key"] = b"name"
    assert known == Unit(("m", 0), "said", "tool:x")
    assert known != Unit(("m", 0), "other", "tool:x")
    assert structs.replace(known, call="c").names == {}
    assert known.names == {"key": b"name"}
    facts = 0, ("m", 0), "user", Origin.TOOL, b"d"
    assert Message(*facts, signs=partial(tuple, [b"s"])) == Message(*facts)
    assert Message(*facts, size=1) != Message(*facts)
    talk = Conversation("d", "m", False, (), (), 0, (), (), (), past=Past(1))
    talk.names["key"] = b"name"
    assert talk == Conversation("d", "m", False, (), (), 0, (), (), (), past=Past(2))
    assert talk != Conversation("d", "m", True, (), (), 0, (), (), ())
    assert structs.replace(talk, turn=1).names == {}
    assert talk.names == {"key": b"name"}


def test_no_value_shows_a_text() -> None:
    """What a body says stays out of whatever is printed; where it stands may be shown."""
    call = ToolCall("c", "mail", '{"to": "secret"}')
    unit = Unit(("m", 7), "secret", "tool:mail", digest=lambda: b"secret")
    unit.names["key"] = b"secret"
    message = Message(
        0, ("m", 7), "user", Origin.TOOL, b"d", (call,), signs=partial(tuple, [b"secret"])
    )
    piece = Piece(("m", 7), b"d", lambda: (Strand((), "secret"),))
    for value in (call, unit, message, piece):
        assert "secret" not in repr(value)
        assert "mail" in repr(value) or value is piece
    assert "7" in repr(unit)
