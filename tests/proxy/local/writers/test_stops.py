"""A string at which the client wanted the answer to stop: found in pieces, left out, reported."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.local.talk import Called, Text, Thinking
from proxy.local.writers.stops import Stops
from tests.proxy.local.writers.telling import events, over, told

PIECES = st.lists(st.text("ab\n", max_size=4), max_size=8)
STRINGS = st.lists(st.text("ab\n", max_size=3), max_size=3)


@given(PIECES, STRINGS)
def test_it_does_not_matter_how_the_text_comes(pieces: list[str], strings: list[str]) -> None:
    """What is said ends where the first string begins, whatever way it was cut."""
    stops, said, whole = Stops(strings), "", "".join(pieces)
    for piece in pieces:
        if not stops.found:
            said += stops.feed(piece)
            assert whole.startswith(said)
    said += stops.rest()
    wanted = [string for string in strings if string]
    if not any(string in whole for string in wanted):
        assert (said, stops.found) == (whole, "")
        return
    assert stops.found in wanted
    assert whole.startswith(said + stops.found)
    assert not any(string in said for string in wanted)


def test_only_what_may_begin_a_string_is_held() -> None:
    """The rest of the text does not wait."""
    stops = Stops(["\n\nHuman:"])
    assert stops.feed("Hello\n") == "Hello"
    assert stops.feed("\nHu") == ""
    assert stops.feed("go") == "\n\nHugo"
    assert (stops.rest(), stops.found) == ("", "")


def test_the_number_of_strings_is_bounded() -> None:
    """No client needs more, and each is looked for in every piece."""
    assert Stops([*(f"<{number}>" for number in range(64)), "END"]).feed("a END") == "a END"
    assert Stops(["END"]).feed("a END") == "a "


@pytest.mark.parametrize("stream", [False, True])
def test_anthropic_is_told_which_string_it_was(stream: bool) -> None:
    """Only where the string was seen: a server that leaves it out does not say so."""
    asked: Any = {"stop_sequences": ["END", "\nHuman:"]}
    speech = (Text("one\nHu"), Text("man: two"), Thinking("x"), Called("read_file", {}), over())
    if stream:
        told_ = [
            *(e["delta"] for e in events("anthropic_messages", speech, asked=asked) if "delta" in e)
        ]
        assert told_ == [
            {"type": "text_delta", "text": "one"},
            {"stop_reason": "stop_sequence", "stop_sequence": "\nHuman:"},
        ]
    else:
        whole = json.loads(told("anthropic_messages", speech, stream=False, asked=asked))
        assert whole["content"] == [{"type": "text", "text": "one"}]
        assert (whole["stop_reason"], whole["stop_sequence"]) == ("stop_sequence", "\nHuman:")
    silent = told("anthropic_messages", (Text("one"), over()), stream=stream, asked=asked)
    assert b'"end_turn"' in silent
    assert b'"stop_sequence":null' in silent


@pytest.mark.parametrize("stop", ["END", ["x", "END"]])
def test_chat_stops_there_too(stop: object) -> None:
    """As one string or as a list; the dialect has no word for which it was."""
    speech = (Text("one E"), Text("ND two"), over("length"))
    whole = json.loads(told("openai_chat", speech, stream=False, asked={"stop": stop}))
    [choice] = whole["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("one ", "stop")
    held = told("openai_chat", (Text("one E"), over()), stream=False, asked={"stop": stop})
    assert json.loads(held)["choices"][0]["message"]["content"] == "one E"


@pytest.mark.parametrize("odd", [None, 7, {"a": "END"}, [7, None, ["END"]], ""])
def test_odd_wishes_stop_nothing(odd: object) -> None:
    """What is no string is none to stop at."""
    whole = told(
        "anthropic_messages", (Text("END"), over()), stream=False, asked={"stop_sequences": odd}
    )
    assert json.loads(whole)["content"] == [{"type": "text", "text": "END"}]


@pytest.mark.parametrize("dialect", ["openai_responses", "ollama_chat"])
def test_dialects_without_such_strings_pass_all_text(dialect: str) -> None:
    """Ollama's own server looks for its own."""
    speech = (Text("END"), over())
    assert b"END" in told(dialect, speech, stream=False, asked={"stop": "END"})


def test_held_text_is_said_before_a_call() -> None:
    """In its place, not behind it."""
    speech = (Text("I look E"), Called("read_file", {}), over())
    whole = json.loads(
        told("anthropic_messages", speech, stream=False, asked={"stop_sequences": ["END"]})
    )
    assert [block["type"] for block in whole["content"]] == ["text", "tool_use"]
    assert whole["content"][0]["text"] == "I look E"
