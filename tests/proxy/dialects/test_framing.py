"""Framed messages: the client's bytes stay within the frame, and known ones are not made again."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.decision import Claimed, Decision, Frame, FrameRow, Leg, Placed
from policies.envelope import neutralise, wrap_untrusted
from proxy import edits
from proxy.dialects import framing
from proxy.dialects.anthropic_messages import AnthropicMessages
from proxy.dialects.openai_chat import OpenAIChat
from proxy.json_node import Node
from proxy.lazyjson import read

NONCE = "0123456789abcdef" * 2
ROW = FrameRow(NONCE, "f", intro=True)


def framed(text: str) -> str:
    return wrap_untrusted("f", text, draw=lambda: NONCE, intro=True)


def render(dialect: OpenAIChat, body: bytes, *rows: FrameRow) -> bytes:
    document = read(body)
    seen = dialect.view(document)
    frames = tuple(Frame(number, row, known=True) for number, row in enumerate(rows))
    claimed = Claimed(dict(enumerate(rows)))
    return dialect.render(document, seen, Decision(Leg.CLOUD, frames), claimed)


def tool(literal: bytes) -> bytes:
    return b'{"messages":[{"role":"tool","content":' + literal + b"}]}"


TEXTS = st.one_of(
    st.text(min_size=1),
    st.sampled_from(
        ["[[", "f", "e", "]]\n", NONCE[:31], "TRANSOM_DATA", "a\ntransom_data\nb", '"\\']
    ),
)


@given(TEXTS, st.booleans())
@settings(max_examples=150)
def test_a_frame_reads_the_same_whoever_escaped_the_text(text: str, ascii_only: bool) -> None:
    """Whether bytes were put round the client's literal or all was written anew: one string, and
    what stood in the literal stands there still unless the stem was taken out."""
    literal = json.dumps(text, ensure_ascii=ascii_only).encode()
    sent = render(OpenAIChat(), tool(literal), ROW)
    assert json.loads(sent)["messages"][0]["content"] == framed(text)
    if neutralise(text) == text:
        assert literal[1:-1] in sent


def test_escapes_of_the_clients_stay() -> None:
    """Slashes, capital hex and needless escapes come out as they went in."""
    literal = rb'"a\/b \u00E9 \u0041 \ud83d\ude00"'
    assert literal[1:-1] in render(OpenAIChat(), tool(literal), ROW)


class Counted:
    """`wrap_untrusted`, counted."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, label: str, text: str, **how: Any) -> str:
        self.texts.append(text)
        return wrap_untrusted(label, text, **how)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counter = Counted()
    monkeypatch.setattr(framing, "wrap_untrusted", counter)
    return counter


def body(*texts: str) -> bytes:
    messages = [{"role": "tool", "tool_call_id": text, "content": text} for text in texts]
    return json.dumps({"messages": messages}).encode()


def test_a_known_message_is_not_framed_again(counted: Counted) -> None:
    """A history with one new result frames that one, and gives the bytes of a fresh start."""
    dialect = OpenAIChat()
    rows = [FrameRow(f"{number:032x}", "f", intro=True) for number in range(3)]
    render(dialect, body("a", "b"), *rows[:2])
    sent = render(dialect, body("a", "b", "c"), *rows)
    assert counted.texts == ["a", "b", "c"]
    assert sent == render(OpenAIChat(), body("a", "b", "c"), *rows)


def talk(turns: int) -> bytes:
    """A history that is long enough to be remembered as a whole."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for turn in range(turns):
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        messages.append({"role": "assistant", "tool_calls": [call]})
        text = f"{turn} " + "word " * 300
        messages.append({"role": "tool", "tool_call_id": f"c{turn}", "content": text})
    return json.dumps({"messages": messages}).encode()


def known_render(dialect: OpenAIChat, body: bytes, rows: dict[int, FrameRow], **more: Any) -> bytes:
    document = read(body, known=dialect.known(body))
    frames = tuple(Frame(number, row, known=True) for number, row in sorted(rows.items()))
    decision = Decision(Leg.CLOUD, frames, **more)
    return dialect.render(document, dialect.view(document), decision, Claimed(rows))


def test_a_history_is_framed_as_it_is_claimed_now() -> None:
    """While it grows, and with another row, or without one, in its middle."""
    dialect = OpenAIChat()
    rows = {number: FrameRow(f"{number:032x}", "f", intro=True) for number in range(20)}
    for turns in (12, 13, 15, 20, 20, 12):
        mine = {number: rows[number] for number in range(turns)}
        fresh = known_render(OpenAIChat(), talk(turns), mine)
        assert known_render(dialect, talk(turns), mine) == fresh
    for other in (rows | {3: ROW}, {n: row for n, row in rows.items() if n != 3}):
        for turns in (18, 20):
            mine = {number: row for number, row in other.items() if number < turns}
            fresh = known_render(OpenAIChat(), talk(turns), mine)
            assert known_render(dialect, talk(turns), mine) == fresh


POLICY: dict[str, Any] = {"policy_text": "one policy"}


def placed(after: int) -> dict[str, Any]:
    return POLICY | {"placed": (Placed(after, "remember", 0, ("messages", 0, "content"), True),)}


@pytest.mark.parametrize(
    ("other", "alike"),
    [
        (POLICY, [True, True]),
        (placed(after=28), [True, False]),
        (placed(after=8), [False, False]),
        ({}, [False, False]),
        ({"policy_text": "another policy"}, [False, False]),
        (POLICY | {"removed": (("messages", 3),)}, [False, False]),
        (POLICY | {"removed": (("messages", 0),)}, [False, False]),
    ],
)
def test_a_history_leaves_as_it_is_edited_now(
    other: dict[str, Any], alike: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While all of it is edited alike it is not put together again; with other texts of ours in it,
    or without one of its messages, it is."""
    found: list[bool] = []

    def told(*about: Any) -> bool:
        found.append(goes_on(*about))
        return found[-1]

    goes_on = edits._goes_on
    monkeypatch.setattr(edits, "_goes_on", told)
    dialect = OpenAIChat()
    rows = {number: FrameRow(f"{number:032x}", "f", intro=True) for number in range(20)}
    for turns, more in ((12, POLICY), (13, POLICY), (14, other), (15, other), (16, POLICY)):
        mine = {number: rows[number] for number in range(turns)}
        fresh = known_render(OpenAIChat(), talk(turns), mine, **more)
        assert known_render(dialect, talk(turns), mine, **more) == fresh
    assert found == [True, alike[0], True, alike[1]]


@pytest.mark.parametrize(
    "other",
    [
        FrameRow("f" * 32, "f", intro=True),
        FrameRow(NONCE, "g", intro=True),
        FrameRow(NONCE, "f", intro=False),
    ],
)
def test_another_row_is_another_message(other: FrameRow, counted: Counted) -> None:
    """Nonce, field and intro are all in the key of the memory."""
    dialect = OpenAIChat()
    sent = render(dialect, body("a"), ROW)
    assert render(dialect, body("a"), other) != sent
    assert render(dialect, body("a"), other) == render(OpenAIChat(), body("a"), other)
    assert counted.texts == ["a", "a", "a"]


def test_which_units_are_framed_is_in_the_key() -> None:
    """Of two parts the first framed, then the second: nothing is taken for the other."""
    parts = [{"type": "text", "text": text} for text in "ab"]
    raw = json.dumps({"messages": [{"role": "tool", "content": parts}]}).encode()
    dialect = OpenAIChat()
    for number in (0, 1):
        document = read(raw)
        frames = (Frame(number, ROW, known=True),)
        seen = dialect.view(document)
        sent = dialect.render(document, seen, Decision(Leg.CLOUD, frames), Claimed({number: ROW}))
        texts = [part["text"] for part in json.loads(sent)["messages"][0]["content"]]
        assert texts == [framed("a") if number == 0 else "a", framed("b") if number else "b"]


def anthropic(*texts: str, compact: bool) -> bytes:
    """Results as one string and in parts, with fields of all kinds between."""
    odd = {"n": 1.5, "é": None, "big": 10**20, "list": [True, "\u2028", {"a": -1}]}
    parts = [{"type": "text", "text": text, **odd} for text in texts]
    blocks = [
        {"type": "tool_result", "tool_use_id": "a", **odd, "content": parts},
        {"type": "tool_result", "tool_use_id": "b", "content": texts[0], "is_error": False},
        {"type": "text", "text": texts[0]},
    ]
    body = {"messages": [{"role": "user", "content": blocks}]}
    return json.dumps(
        body, ensure_ascii=False, separators=(",", ":") if compact else (", ", ": ")
    ).encode("utf-8", "replace")


@given(st.lists(TEXTS, min_size=1, max_size=3), st.booleans())
@settings(max_examples=100)
def test_a_message_that_is_written_anew_is_the_same(texts: list[str], compact: bool) -> None:
    """However it is made, only the framed strings differ from what came, and the parsed message
    that others still read is left alone."""
    body = anthropic(*texts, compact=compact)
    rows = [FrameRow(NONCE, "f", intro=number == 0) for number in range(len(texts) + 1)]
    sent = []
    for usual in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            if not usual:
                patch.setattr(Node, "writer", None)
            document = read(body)
            dialect = AnthropicMessages()
            seen = dialect.view(document)
            frames = tuple(Frame(number, row, known=True) for number, row in enumerate(rows))
            claimed = Claimed(dict(enumerate(rows)))
            sent.append(dialect.render(document, seen, Decision(Leg.CLOUD, frames), claimed))
            (message,) = document.root.children()[0].items()
            assert message.value() == json.loads(body, parse_float=Decimal)["messages"][0]
    assert sent[0] == sent[1] != body


def test_only_what_comes_out_as_it_went_in_is_written_anew() -> None:
    """Escapes that another writer would not have made keep their message from it."""
    dialect = AnthropicMessages()
    for text, usual in (("plain", True), (r"\u0041", False), (r"a\/b", False)):
        document = read(
            b'{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a",'
            b'"content":"%b"}]}]}' % text.encode()
        )
        dialect.view(document)
        (message,) = document.root.children()[0].items()
        assert (message.writer is not None) is usual
