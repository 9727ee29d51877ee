"""What is remembered of answers from home, and how a conversation is told that holds one."""

from dataclasses import replace
from typing import Any

import pytest

from policies.conversation import Piece
from proxy.apart import Apart
from proxy.dialects import ALL
from proxy.home_only import ENOUGH, LEAST, MOST, HomeOnly
from proxy.lazyjson import dump, read
from proxy.state.memory import MemoryStore

ANSWER = "The vault stands behind the third door on the left."


def talk(*texts: str) -> Any:
    messages = [{"role": "user", "content": text} for text in texts]
    return ALL["anthropic_messages"].view(read(dump({"model": "m", "messages": messages})))


@pytest.fixture
def marks() -> HomeOnly:
    return HomeOnly(MemoryStore(), b"k" * 32, Apart())


async def test_the_session_and_the_conversation_are_held(marks: HomeOnly) -> None:
    """By either alone; of this client and of no other."""
    await marks.hold("c", "s", talk("one"))
    assert await marks.holds("c", "s", talk("two"))
    assert await marks.holds("c", "t", talk("one"))
    assert not await marks.holds("c", "t", talk("two"))
    assert not await marks.holds("d", "s", talk("one"))


async def test_without_a_name_the_conversation_is_held(marks: HomeOnly) -> None:
    """No session is no common session."""
    await marks.hold("c", "", talk("one"))
    assert await marks.holds("c", "", talk("one"))
    assert not await marks.holds("c", "", talk("two"))


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (ANSWER, True),
        (f"He said:\n   {ANSWER.replace(' ', '  ')}\nreally", True),
        (f"He said: {ANSWER}", False),
        (ANSWER[:-1], False),
        ("x", False),
    ],
)
async def test_a_line_of_an_answer_is_known_again(marks: HomeOnly, text: str, held: bool) -> None:
    """However it is indented; a part of a line is not looked for."""
    await marks.hold("c", "s", talk("one"))
    await marks.said("c", "s", [ANSWER, "and more\n"], talk("one"))
    assert await marks.holds("c", "t", talk("two", text)) is held


async def test_short_lines_count_together(marks: HomeOnly) -> None:
    """One says little; several say whose they are. What an answer says in one line says it all."""
    lines = [f"line number {number:02}" for number in range(1, 5)]
    await marks.hold("c", "s", talk("one"))
    await marks.said("c", "s", ["\n".join(lines)], talk("one"))
    assert len("".join(lines[:2])) < ENOUGH <= len("".join(lines[:3]))
    assert not await marks.holds("c", "t", talk("\n".join(lines[:2])))
    assert await marks.holds("c", "t", talk("\n".join(lines[:3])))
    await marks.said("c", "s", ["it is blue"], talk("one"))
    assert await marks.holds("c", "t", talk("So:\nit is blue"))
    await marks.said("c", "s", ["a" * (LEAST - 1)], talk("one"))
    assert not await marks.holds("c", "t", talk("a" * (LEAST - 1)))


async def test_lines_of_the_request_are_not_the_answer_s(marks: HomeOnly) -> None:
    """Models repeat what they were asked."""
    await marks.hold("c", "s", talk("one"))
    await marks.said("c", "s", [ANSWER], talk("one", ANSWER))
    assert not await marks.holds("c", "t", talk("two", ANSWER))


async def test_what_was_read_before_an_answer_does_not_repeat_it(marks: HomeOnly) -> None:
    """So it is read once."""
    await marks.hold("c", "s", talk("one"))
    assert not await marks.holds("c", "t", talk("two", ANSWER))
    await marks.said("c", "s", [ANSWER], talk("one"))
    assert not await marks.holds("c", "t", talk("two", ANSWER))
    assert await marks.holds("c", "t", talk("two", ANSWER, ANSWER + "\nmore"))


async def test_very_long_answers_are_remembered_in_part(marks: HomeOnly) -> None:
    """Their session is held in any case."""
    lines = [f"this is the line {number} of a very long answer" for number in range(MOST + 9)]
    text = "\n".join(lines)
    await marks.hold("c", "s", talk("one"))
    await marks.said("c", "s", [text], talk("one"))
    assert await marks.holds("c", "t", talk(lines[0]))
    assert not await marks.holds("c", "t", talk(lines[-1]))


async def test_whether_there_are_marks_at_all(marks: HomeOnly) -> None:
    """Nodes without a home need not ask again and again."""
    await marks.start()
    assert not marks.any
    await marks.hold("c", "s", talk("one"))
    assert marks.any
    assert await marks.release("s") == 3
    await marks.start()
    assert not marks.any


async def test_what_cannot_be_read_is_left_to_the_screen(marks: HomeOnly) -> None:
    """A piece with a key twice is refused there, whatever is said here."""
    await marks.hold("c", "s", talk("one"))
    seen = talk("two")

    def unreadable() -> Any:
        raise ValueError("a key twice")

    piece = Piece(("metadata",), b"d" * 32, unreadable)
    assert not await marks.holds("c", "t", replace(seen, pieces=(*seen.pieces, piece)))
