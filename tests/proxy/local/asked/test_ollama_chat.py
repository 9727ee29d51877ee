"""Ollama's own dialect for a model at home, where a client asked for one elsewhere."""

import base64
import json
from typing import Any

import pytest

from proxy.local.asked import from_ollama, talk
from proxy.local.talk import Call, Named, Said, Talk

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()
LS = {"type": "function", "function": {"name": "ls", "description": "Lists."}}


def asked(*messages: Any, **more: Any) -> Talk:
    body = {"model": "big:cloud", "messages": list(messages), **more}
    return talk("ollama_chat", json.dumps(body).encode())


def test_the_reader_of_this_dialect_is_the_one_tested() -> None:
    """The table of dialects leads here; a stream is what a client gets that does not say."""
    assert from_ollama.talk({}).stream
    assert asked(stream=False).stream is False
    assert asked().model == "big:cloud"


def test_messages_stay_what_they_are() -> None:
    """Text, pictures, calls, results with ids and with names alone; system text at the head."""
    made = {"id": "a", "function": {"index": 0, "name": "ls", "arguments": {"n": 1.5}}}
    found = asked(
        {"role": "system", "content": "You help.", "images": []},
        {"role": "User", "content": "look", "images": [PNG, "not base64!"]},
        {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [made]},
        {"role": "tool", "content": "A", "tool_call_id": "a"},
        {"role": "tool", "content": "B", "tool_name": "ls"},
        {"role": "narrator", "content": "x"},
        tools=[LS, {"type": "function"}],
    )
    assert found.messages == (
        Said("system", "You help."),
        Said("user", "look", images=(PNG,)),
        Said("assistant", thinking="hm", calls=(Call("a", "ls", {"n": 1.5}),)),
        Said("tool", "A", answers="a", tool="ls"),
        Said("tool", "B", tool="ls"),
    )
    assert found.names == {"ls": Named("ls")}
    assert set(found.dropped) == {"images", "role", "tools"}


def test_options_about_the_answer_pass_and_those_about_the_machine_do_not() -> None:
    """The owner's machine is the owner's."""
    found = asked(
        options={"temperature": 0, "num_ctx": 9094, "stop": ["END"], "num_gpu": 99, "top_k": "x"},
        keep_alive="1h",
        truncate=True,
        mine=1,
    )
    assert found.options == {"temperature": 0, "num_ctx": 9094, "stop": ["END"]}
    assert set(found.dropped) == {"options", "keep_alive", "truncate", "*"}


@pytest.mark.parametrize(
    ("think", "expected"), [(True, True), (False, False), ("high", "high"), (None, None), (7, None)]
)
def test_how_much_to_think(think: Any, expected: Any) -> None:
    """As the client says it."""
    assert asked(think=think).think == expected


@pytest.mark.parametrize(
    ("given", "form"), [("json", "json"), ({"type": "object"}, {"type": "object"}), ("", None)]
)
def test_a_form_of_the_answer(given: Any, form: Any) -> None:
    """A schema, or JSON of any kind."""
    assert asked(format=given).form == form
