"""What no vendor has signed is left out, and nothing else."""

from msgspec.structs import replace

from policies.conversation import Conversation, Message, Origin
from policies.unsigned import left_out


def message(index: int, *, thoughts: int = 0, unsigned: int = 0, hollow: bool = False) -> Message:
    """One with so many thoughts, of which the last ones are not signed."""
    ways = tuple(("messages", index, "content", at) for at in range(thoughts))
    return Message(
        index,
        ("messages", index),
        "assistant",
        Origin.AGENT,
        b"",
        thoughts=ways,
        hollow=hollow,
        unsigned=ways[thoughts - unsigned :] if unsigned else (),
    )


def talk(*messages: Message) -> Conversation:
    empty = Conversation("", "", False, (), (), 0, (), (), ())
    return replace(empty, messages=messages)


def test_only_what_is_not_signed_goes() -> None:
    """Behind what goes in any case, each way once; a message that holds nothing else is hollow."""
    seen = talk(
        message(0, thoughts=1),
        message(1, thoughts=2, unsigned=1),
        message(2, thoughts=1, unsigned=1, hollow=True),
        message(3, thoughts=2, unsigned=1, hollow=True),
    )
    first = ("messages", 1, "content", 1)
    ways, hollow = left_out(seen, [first], [])
    assert ways == (first, ("messages", 2, "content", 0), ("messages", 3, "content", 1))
    assert hollow == (("messages", 2),)
    assert left_out(seen, ways, hollow) == (ways, hollow)


def test_where_all_is_signed_nothing_more_goes() -> None:
    """What was decided before stays as it is."""
    seen = talk(message(0, thoughts=1), message(1))
    assert left_out(seen, [("messages", 0, "content", 0)], []) == (
        (("messages", 0, "content", 0),),
        (),
    )


def test_what_is_cut_away_is_not_looked_at() -> None:
    """Nothing of it leaves, thinking or not."""
    seen = replace(talk(message(0, thoughts=1, unsigned=1)), since=1)
    assert left_out(seen, [], []) == ((), ())
