"""What is known of a beginning is carried over, and nothing of it is changed."""

from msgspec import structs

from policies.conversation import Conversation, Unit
from policies.past import NONE, Past, settled, texts_of


def talk(past: Past, before: Past) -> Conversation:
    return Conversation("d", "m", False, (), (), 0, (), (), (), past=past, before=before)


def extend(old: tuple[int, ...] | None, start: Past, stop: Past) -> tuple[int, ...]:
    return (*(old or ()), *range(start.messages, stop.messages))


def test_what_is_known_is_extended_by_what_is_new() -> None:
    """From nothing at first, then from the past before, then not at all."""
    first, second = Past(3), Past(5)
    asked: list[tuple[int, int]] = []

    def noted(old: tuple[int, ...] | None, start: Past, stop: Past) -> tuple[int, ...]:
        asked.append((start.messages, stop.messages))
        return extend(old, start, stop)

    for conversation, known in (
        (talk(first, NONE), (0, 1, 2)),
        (talk(second, first), (0, 1, 2, 3, 4)),
        (talk(second, first), (0, 1, 2, 3, 4)),
        (talk(second, second), (0, 1, 2, 3, 4)),
        (talk(first, NONE), (0, 1, 2)),
    ):
        assert settled(conversation, "range", noted) == known
    assert asked == [(0, 3), (3, 5)]


def test_a_past_before_that_nobody_asked_about_says_nothing() -> None:
    """Then all of it is walked over."""
    assert settled(talk(Past(4), Past(2)), "range", extend) == (0, 1, 2, 3)


def test_the_texts_of_units_are_carried_over() -> None:
    """By number; of those that were there before only once."""
    units = tuple(Unit(("messages", n), text, "tool:read") for n, text in enumerate("abcd"))
    first, second = Past(1, units=1), Past(3, units=3)
    for past, before in ((first, NONE), (second, first)):
        seen = structs.replace(talk(past, before), units=units)
        assert texts_of(seen) == {0: "a", 1: "b", 2: "c", 3: "d"}
    others = structs.replace(talk(second, first), units=(*units[:3], units[0]))
    assert texts_of(others) == {0: "a", 1: "b", 2: "c", 3: "a"}
    assert texts_of(talk(Past(), NONE)) == {}


def test_a_name_holds_what_it_depends_on() -> None:
    """Another name is another thing; and only so many are kept."""
    past = Past(2)
    for number in range(200):
        about = settled(talk(past, NONE), number, lambda old, start, stop, n=number: n + 1)
        assert about == number + 1
    assert len(past.kept) <= 32
    assert not NONE.kept
