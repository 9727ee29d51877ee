"""Texts of ours in their places, thinking taken out; and every text that is placed anywhere."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from policies.authored import AUTHORED, FORMS, LEFT_OUT, POLICY_TEXT
from policies.conversation import Address, Unit
from policies.decision import Claimed, Decision, Frame, FrameRow, Leg, Placed
from proxy.demo.evidence import framed
from proxy.dialects import ALL
from proxy.dialects.placing import SCAFFOLD, reminders
from proxy.lazyjson import read

ROW = FrameRow("a" * 32, "read", intro=True)
REMINDER = "[operator] Go."
THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}

BODIES: dict[str, dict[str, Any]] = {
    "anthropic_messages": {
        "model": "m",
        "system": "Be kind.",
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": [THINKING, {"type": "text", "text": "Well."}]},
            {"role": "assistant", "content": [THINKING]},
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c", "content": "R"}],
            },
        ],
    },
    "openai_chat": {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": "x", "reasoning_details": [{"type": "t"}]},
            {"role": "tool", "tool_call_id": "c", "content": "R"},
        ],
    },
    "openai_responses": {
        "model": "m",
        "input": [
            {"role": "user", "content": "Go."},
            {"type": "reasoning", "summary": [], "encrypted_content": "s"},
            {"type": "function_call_output", "call_id": "c", "output": "R"},
        ],
    },
    "ollama_chat": {
        "model": "m",
        "messages": [
            {"role": "user", "content": "Go."},
            {"role": "assistant", "content": "x"},
            {"role": "tool", "tool_name": "read", "content": "R"},
        ],
    },
}


def everything(dialect: str, row: FrameRow = ROW) -> dict[str, Any]:
    """The body of a dialect with all that may be placed in it placed, and all thinking left out."""
    document = read(json.dumps(BODIES[dialect]).encode())
    seen = ALL[dialect].view(document)
    last = len(seen.messages) - 1
    decision = Decision(
        Leg.CLOUD,
        (Frame(0, row, known=False),),
        policy_text=POLICY_TEXT,
        removed=tuple(way for message in seen.messages for way in message.thoughts),
        hollow=tuple(message.address for message in seen.messages if message.hollow),
        placed=(Placed(last, REMINDER, 0, ("", 0), known=False),) if seen.reminds else (),
    )
    sent: dict[str, Any] = json.loads(
        ALL[dialect].render(document, seen, decision, Claimed({0: row}))
    )
    return sent


def strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize("dialect", BODIES)
@pytest.mark.parametrize(
    "row", [ROW, FrameRow("a" * 32, "read", intro=False, kept=0, encode="json")], ids=["raw", "cut"]
)
def test_every_text_that_is_placed_is_in_the_registry(dialect: str, row: FrameRow) -> None:
    """Whatever was not the client's is a registered text, the JSON round one, a frame, or one of
    the two registered forms."""
    came = set(strings(BODIES[dialect]))
    placed = [text for text in strings(everything(dialect, row)) if text not in came]
    assert POLICY_TEXT in "".join(placed)
    label, mark = FORMS["operator/1"], FORMS["cut-mark/1"].format(kept=0, length=1)
    for text in placed:
        frame, _, rest = text.partition(f"\n{mark}")
        assert (
            text in AUTHORED.values()
            or text in SCAFFOLD
            or (framed(frame) is not None and not rest)
            or text == f"{label}Go."
        ), text


def test_thinking_is_taken_out_and_nothing_else() -> None:
    """Blocks of Anthropic, items of Responses, a member of Chat; a message that held nothing else
    keeps a word of ours."""
    messages = everything("anthropic_messages")["messages"]
    assert [message["content"] for message in messages[1:3]] == [
        [{"type": "text", "text": "Well."}],
        [{"type": "text", "text": LEFT_OUT}],
    ]
    assert [message.get("type") for message in everything("openai_responses")["input"]] == [
        "message", None, "function_call_output", "message",
    ]  # fmt: skip
    assert everything("openai_chat")["messages"][2] == {"role": "assistant", "content": "x"}


def test_reminders_stand_behind_results_as_words_of_the_user() -> None:
    """Never on Anthropic, where a text behind a result is a known cause of empty answers."""
    for dialect in ("openai_chat", "ollama_chat"):
        assert everything(dialect)["messages"][-1] == {"role": "user", "content": REMINDER}
    part = {"type": "input_text", "text": REMINDER}
    message = {"type": "message", "role": "user", "content": [part]}
    assert everything("openai_responses")["input"][-1] == message
    assert not ALL["anthropic_messages"].view(read(b'{"messages":[]}')).reminds


def test_a_reminder_stands_right_behind_its_message() -> None:
    """Also between others."""
    placed = Placed(3, REMINDER, 0, (), known=True)
    (edit,) = reminders(Decision(Leg.CLOUD, placed=(placed,)), "messages")
    assert (edit.address, edit.index) == (("messages",), 4)  # type: ignore[union-attr]


def test_spans_are_framed_within_the_words_of_a_user() -> None:
    """Each on lines of its own; what stands round them is as it was, also where it is escaped."""
    text = 'See <f>a"b</f> and <f>c</f>.'
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    document = read(body)
    seen = ALL["openai_chat"].view(document)
    address: Address = ("messages", 0, "content")
    units = tuple(
        Unit(address, text[start:stop], "marked:user", message=0, span=(start, stop))
        for start, stop in ((7, 10), (22, 23))
    )
    seen = replace(seen, units=units)
    rows = {0: ROW, 1: FrameRow("a" * 32, "tool_result", intro=False)}
    decision = Decision(Leg.CLOUD, tuple(Frame(n, row, known=False) for n, row in rows.items()))
    sent = json.loads(ALL["openai_chat"].render(document, seen, decision, Claimed(rows)))
    whole = sent["messages"][0]["content"]
    assert whole.startswith("See <f>\n[Data envelope")
    assert '\na"b\n' in whole
    assert whole.endswith("\nc\n[[END_TRANSOM_DATA nonce=" + "a" * 32 + "]]\n</f>.")
    assert "]]\n</f> and <f>\n[[TRANSOM_DATA" in whole
