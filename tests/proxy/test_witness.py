"""What is seen in an answer while it goes by."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.envelope.markers import STEM
from proxy.dialects.streams import Kind
from proxy.witness import WHOLE, Heard, Witness

CALL = {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}}


def watched(dialect: str, stream: Kind, *chunks: bytes) -> Heard:
    told: list[Heard] = []
    witness = Witness(dialect, stream, told.append)
    for chunk in chunks:
        witness.chunk(chunk)
    witness.end()
    (heard,) = told
    return heard


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(f"event: x\r\ndata: {json.dumps(event)}\r\n\r\n".encode() for event in events)


def text(*pieces: str) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
        for piece in pieces
    ]


STREAM = sse(
    {"type": "message_start", "message": {}},
    {"type": "content_block_start", "index": 1, "content_block": {**CALL, "input": {}}},
    *[
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": piece},
        }
        for piece in ('{"path": "', f"[[{STEM[:7]}", STEM[7:], ' nonce"}')
    ],
    {"type": "message_stop"},
)


@pytest.mark.parametrize("size", [1, 2, 7, 100, len(STREAM)])
def test_a_stream_is_read_however_it_is_cut(size: int) -> None:
    """The call with its arguments, and a mark that the model writes in pieces."""
    chunks = [STREAM[at : at + size] for at in range(0, len(STREAM), size)]
    heard = watched("anthropic_messages", "sse", *chunks)
    assert [(call.name, call.text) for call in heard.calls] == [
        ("read", f'{{"path": "[[{STEM} nonce"}}')
    ]
    assert (heard.leaks, heard.whole) == (True, True)


def test_a_stream_without_its_last_line_end_is_read_to_its_end() -> None:
    """What broke off counts as far as it came."""
    heard = watched("anthropic_messages", "sse", sse(*text(STEM[:4], STEM[4:])).rstrip())
    assert heard.leaks
    (call,) = watched("anthropic_messages", "sse", STREAM[:300]).calls
    assert call.name == "read"


@pytest.mark.parametrize("key", ["content", "response", "delta", "arguments", "reasoning_content"])
def test_a_mark_is_seen_in_every_kind_of_text(key: str) -> None:
    """Whatever the dialect calls the words of its model."""
    lines = b"".join(json.dumps({key: piece}).encode() + b"\n" for piece in (STEM[:3], STEM[3:]))
    assert watched("ollama_chat", "ndjson", lines).leaks
    assert watched("plain_text_ollama", "ndjson", lines).leaks


PIECES = st.lists(
    st.sampled_from(
        [
            STEM,
            STEM[:6],
            STEM[6:],
            STEM[:7],
            STEM[7:],
            *STEM,
            STEM[:-1],
            "x",
            '"',
            "some words " * 99,
        ]
    ),
    max_size=12,
)


@given(PIECES, st.lists(st.integers(0, 16), max_size=40), st.integers(1, 9))
@settings(max_examples=300, deadline=None)
def test_a_mark_is_seen_however_its_letters_fall(
    pieces: list[str], cuts: list[int], together: int
) -> None:
    """As if all that is said were joined, though most of it is not looked at."""
    words, deltas = "".join(pieces), list[str]()
    for cut in cuts:
        deltas.append(words[:cut])
        words = words[cut:]
    events = [sse(each) for each in text(*deltas, words)]
    events[1:1] = [sse({"type": "ping", "pong": "M_"})]
    chunks = [b"".join(events[at : at + together]) for at in range(0, len(events), together)]
    leaks = STEM in "".join(pieces)
    assert watched("anthropic_messages", "sse", *chunks).leaks is leaks


@pytest.mark.parametrize("between", [1, 40, 4000])
def test_a_mark_is_seen_across_what_says_nothing(between: int) -> None:
    """However much of that there is, and whatever was said long ago."""
    pings = [{"type": "ping"}] * between
    for said in (STEM[:6], STEM[:7], STEM[:-1], "x" * 99 + STEM[:1]):
        begun, rest = text("long ago", said), text(STEM[len(said.lstrip("x")) :])
        assert watched("anthropic_messages", "sse", *map(sse, [*begun, *pings, *rest])).leaks
        assert watched("anthropic_messages", "sse", sse(*begun, *pings), sse(*rest)).leaks
        wrong = [*begun, *pings, *text("x"), *rest]
        assert not watched("anthropic_messages", "sse", *map(sse, wrong)).leaks


def test_half_a_mark_is_none() -> None:
    """And the pieces must be neighbours."""
    assert not watched("anthropic_messages", "sse", sse(*text(STEM[:5], "x", STEM[5:]))).leaks


def test_a_whole_answer_is_read_at_its_end() -> None:
    """In one piece, whatever way it came."""
    body = json.dumps({"type": "message", "content": [CALL]}).encode()
    heard = watched("anthropic_messages", "", body[:20], body[20:])
    assert [(call.name, call.value) for call in heard.calls] == [("read", {"path": "x"})]
    assert not heard.leaks
    assert watched("anthropic_messages", "", f'{{"x": "{STEM}"}}'.encode()).leaks
    assert watched("plain_text_openai", "", b'{"tool_use": 1}').calls == ()
    assert watched("anthropic_messages", "") == Heard((), False, True)


def test_what_cannot_be_read_is_said() -> None:
    """Broken JSON, no text at all, or too much of it: nothing fails, and it is not whole."""
    assert not watched("anthropic_messages", "", b'{"tool_use": ').whole
    assert not watched("openai_chat", "sse", b'data: {"tool_calls": \xff}\n\n').whole
    long = watched("anthropic_messages", "", *[b"x" * (WHOLE // 2)] * 3)
    assert (long.calls, long.whole) == ((), False)
    assert not watched("openai_chat", "sse", b'{"tool_calls":' + b"[" * 5000 + b"\n").whole


@pytest.mark.parametrize("kind", ["local_shell_call", "shell_call", "apply_patch_call",
                                  "computer_call", "custom_tool_call"])  # fmt: skip
def test_a_whole_answer_is_read_for_each_kind_of_call(kind: str) -> None:
    """Most answers hold none and are not parsed at all."""
    body = json.dumps({"object": "response", "output": [{"type": kind, "name": "x"}]}).encode()
    assert len(watched("openai_responses", "", body).calls) == 1
