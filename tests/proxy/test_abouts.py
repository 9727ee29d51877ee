"""What makes two events the same."""

from policies.conversation import Conversation, Message, Origin, Run
from proxy.abouts import Abouts

KEY = b"k" * 32


def conversation(*roles: str, turn: int = 0, said: str = "x") -> Conversation:
    messages = tuple(
        Message(index, ("messages", index), role, Origin.OPERATOR, f"{said} {index}".encode())
        for index, role in enumerate(roles)
    )
    starts = [index for index, role in enumerate(roles) if role == "user"]
    runs = tuple(Run(at, at + 1, at != turn, True) for at in starts)
    return Conversation(
        "d", "m", False, messages, runs, turn, (), (), (),
        said=lambda index: (messages[index].digest,),
    )  # fmt: skip


LONG = conversation("user", "assistant", "user", "assistant", "user")
SHORT = conversation("user", "assistant", "user")


def event(kind: str, talk: Conversation | None, at: int = -1, *more: str) -> bytes:
    return Abouts(KEY).event(kind, "c", "s", talk, at, *more)


def test_an_event_about_a_run_is_the_same_in_a_longer_history() -> None:
    """Wherever the message stands by then; another run is another event."""
    assert event("call-refused", SHORT, 2) == event("call-refused", LONG, 2)
    assert event("call-refused", SHORT, 2) == event("call-refused", SHORT)
    assert event("call-refused", LONG, 2) != event("call-refused", LONG)
    assert event("call-refused", LONG, 2) != event("call-refused", LONG, 2, "tool")


def test_an_event_about_a_turn_is_the_same_for_all_its_rounds() -> None:
    """Whichever message the event names."""
    assert event("turn-limit", SHORT, 2) == event("turn-limit", LONG, 4)
    later = conversation("user", "assistant", "user", turn=2)
    assert event("turn-limit", SHORT) != event("turn-limit", later)


def test_an_event_about_a_session_needs_no_conversation() -> None:
    """What the conversation is does not count."""
    assert event("rate-hard", SHORT, -1, "1") == event("rate-hard", None, -1, "1")
    assert event("rate-hard", None, -1, "1") != event("rate-hard", None, -1, "2")


def test_whose_it_is_counts() -> None:
    """Kind, client, session and key are all part of it."""
    one = Abouts(KEY)
    digests = {
        one.event("call-refused", "c", "s", SHORT),
        one.event("call-refused", "d", "s", SHORT),
        one.event("call-refused", "c", "t", SHORT),
        one.event("marker-leak", "c", "s", SHORT),
        Abouts(b"l" * 32).event("call-refused", "c", "s", SHORT),
    }
    assert len(digests) == 5
    assert one.event("call-refused", "c", "s", SHORT) in digests


def test_a_message_that_is_in_no_run_stands_for_itself() -> None:
    """Output of the model, or text before the conversation."""
    assert event("unknown-part", LONG, 1) == event("unknown-part", SHORT, 1)
    assert event("unknown-part", LONG, 1) != event("unknown-part", LONG, 3)


def test_a_body_without_messages_stands_for_itself() -> None:
    """A plain string in their place, or nothing."""
    empty = Conversation("d", "m", False, (), (), 0, (), (), (), prompt=(b"p" * 32,))
    other = Conversation("d", "m", False, (), (), 0, (), (), (), prompt=(b"q" * 32,))
    assert event("egress-blocked", empty) == event("egress-blocked", empty)
    assert event("egress-blocked", empty) != event("egress-blocked", other)
    assert event("egress-blocked", conversation("system"), 0) != event("egress-blocked", empty)
