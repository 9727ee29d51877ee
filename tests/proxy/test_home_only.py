"""What is remembered of answers from home, and how a conversation is told that holds one."""

from typing import Any

import pytest
from msgspec.structs import replace

from policies.conversation import Piece
from proxy.apart import Apart
from proxy.dialects import ALL
from proxy.home_only import ENOUGH, LEAST, MOST, Held, HomeOnly
from proxy.lazyjson import dump, read
from proxy.state.base import StateError
from proxy.state.memory import MemoryStore
from tests.scenes import bodies

ANSWER = "The vault stands behind the third door on the left."


def talk(*texts: str) -> Any:
    messages = [{"role": "user", "content": text} for text in texts]
    return ALL["anthropic_messages"].view(read(dump({"model": "m", "messages": messages})))


@pytest.fixture
def marks() -> HomeOnly:
    return HomeOnly(MemoryStore(), b"k" * 32, Apart())


async def stays(marks: HomeOnly, client: str, session: str, conversation: Any) -> bool:
    found = await marks.look(client, session, conversation)
    if not found.unsure:
        return found.stays
    return await marks.repeats(client, conversation.pieces)


async def test_the_session_and_the_conversation_are_known(marks: HomeOnly) -> None:
    """By either alone; of this client and of no other. Another beginning in the session stays."""
    await marks.hold("c", "s", talk("one"))
    assert await marks.look("c", "t", talk("one")) == Held(marked=True)
    assert await marks.look("c", "s", talk("two")) == Held(stays=True)
    assert await marks.look("c", "t", talk("two")) == Held(unsure=True)
    assert await marks.look("d", "s", talk("one")) == Held()


async def test_without_a_name_the_conversation_is_known(marks: HomeOnly) -> None:
    """No session is no common session."""
    await marks.hold("c", "", talk("one"))
    assert (await marks.look("c", "", talk("one"))).marked
    assert await marks.look("c", "", talk("two")) == Held(unsure=True)


def spoken(letters: str) -> Any:
    """User messages `a`, `b`, …, and between them answers of the model, the upper-case letters."""
    messages = [
        {"role": "assistant" if letter.isupper() else "user", "content": f"the words of {letter}"}
        for letter in letters
    ]
    return ALL["openai_chat"].view(read(dump({"model": "m", "messages": messages})))


async def held(marks: HomeOnly, letters: str) -> str:
    """The letters that must not leave; all of them, if it stays."""
    found = await marks.look("c", "s", spoken(letters))
    assert found.marked is not found.stays
    return letters if found.stays else "".join(letters[n] for n in sorted(found.messages))


async def test_what_was_said_before_and_by_a_cloud_is_free(marks: HomeOnly) -> None:
    """The answer to the question that home was asked is held, however it is spelled, and so is what
    a model says behind a question that no cloud was asked."""
    await marks.hold("c", "s", spoken("aAb"))
    assert await held(marks, "aAbBc") == "B"
    assert await held(marks, "aAbXYc") == "XY"
    await marks.went("c", "s", spoken("aAbBc"))
    assert await held(marks, "aAbBcC") == "B"
    assert await held(marks, "aAbBcCd") == "B"
    await marks.stayed("c", "s", spoken("aAbBcCd"))
    assert await held(marks, "aAbBcCdDe") == "BD"
    assert await held(marks, "aAbBcCdDeE") == "BDE"
    assert await held(marks, "aAc") == ""


async def test_home_may_answer_again(marks: HomeOnly) -> None:
    """What it answers later is held as well, and nothing of what a cloud gave in between."""
    await marks.hold("c", "s", spoken("aAb"))
    await marks.went("c", "s", spoken("aAbBc"))
    await marks.hold("c", "s", spoken("aAbBcCd"), repeats=True)
    assert await held(marks, "aAbBcCdDe") == "BD"


async def test_what_both_were_asked_is_held(marks: HomeOnly) -> None:
    """Whoever's answer it is that the client kept."""
    await marks.hold("c", "s", spoken("aAb"))
    await marks.went("c", "s", spoken("aAb"))
    assert await held(marks, "aAbBc") == "B"


async def test_what_a_model_says_before_anybody_asked_is_held(marks: HomeOnly) -> None:
    """Nobody gave it here."""
    await marks.hold("c", "s", spoken("Aa"))
    assert await held(marks, "AaBb") == "AB"


async def test_an_earlier_question_that_nobody_has_seen_keeps_all_of_it(marks: HomeOnly) -> None:
    """It may be a summary. Where it is the newest one, it is a question like any other."""
    await marks.hold("c", "s", spoken("aAb"))
    assert await held(marks, "aAzZc") == "aAzZc"
    assert await held(marks, "aAz") == ""
    await marks.went("c", "s", spoken("aAz"))
    assert await held(marks, "aAzZc") == ""


async def test_a_text_of_home_is_known_wherever_it_stands(marks: HomeOnly) -> None:
    """Also where a cloud was asked; in other blanks, as one part of several."""
    await marks.hold("c", "s", spoken("aAb"))
    await marks.said("c", "s", ["the  words of\nB", "the words of X"], spoken("aAb"))
    assert await held(marks, "aBc") == "B"
    assert await held(marks, "aXc") == ""
    await marks.said("c", "s", ["C" * (LEAST - 1)], spoken("aAb"))
    assert await held(marks, "aAbBc") == "B"


@pytest.mark.parametrize("dialect", bodies.BODIES)
async def test_a_result_without_its_call_keeps_all_of_it(marks: HomeOnly, dialect: str) -> None:
    """The call may have been home's; with ids or without, whoever else was called."""
    body = bodies.BODIES[dialect]("found")
    key = "input" if "input" in body else "messages"
    asked, call, found = body[key]

    def view(*messages: Any) -> Any:
        return ALL[dialect].view(read(dump({**body, key: [asked, *messages]})))

    says = {"role": "assistant", "content": "Let me see."}
    await marks.hold("c", "s", view(call, found))
    for fine in ((call, found), (call, says, found), (says, call, found), (call, found, says)):
        assert not (await marks.look("c", "s", view(*fine))).stays
    for wrong in ((found,), (says, found), (found, call), (call, found, says, asked, says, found)):
        stays_whole = (await marks.look("c", "s", view(*wrong))).stays
        assert stays_whole or (dialect != "ollama_chat" and wrong[0] is call)


async def test_another_beginning_keeps_the_whole_session(marks: HomeOnly) -> None:
    """Until it is released; then nothing is known of either."""
    await marks.hold("c", "s", spoken("aAb"))
    await marks.hold("c", "s", spoken("z"))
    assert await held(marks, "aAbBc") == "aAbBc"
    assert await stays(marks, "c", "t", spoken("zZy"))
    assert await marks.release("s") > 0
    for letters in ("aAbBc", "zZy"):
        assert await marks.look("c", "s", spoken(letters)) == Held()


async def test_a_conversation_that_repeats_home_stays_as_a_whole(marks: HomeOnly) -> None:
    """What else of it is home's, nobody can say."""
    await marks.hold("c", "s", spoken("aAb"), repeats=True)
    assert await held(marks, "aAb") == "aAb"


async def test_marks_that_cannot_be_read_hold_everything(
    marks: HomeOnly, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it is not known whether this is a beginning."""

    async def fails(*_: object) -> frozenset[bytes]:
        raise StateError("no")

    with monkeypatch.context() as broken:
        broken.setattr(MemoryStore, "marked", fails)
        await marks.hold("c", "s", spoken("aAb"))
    assert await held(marks, "aAb") == "aAb"


async def test_a_prompt_without_messages_has_nothing_to_sift(marks: HomeOnly) -> None:
    """It is a conversation all the same."""
    prompt = ALL["openai_responses"].view(read(dump({"model": "m", "input": "one"})))
    await marks.hold("c", "s", prompt)
    await marks.went("c", "s", prompt)
    assert await marks.look("c", "t", prompt) == Held(marked=True)
    assert await marks.knows("c", prompt)
    assert not await marks.knows("d", prompt)


async def test_what_one_client_has_sent_is_read_again_for_another(marks: HomeOnly) -> None:
    """Answers of theirs are known to themselves alone."""
    await marks.hold("c", "s", talk("one"))
    await marks.said("c", "s", [ANSWER], talk("one"))
    await marks.hold("d", "s", talk("one"))
    assert not await stays(marks, "d", "t", talk("two", ANSWER))
    assert await stays(marks, "c", "t", talk("two", ANSWER))


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
    assert await stays(marks, "c", "t", talk("two", text)) is held


async def test_short_lines_count_together(marks: HomeOnly) -> None:
    """One says little; several say whose they are. What an answer says in one line says it all."""
    lines = [f"line number {number:02}" for number in range(1, 5)]
    await marks.hold("c", "s", talk("one"))
    await marks.said("c", "s", ["\n".join(lines)], talk("one"))
    assert len("".join(lines[:2])) < ENOUGH <= len("".join(lines[:3]))
    assert not await stays(marks, "c", "t", talk("\n".join(lines[:2])))
    assert await stays(marks, "c", "t", talk("\n".join(lines[:3])))
    await marks.said("c", "s", ["it is blue"], talk("one"))
    assert await stays(marks, "c", "t", talk("So:\nit is blue"))
    await marks.said("c", "s", ["a" * (LEAST - 1)], talk("one"))
    assert not await stays(marks, "c", "t", talk("a" * (LEAST - 1)))


async def test_lines_of_the_request_are_not_the_answer_s(marks: HomeOnly) -> None:
    """Models repeat what they were asked."""
    await marks.hold("c", "s", talk("one"))
    await marks.said("c", "s", [ANSWER], talk("one", ANSWER))
    assert not await stays(marks, "c", "t", talk("two", ANSWER))


async def test_what_was_read_before_an_answer_does_not_repeat_it(marks: HomeOnly) -> None:
    """So it is read once."""
    await marks.hold("c", "s", talk("one"))
    assert not await stays(marks, "c", "t", talk("two", ANSWER))
    await marks.said("c", "s", [ANSWER], talk("one"))
    assert not await stays(marks, "c", "t", talk("two", ANSWER))
    assert await stays(marks, "c", "t", talk("two", ANSWER, ANSWER + "\nmore"))


async def test_very_long_answers_are_remembered_in_part(marks: HomeOnly) -> None:
    """Their session is held in any case."""
    lines = [f"this is the line {number} of a very long answer" for number in range(MOST + 9)]
    text = "\n".join(lines)
    await marks.hold("c", "s", talk("one"))
    await marks.said("c", "s", [text], talk("one"))
    assert await stays(marks, "c", "t", talk(lines[0]))
    assert not await stays(marks, "c", "t", talk(lines[-1]))


async def test_whether_there_are_marks_at_all(marks: HomeOnly) -> None:
    """Nodes without a home need not ask again and again."""
    assert not await marks.present()
    other = HomeOnly(marks._store, b"k" * 32, Apart())
    await other.hold("c", "s", talk("one"))
    assert await marks.present()


async def test_what_cannot_be_read_is_left_to_the_screen(marks: HomeOnly) -> None:
    """A piece with a key twice is refused there, whatever is said here."""
    await marks.hold("c", "s", talk("one"))
    seen = talk("two")

    def unreadable() -> Any:
        raise ValueError("a key twice")

    piece = Piece(("metadata",), b"d" * 32, unreadable)
    assert not await stays(marks, "c", "t", replace(seen, pieces=(*seen.pieces, piece)))
