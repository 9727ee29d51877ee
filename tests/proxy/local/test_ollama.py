"""What Ollama's `/api/chat` is sent, for the model that is there."""

import json
from typing import Any

import ollama
import pytest

from policies.notices import words
from proxy.errors import Refused
from proxy.local.asked import phrases
from proxy.local.estimate import tokens
from proxy.local.ollama import ANSWER, LEAST, Model, chat, told
from proxy.local.talk import Call, Named, Said, Talk, Tool

ABLE = Model(frozenset({"completion", "tools", "thinking", "vision"}), 131_072, (True, False))
PLAIN = Model(frozenset({"completion"}), 131_072)
HI = Talk("claude-x", True, (Said("user", "hi"),))


def sent(talk: Talk, model: Model = ABLE, ceiling: int = 131_072, **more: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(
        chat(talk, model="qwen3:8b", told=model, ceiling=ceiling, **more)
    )
    return body


def long(tokens_wanted: int, **more: Any) -> Talk:
    """A talk of about so many tokens."""
    return Talk(
        "claude-x", True, (Said("user", "pie " * ((tokens_wanted - 100) * 3 // 4)),), **more
    )


def test_the_model_that_is_there_is_asked_for_a_stream_and_nothing_is_dropped() -> None:
    """Whatever the caller's model and stream: a stream shows errors; the server cuts nothing."""
    body = sent(Talk("claude-x", False, (Said("user", "hi"),)))
    assert body["model"] == "qwen3:8b"
    assert (body["stream"], body["truncate"], body["shift"]) == (True, False, False)
    assert body["messages"] == [{"role": "user", "content": "hi"}]
    assert not {"tools", "format", "think", "keep_alive"} & set(body)


def test_a_size_that_is_known_is_not_worked_out_again() -> None:
    """But where the model cannot be given all of the talk, that takes less."""
    talk = long(20_000, tools=(Tool("a", "word " * 8_000, {}),))
    assert sent(talk, size=50)["options"]["num_ctx"] < 20_000
    assert sent(talk, PLAIN, size=tokens(talk)) == sent(talk, PLAIN)
    seen = Talk("m", True, (Said("user", "hi", images=("AAAA",) * 20),))
    assert sent(seen, PLAIN, size=tokens(seen)) == sent(seen, PLAIN)


def test_a_whole_loop_as_ollama_takes_it() -> None:
    """Calls with an index and arguments as an object; results with the name of their tool."""
    talk = Talk(
        "claude-x",
        True,
        (
            Said("system", "You help."),
            Said("user", "look", images=("AAAA",)),
            Said(
                "assistant",
                "I look.",
                calls=(Call("a", "ls", {"path": "ü"}), Call("", "cat", {})),
                thinking="hm",
            ),
            Said("tool", "A", answers="a", tool="ls"),
            Said("tool", "B", images=("BBBB",)),
        ),
        tools=(Tool("ls", "Lists.", {"type": "object", "properties": {}}),),
        names={"ls": Named("ls")},
        think=True,
    )
    body = sent(talk, keep_alive="1h")
    assert body["messages"] == [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": "look", "images": ["AAAA"]},
        {
            "role": "assistant",
            "content": "I look.",
            "thinking": "hm",
            "tool_calls": [
                {"id": "a", "function": {"index": 0, "name": "ls", "arguments": {"path": "ü"}}},
                {"function": {"index": 1, "name": "cat", "arguments": {}}},
            ],
        },
        {"role": "tool", "content": "A", "tool_name": "ls", "tool_call_id": "a"},
        {"role": "tool", "content": "B", "images": ["BBBB"]},
    ]
    schema = {"type": "object", "properties": {}}
    function = {"name": "ls", "description": "Lists.", "parameters": schema}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert (body["think"], body["keep_alive"]) == (True, "1h")
    # What the SDK would have sent is of the same shapes; pictures have a type of their own there.
    messages = [
        ollama.Message.model_validate({key: said[key] for key in said if key != "images"})
        for said in body["messages"]
    ]
    assert [len(said.tool_calls or ()) for said in messages] == [0, 0, 2, 0, 0]
    declared = ollama.Tool.model_validate(body["tools"][0]).function
    assert declared is not None
    assert declared.name == "ls"


def test_a_model_gets_what_it_is_able_to_do_alone() -> None:
    """Tools, thinking and pictures would be a 400; a picture is told instead."""
    talk = Talk(
        "claude-x",
        True,
        (Said("user", "look", images=("AAAA", "BBBB")), Said("user", "", images=("AAAA",))),
        tools=(Tool("ls", "", {}),),
        think=True,
    )
    body = sent(talk, PLAIN)
    assert not {"tools", "think"} & set(body)
    assert [said["content"] for said in body["messages"]] == [
        f"look\n\n{phrases.PICTURE}\n\n{phrases.PICTURE}",
        phrases.PICTURE,
    ]
    assert "images" not in json.dumps(body)


SWITCH = (True, False)
LEVELS = ("low", "medium", "high")


@pytest.mark.parametrize(
    ("think", "thinking", "expected"),
    [
        (None, SWITCH, None),
        (False, SWITCH, False),
        (True, SWITCH, True),
        ("low", SWITCH, True),
        ("low", LEVELS, "low"),
        ("max", LEVELS, "high"),
        ("max", (*LEVELS, "max"), "max"),
        ("low", ("high", "medium"), "medium"),
        (True, LEVELS, None),
        (False, LEVELS, "low"),
        (True, (False,), None),
        ("high", (False,), None),
        (False, (), None),
        (True, (), None),
    ],
)
def test_a_model_thinks_as_far_as_it_knows_to(think: Any, thinking: Any, expected: Any) -> None:
    """What it does not take would be a 400, or pass unseen: it gets the nearest, or nothing."""
    model = Model(frozenset({"thinking"}), 0, thinking)
    assert sent(Talk("m", True, (), think=think), model).get("think") == expected


@pytest.mark.parametrize("form", ["json", {"type": "object"}])
def test_a_form_is_passed_on(form: Any) -> None:
    """As the server takes it."""
    assert sent(Talk("m", True, (), form=form))["format"] == form


@pytest.mark.parametrize(
    ("talk", "asked", "size"),
    [
        (HI, 100, 4_096),
        (HI, None, 12_288),
        (HI, 128_000, 12_288),
        (long(5_000), 1_000, 6_144),
        (long(20_000), 64_000, 32_768),
        (long(40_000), 64_000, 49_152),
        (long(100_000), 64_000, 131_072),
        (long(128_000), 64_000, 131_072),
    ],
)
def test_the_context_holds_the_request_and_room_for_the_answer(
    talk: Talk, asked: int | None, size: int
) -> None:
    """Rounded up to a power of two or one and a half of one, so that it changes seldom."""
    options = {} if asked is None else {"num_predict": asked}
    found = sent(Talk("m", True, talk.messages, options=options))["options"]
    assert found["num_ctx"] == size
    assert tokens(talk) + found["num_predict"] <= size
    assert found["num_predict"] >= min(asked or ANSWER, LEAST)
    assert found["num_predict"] <= (asked or ANSWER)


def test_the_size_stays_over_many_turns() -> None:
    """Each change loads the model anew."""
    sizes = {sent(long(n))["options"]["num_ctx"] for n in range(1_000, 120_000, 1_000)}
    assert len(sizes) <= 8


def test_a_request_that_just_fits_gets_an_answer_and_one_more_token_is_refused() -> None:
    """At the smaller one of the model's context and the owner's ceiling."""
    needed = tokens(HI)
    for model, ceiling in ((Model(frozenset(), needed + LEAST), 10**6), (PLAIN, needed + LEAST)):
        options = sent(HI, model, ceiling)["options"]
        assert (options["num_ctx"], options["num_predict"]) == (needed + LEAST, LEAST)
    with pytest.raises(Refused, match="home-context-too-small") as no:
        sent(HI, PLAIN, needed + LEAST - 1)
    assert no.value.facts == {
        "model": "qwen3:8b",
        "needed": f"about {needed + LEAST}",
        "room": str(needed + LEAST - 1),
    }
    said = words(no.value.code, no.value.facts)
    assert f"takes about {needed + LEAST} tokens" in said
    assert f"room for {needed + LEAST - 1}." in said


def test_a_short_answer_needs_little_room() -> None:
    """Clients ask for one token to see whether somebody is there."""
    one = Talk("m", True, HI.messages, options={"num_predict": 1})
    found = sent(one, PLAIN, tokens(HI) + 1)["options"]
    assert (found["num_ctx"], found["num_predict"]) == (tokens(HI) + 1, 1)


def test_a_model_that_does_not_say_its_context_has_the_ceiling() -> None:
    """And the pictures count that it cannot see, as the words in their place."""
    seen = Talk("m", True, (Said("user", "x", images=("A",) * 9),))
    assert sent(seen, Model(frozenset(), 0), 8_192)["options"]["num_ctx"] == 8_192
    with pytest.raises(Refused, match="home-context-too-small"):
        sent(seen, Model(frozenset({"vision"}), 0), 8_192)


def test_options_of_the_caller_pass_but_for_the_sizes() -> None:
    """A larger context that an Ollama client asked for is taken, within the bounds."""
    options = {"temperature": 0.5, "stop": ["END"], "num_ctx": 20_000, "num_predict": -1}
    found = sent(Talk("m", True, HI.messages, options=options))["options"]
    assert found == {
        "temperature": 0.5,
        "stop": ["END"],
        "num_ctx": 24_576,
        "num_predict": ANSWER,
    }
    assert (
        sent(Talk("m", True, (), options=options), ceiling=16_384)["options"]["num_ctx"] == 16_384
    )


def test_what_a_fast_writer_cannot_write_is_written_all_the_same() -> None:
    """Halves of surrogate pairs and long numbers in a caller's history."""
    calls = (Call("a", "ls", {"n": 10**30}),)
    body = sent(Talk("m", True, (Said("user", "\ud83d"), Said("assistant", calls=calls))))
    assert body["messages"][0]["content"] == "\ud83d"
    assert body["messages"][1]["tool_calls"][0]["function"]["arguments"] == {"n": 10**30}


SHOWN = {
    "capabilities": ["completion", "tools", 7],
    "details": {"family": "qwen3"},
    "model_info": {
        "general.architecture": "qwen3",
        "qwen3.context_length": 40_960,
        "qwen3.vision.context_length": 99_999,
    },
}


def test_what_is_told_of_a_model() -> None:
    """Its capabilities, and the context of itself rather than of one of its parts."""
    assert told(json.dumps(SHOWN).encode()) == Model(frozenset({"completion", "tools"}), 40_960)


@pytest.mark.parametrize(
    ("shown", "thinking"),
    [
        ({"capabilities": ["thinking"], "details": {"family": "qwen3"}}, SWITCH),
        ({"capabilities": ["thinking"], "details": {"family": "gptoss"}}, LEVELS),
        ({"capabilities": ["completion"], "details": {"family": "gptoss"}}, ()),
        ({"thinking": {"values": ["low", "high", 7], "default": "low"}}, ("low", "high")),
        ({"capabilities": ["thinking"], "thinking": {"values": [False]}}, (False,)),
        ({"capabilities": ["thinking"], "thinking": {"values": []}}, SWITCH),
    ],
)
def test_what_is_told_of_its_thinking(shown: Any, thinking: Any) -> None:
    """New servers list what it takes; of older ones it is known."""
    assert told(json.dumps(shown).encode()).thinking == thinking


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b"\xff", b"[" * 10_000, b'{"model_info":7,"capabilities":{},"details":[]}',
     b'{"model_info":{"a.context_length":"x","b.context_length":-1,"c.context_length":true}}'],
)  # fmt: skip
def test_what_is_not_told_counts_as_absent(body: bytes) -> None:
    """An odd server is no crash."""
    assert told(body) == Model(frozenset(), 0)
