"""The independent reader: turns, speakers, and what of an earlier turn may leave."""

from typing import Any

import msgspec
import pytest

from policies.drop_notice import build_drop_notice
from policies.turn_minimal import (
    RESULT,
    NotMinimal,
    allowlist,
    assert_turn_minimal,
    heads,
    leading,
    may_stay,
    turn,
)

NOTICE = build_drop_notice(count=1, iteration=1, strategy="dialogue")


def block(kind: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, **more}


def said(role: str, *content: Any, **more: Any) -> dict[str, Any]:
    one = content[0] if len(content) == 1 and isinstance(content[0], str) else [*content]
    return {"role": role, "content": one, **more}


TEXT = block("text", text="words")
CALL = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
FOUND = block("tool_result", tool_use_id="c", content="found")


@pytest.mark.parametrize(
    ("messages", "begin"),
    [
        ([], 0),
        ([said("user", "a")], 0),
        ([said("system", "s"), said("user", "a"), said("assistant", "b"), said("user", "c")], 3),
        ([said("user", "a"), said("assistant", "b"), said("user", FOUND, TEXT)], 0),
        ([said("user", "a"), said("assistant", "b"), said("tool", "f")], 0),
        ([said("user", "a"), said("assistant", "b"), said("tool", "f"), said("user", "c")], 0),
        (
            [
                said("user", "a"),
                block("function_call"),
                block("function_call_output"),
                said("user", "b"),
            ],
            0,
        ),
        ([said("USER", "a"), said("Assistant", "b"), said("Function", "f")], 0),
        ([said("user", "a"), block("function_call"), block("function_call_output")], 0),
        ([said("user", "a"), {"id": "x"}, said("developer", "d"), said("user", "b")], 2),
        ([said("user", "a"), block("program_output"), said("user", "b")], 2),
        ([said("user", "a"), block("tool_search_output"), said("user", "b")], 2),
        ([said("user", "a"), block("reasoning"), block("mcp_approval_response")], 0),
        (
            [
                said("user", "a"),
                block("tool_search_call"),
                block("tool_search_output", execution="client"),
            ],
            0,
        ),
        ([block("additional_tools"), said("user", "a")], 1),
        ([said("assistant", "a")], 0),
    ],
)
def test_turns_are_found(messages: list[Any], begin: int) -> None:
    """Where the newest run begins that answers no call and holds words of a user."""
    assert turn(heads(msgspec.json.encode(messages), "input")) == begin


@pytest.mark.parametrize("beside", ['"x"', "5", "null", '{"type":5}', "[{}]"])
def test_a_result_among_parts_of_other_shapes_is_seen(beside: str) -> None:
    """Whatever stands beside it: a message with a result in it begins no turn, one without does."""
    asked = '{"role":"user","content":"a"},{"role":"assistant","content":"b"}'
    for part, begin in (('{"type":"tool_result"}', 0), ('{"type":"text"}', 2)):
        raw = f'[{asked},{{"role":"user","content":[{beside},{part}]}}]'
        assert turn(heads(raw.encode(), "messages")) == begin


@pytest.mark.parametrize("held", ["5", "null", '{"type":"tool_result"}', "[5]", "[[]]"])
@pytest.mark.parametrize("key", ["messages", "input"])
def test_what_is_held_in_another_shape_is_no_result(held: str, key: str) -> None:
    """Such a message of the user begins a turn, and one that holds a result is still told."""
    asked = '{"role":"user","content":"a"},{"role":"assistant","content":"b"}'
    odd = f'{{"role":"user","content":{held}}}'
    answer = '{"role":"user","content":[{"type":"tool_result"}]}'
    assert turn(heads(f"[{asked},{odd}]".encode(), key)) == 2
    assert turn(heads(f"[{odd},{answer}]".encode(), key)) == 0
    assert turn(heads(f"[{asked},{answer},{odd}]".encode(), key)) == 0


@pytest.mark.parametrize("held", ["{}", '{{"n":{}}}', '[{{"type":null,"n":{}}}]', "[{}]"])
@pytest.mark.parametrize("key", ["messages", "input"])
def test_a_number_of_very_many_digits_says_nothing(held: str, key: str) -> None:
    """Python refuses to take it as one: where the turn begins is told all the same."""
    odd = f'{{"role":"user","content":{held.format("1" * 5000)}}}'
    more = f'{{"role":"user","content":[{{"type":"text","n":{"1" * 5000}}}]}}'
    assert turn(heads(f'[{odd},{{"role":"assistant"}},{more}]'.encode(), key)) == 2


def test_of_a_part_of_the_messages_only_what_can_be_seen_is_told() -> None:
    """A run that may begin before the first of them has no beginning here."""
    rest = [said("user", "b"), said("assistant", "c")]
    assert turn(heads(msgspec.json.encode(rest), "input"), whole=False) is None
    more = [said("assistant", "a"), *rest]
    assert turn(heads(msgspec.json.encode(more), "input"), whole=False) == 1
    assert (
        turn(heads(msgspec.json.encode([said("assistant", "a")]), "messages"), whole=False) is None
    )
    assert leading(heads(msgspec.json.encode([said("system", "a")]), "messages")) == 1


DIALOGUE: list[Any] = [
    said("user", "words"),
    said("user", TEXT, name="ada", cache_control={"type": "ephemeral"}),
    said("assistant", TEXT, block("text", text="more", cache_control={"type": "ephemeral"})),
    said("assistant", block("output_text", text="words", annotations=[]), type="message", id="m"),
    {"role": "assistant", "content": None, "refusal": "no"},
    {"role": "assistant", "content": "words", "tool_calls": [], "images": []},
    said("developer", "words"),
    said("system", block("tool_addition", tool={})),
    block("additional_tools", tools=[]),
]
ELIDED: list[Any] = [
    said("assistant", block("tool_use", id="c", name="read", input={})),
    said("user", block("tool_result", tool_use_id="c", content=RESULT)),
    said("user", block("tool_result", tool_use_id="c")),
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "assistant", "tool_calls": [{"type": "custom", "custom": {"input": ""}}]},
    {"role": "assistant", "content": "", "tool_calls": [{"function": {"arguments": {}}}]},
    {"role": "tool", "tool_call_id": "c", "content": RESULT},
    {"role": "Tool", "tool_call_id": "c", "content": RESULT},
    block("function_call", call_id="c", name="read", arguments="{}"),
    block("custom_tool_call", call_id="c", name="exec", input=""),
    block("custom_tool_call_output", call_id="c", output=RESULT),
]
NEVER: list[Any] = [
    "words",
    said("user", FOUND),
    said("user", TEXT, block("image", source={})),
    said("user", block("document", source={})),
    said("assistant", block("thinking", thinking="", signature="x")),
    said("assistant", block("tool_use", id="c", name="read", input={"path": "x"})),
    said("assistant", block("text", text="words", citations=[{"cited_text": "x"}])),
    said("assistant", "words", reasoning_content="x"),
    said("assistant", "words", tool_calls=[{"function": {"arguments": '{"a":1}'}}]),
    said("assistant", "words", tool_calls=["x"]),
    said("tool", "found"),
    {"role": "tool", "content": RESULT, "images": ["x"]},
    {"role": "user", "content": {"odd": 1}},
    {"role": "user", "content": ["words"]},
    {"role": "user", "content": "words", "more": "x"},
    block("function_call", call_id="c", arguments='{"a":1}'),
    block("function_call_output", call_id="c", output="found"),
    block("reasoning", encrypted_content="x"),
    block("compaction", encrypted_content="x"),
    block("custom_tool_call", call_id="c", input="x"),
]


@pytest.mark.parametrize("message", DIALOGUE)
def test_words_of_operator_and_model_may_stay(message: Any) -> None:
    """In dialogue; in strict only what grants tools."""
    assert may_stay(message, "dialogue", elides=False)
    grants = message in DIALOGUE[-2:]
    assert may_stay(message, "strict", elides=True) is grants


@pytest.mark.parametrize("message", ELIDED)
def test_emptied_pairs_may_stay(message: Any) -> None:
    """Where they are elided, and nowhere else."""
    assert may_stay(message, "strict", elides=True)
    assert not may_stay(message, "dialogue", elides=False)


@pytest.mark.parametrize("message", NEVER)
def test_nothing_else_may_stay(message: Any) -> None:
    """No call, no result, no thought, no picture, nothing of a kind that is not known."""
    assert not may_stay(message, "dialogue", elides=True)
    assert not may_stay(message, "dialogue", elides=False)


def test_no_result_may_stay() -> None:
    """What was found in an earlier turn, beside whatever words."""
    assert not may_stay(said("user", TEXT, FOUND), "dialogue", elides=True)


HISTORY = {
    "messages": [
        said("system", "s"),
        said("user", "first"),
        said("assistant", "early", tool_calls=[CALL]),
        said("tool", "found", tool_call_id="c"),
        said("assistant", "done"),
        said("user", "second"),
        said("assistant", "late", tool_calls=[CALL]),
        said("tool", "now", tool_call_id="c"),
    ]
}


def outbound(*earlier: Any) -> dict[str, Any]:
    messages = HISTORY["messages"]
    return {"messages": [messages[0], said("system", "ours"), *earlier, *messages[5:]]}


def test_what_is_minimal_passes() -> None:
    """The turn alone, or with what was said; a notice is ours."""
    assert_turn_minimal(outbound(), allowlist(HISTORY, "strict"))
    assert_turn_minimal(outbound(said("user", NOTICE)), allowlist(HISTORY, "strict"))
    kept = [said("user", "first"), said("assistant", "early"), said("assistant", "done")]
    assert_turn_minimal(outbound(*kept), allowlist(HISTORY, "dialogue"))
    assert_turn_minimal(HISTORY, allowlist(HISTORY, "off"))
    assert_turn_minimal({"input": "words"}, allowlist({"input": "words"}, "strict"))


@pytest.mark.parametrize(
    ("mode", "earlier"),
    [
        ("strict", said("user", "first")),
        ("strict", said("assistant", "done")),
        ("dialogue", said("tool", "found", tool_call_id="c")),
        ("dialogue", said("user", "a secret of another house")),
        ("dialogue", said("assistant", "early", tool_calls=[CALL])),
        ("dialogue", said("user", f"{NOTICE}\nfound")),
    ],
)
def test_what_is_not_minimal_is_named(mode: str, earlier: Any) -> None:
    """One message too many, or a text that nobody said."""
    with pytest.raises(NotMinimal, match=r"messages\[2\]"):
        assert_turn_minimal(outbound(earlier), allowlist(HISTORY, mode))


def test_words_may_leave_without_what_stood_beside_them() -> None:
    """Of a part with fields of its own only the text is in view, and it is what was said."""
    cited = block("text", text="words", citations=[{"cited_text": "found"}])
    came = {"messages": [said("user", "a"), said("assistant", cited, 5), said("user", "b")]}
    sent = {"messages": [said("user", "a"), said("assistant", TEXT), said("user", "b")]}
    assert_turn_minimal(sent, allowlist(came, "dialogue"))
    with pytest.raises(NotMinimal):
        assert_turn_minimal(came, allowlist(came, "dialogue"))
