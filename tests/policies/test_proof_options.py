"""The proof admits what the envelope's options and a new beginning do, and nothing beside it."""

import json

import pytest

from policies.decision import Claimed, FrameRow, Placed
from policies.proof_frames import Frames
from policies.proof_plan import Planned
from policies.prove import Cleared, Mark, ProofFailed, prove
from tests.policies.test_prove import NONCE, dump, frame, screened

LONG = 'He wrote: "TRANSOM_DATA" and\nmore.'
KEPT = FrameRow(NONCE, "read", intro=True, kept=9)
JSON = FrameRow(NONCE, "read", intro=True, encode="json")
BOTH = FrameRow(NONCE, "read", intro=True, kept=9, encode="json")
PLAIN = FrameRow(NONCE, "read", intro=True)


def cut(content: str, kept: int = 9, length: int = len(LONG)) -> str:
    return f"{frame(content)}\n[truncated by Transom: {kept} of {length} characters]"


def quoted(text: str) -> str:
    return json.dumps(text.replace("TRANSOM_DATA", "transom-data-marker-removed"))


@pytest.mark.parametrize(
    ("row", "sent"),
    [
        (KEPT, cut(LONG[:9])),
        (JSON, frame(quoted(LONG))),
        (BOTH, cut(quoted(LONG[:9]))),
    ],
    ids=["cut", "json", "both"],
)
def test_a_frame_is_met_as_its_row_says(row: FrameRow, sent: str) -> None:
    """Cut, encoded, or both; under another row the same string is no frame."""
    mine = Frames(Claimed({0: row}), {0: LONG})
    assert mine.meet(LONG, sent)
    assert not mine.left
    for other in {KEPT, JSON, BOTH, PLAIN} - {row}:
        assert not Frames(Claimed({0: other}), {0: LONG}).meet(LONG, sent)


@pytest.mark.parametrize(
    ("row", "sent"),
    [
        (KEPT, cut(LONG[:10])),
        (KEPT, cut(LONG[:8])),
        (KEPT, cut(LONG[:9], kept=8)),
        (KEPT, cut(LONG[:9], length=10)),
        (KEPT, cut(LONG[:9]).replace("\n[trunc", " [trunc")),
        (KEPT, cut(LONG[:9]) + "\n"),
        (KEPT, frame(LONG[:9])),
        (KEPT, frame(cut(LONG[:9]))),
        (FrameRow(NONCE, "read", intro=True, kept=len(LONG)), cut(LONG, kept=len(LONG))),
        (JSON, frame(json.dumps(LONG))),
        (JSON, frame(" " + quoted(LONG))),
        (JSON, frame(quoted(LONG) + " ")),
        (JSON, frame(quoted(LONG).replace("H", "\\u0048"))),
        (JSON, frame(quoted("Other."))),
        (JSON, frame('["a"]')),
        (JSON, frame("no json")),
        (JSON, frame(LONG.replace("TRANSOM_DATA", "transom-data-marker-removed"))),
    ],
)
def test_no_other_cut_or_encoding_is_met(row: FrameRow, sent: str) -> None:
    """A character more or less, other numbers, another spelling of the same JSON: not ours."""
    mine = Frames(Claimed({0: row}), {0: LONG})
    assert not mine.meet(LONG, sent)
    assert mine.left


WORDS = "See <f>one</f> and <f>two</f>."
ONE = FrameRow(NONCE, "tool_result", intro=True)
TWO = FrameRow(NONCE, "tool_result", intro=False)


def span(text: str, *, intro: bool) -> str:
    return "\n" + frame(text, field="tool_result", intro=intro) + "\n"


def spans(one: str = "one", two: str = "two") -> str:
    first, second = span(one, intro=True), span(two, intro=False)
    return f"See <f>{first}</f> and <f>{second}</f>."


def within() -> Frames:
    return Frames(Claimed({0: ONE, 1: TWO}), {0: "one", 1: "two"})


def test_frames_within_words_of_a_user_are_met() -> None:
    """Each round its span, on lines of its own; all else stands as it came."""
    mine = within()
    assert mine.within(WORDS, spans())
    assert not mine.left
    assert mine.met == [(ONE, "one"), (TWO, "two")]


@pytest.mark.parametrize(
    "sent",
    [
        WORDS,
        spans(one="other"),
        spans().replace("and", "or"),
        spans() + "!",
        spans().replace("See <f>\n", "See <f>"),
        "See <f>" + span("one", intro=True) + "</f> and <f>two</f>" + ".x",
        spans().replace("</f>.", span("two", intro=False) + "</f>."),
        "\n" + spans(),
    ],
)
def test_nothing_else_in_the_words_of_a_user_may_change(sent: str) -> None:
    """A frame round other text, a changed word, one more frame: none of it is met, and none of
    the frames is taken."""
    mine = within()
    assert not mine.within(WORDS, sent)
    assert mine.met == []


def test_a_span_of_its_own_nonce_is_no_frame() -> None:
    """Text that holds the nonce was written by someone who knew it."""
    mine = Frames(Claimed({0: ONE}), {0: NONCE})
    assert not mine.within(f"<f>{NONCE}</f>", f"<f>{span(NONCE, intro=True)}</f>")


THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "sealed"}
CALL = {"type": "tool_use", "id": "t", "name": "read", "input": {}}
TALK = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [THOUGHT, CALL]},
        {"role": "assistant", "content": [THOUGHT]},
        {"role": "user", "content": "And now?"},
    ],
}
ITEMS = {
    "model": "m",
    "input": [
        {"role": "user", "content": "Go."},
        {"type": "reasoning", "encrypted_content": "sealed"},
        {"type": "function_call_output", "call_id": "c", "output": "R"},
    ],
}
LEFT = "[left out]"


def check(
    body: object, client: object, *removed: tuple[str | int, ...], **changes: object
) -> Cleared:
    came = dump(client)
    placed = changes.get("placed", ())
    return prove(
        dump(body),
        client_body=came,
        screened=screened(came),
        texts={},
        claimed=Claimed({}),
        authored={LEFT},
        marks=changes.get("marks", {}),  # type: ignore[arg-type]
        planned=Planned(frozenset(removed), placed),  # type: ignore[arg-type]
    )


def shorter(*contents: list[object]) -> dict[str, object]:
    """The talk, with other contents of the model's two messages."""
    first, one, two, last = TALK["messages"]
    models = [
        {**message, "content": content}  # type: ignore[dict-item]
        for message, content in zip((one, two), contents, strict=True)
    ]
    return {**TALK, "messages": [first, *models, last]}


BLOCK, ALONE = ("messages", 1, "content", 0), ("messages", 2, "content", 0)


def test_thinking_that_was_planned_to_go_may_be_missing() -> None:
    """As a block, as all that a message held, as an item, as a member of a message."""
    assert check(shorter([CALL], [{"type": "text", "text": LEFT}]), TALK, BLOCK, ALONE)
    fewer = {**ITEMS, "input": [ITEMS["input"][0], ITEMS["input"][2]]}
    assert check(fewer, ITEMS, ("input", 1))
    routed = {"messages": [{"role": "assistant", "content": "x", "reasoning_details": [THOUGHT]}]}
    plain = {"messages": [{"role": "assistant", "content": "x"}]}
    assert check(plain, routed, ("messages", 0, "reasoning_details"))


@pytest.mark.parametrize(
    ("sent", "client", "removed"),
    [
        (shorter([CALL], [THOUGHT]), TALK, ()),
        (TALK, TALK, (BLOCK,)),
        (shorter([CALL], [THOUGHT]), TALK, (BLOCK, ALONE)),
        (shorter([THOUGHT], [THOUGHT]), TALK, (("messages", 1, "content", 1),)),
        (shorter([], [THOUGHT]), TALK, (BLOCK, ("messages", 1, "content", 1))),
        (shorter([CALL], [{"type": "text", "text": "smuggled"}]), TALK, (BLOCK, ALONE)),
        (shorter([CALL, CALL], [THOUGHT]), TALK, (BLOCK,)),
        ({**TALK, "messages": TALK["messages"][:3]}, TALK, (("messages", 3),)),
        ({**TALK, "messages": TALK["messages"][1:]}, TALK, (("messages", 0),)),
        ({**ITEMS, "input": ITEMS["input"][:2]}, ITEMS, (("input", 2),)),
        ({**ITEMS, "input": ITEMS["input"][::2]}, ITEMS, ()),
        (ITEMS, ITEMS, (("input", 1),)),
    ],
)
def test_nothing_else_may_be_missing(
    sent: object, client: object, removed: tuple[tuple[str | int, ...], ...]
) -> None:
    """What was not planned, what is no thinking though it was planned, and thinking that stayed
    against the plan."""
    with pytest.raises(ProofFailed):
        check(sent, client, *removed)


def test_a_mark_holds_under_the_same_plan_alone() -> None:
    """A message that was proved with its thinking left out vouches for nothing where it is not."""
    body = shorter([CALL], [THOUGHT])
    marks: dict[bytes, Mark] = {mark.digest: mark for mark in check(body, TALK, BLOCK).marks}
    assert marks
    assert check(body, TALK, BLOCK, marks=marks).marks == ()
    with pytest.raises(ProofFailed):
        check(body, TALK, marks=marks)


ASKED = "[operator] Go."
CHAT = {
    "model": "m",
    "messages": [
        {"role": "user", "content": "Go."},
        {"role": "tool", "content": "R"},
        {"role": "assistant", "content": "x"},
    ],
}
HERE = Placed(1, ASKED, 0, ("messages", 0, "content"), known=False)


def with_message(message: object, at: int = 2) -> dict[str, object]:
    messages = [*CHAT["messages"]]
    messages.insert(at, message)  # type: ignore[arg-type]
    return {**CHAT, "messages": messages}


SAYS = {"role": "user", "content": ASKED}


def test_a_planned_text_stands_behind_its_message() -> None:
    """Words of a user of this very body, labelled, once."""
    assert check(with_message(SAYS), CHAT, placed=(HERE,))


@pytest.mark.parametrize(
    ("sent", "placed"),
    [
        (CHAT, (HERE,)),
        (with_message(SAYS), ()),
        (with_message(SAYS, at=1), (HERE,)),
        (with_message(SAYS, at=4), (HERE,)),
        (with_message({**SAYS, "role": "system"}), (HERE,)),
        (with_message({**SAYS, "content": "[operator] Stop."}), (HERE,)),
        (
            with_message({**SAYS, "content": "[operator] Stop."}),
            (Placed(1, "[operator] Stop.", 0, ("messages", 0, "content"), known=True),),
        ),
        (with_message(SAYS), (Placed(1, ASKED, 0, ("messages", 1, "content"), known=True),)),
        (with_message(SAYS), (Placed(1, ASKED, 0, ("messages", 9, "content"), known=True),)),
        (with_message(SAYS), (Placed(1, ASKED, 0, ("input", 0, "content"), known=True),)),
        (with_message(SAYS), (Placed(1, ASKED, 0, (), known=True),)),
        (with_message({"role": "user", "content": "Go."}), (HERE,)),
    ],
)
def test_no_other_text_is_placed(sent: object, placed: tuple[Placed, ...]) -> None:
    """Another place, role or text, words that no user said, a plan without its text, a text
    without its plan."""
    with pytest.raises(ProofFailed):
        check(sent, CHAT, placed=placed)


def test_the_same_text_does_not_stand_twice() -> None:
    """One plan, one text."""
    twice = with_message(SAYS)
    twice["messages"].insert(2, SAYS)  # type: ignore[attr-defined]
    with pytest.raises(ProofFailed):
        check(twice, CHAT, placed=(HERE,))


TOOLS = [{"name": "read"}]


@pytest.mark.parametrize(
    ("came", "sent", "off", "on"),
    [
        ({"tools": TOOLS}, {"tools": TOOLS, "tool_choice": "none"}, True, False),
        ({"tools": TOOLS}, {"tools": TOOLS, "tool_choice": {"type": "none"}}, True, False),
        (
            {"tool_choice": "auto", "tools": TOOLS},
            {"tool_choice": "none", "tools": TOOLS},
            True,
            False,
        ),
        ({"functions": TOOLS}, {"functions": TOOLS, "function_call": "none"}, True, False),
        ({"tools": TOOLS, "model": "m"}, {"model": "m"}, True, False),
        ({"model": "m", "tools": TOOLS}, {"model": "m"}, True, False),
        ({"tools": []}, {"tools": []}, True, True),
        ({"tools": TOOLS}, {"tools": TOOLS}, False, True),
        ({"tools": TOOLS}, {"tools": TOOLS, "tool_choice": "auto"}, False, False),
        ({"tools": TOOLS}, {"tools": TOOLS, "tool_choice": ["none"]}, False, False),
        ({"tools": TOOLS}, {"tools": TOOLS, "function_call": "none"}, False, False),
        ({"tools": TOOLS}, {"tools": [], "tool_choice": "none"}, False, False),
        ({"functions": TOOLS}, {}, False, False),
        (
            {"tools": TOOLS, "functions": TOOLS},
            {"tools": TOOLS, "functions": TOOLS, "tool_choice": "none"},
            False,
            False,
        ),
    ],
)
def test_tool_use_is_off_where_that_is_planned(
    came: dict[str, object], sent: dict[str, object], off: bool, on: bool
) -> None:
    """It is said for all tools or they are left out, and nothing of it where it is not planned."""
    for planned, fine in ((Planned(tool_use=False), off), (Planned(), on)):
        given = {
            "client_body": dump(came),
            "screened": screened(dump(came)),
            "texts": {},
            "claimed": Claimed({}),
            "authored": (),
            "planned": planned,
        }
        if fine:
            assert prove(dump(sent), **given).body == dump(sent)  # type: ignore[arg-type]
        else:
            with pytest.raises(ProofFailed):
                prove(dump(sent), **given)  # type: ignore[arg-type]
