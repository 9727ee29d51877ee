"""OpenAI Chat Completions for a model at home: the table of wire.md 5.2, row by row."""

import base64
import json
from typing import Any

import pytest

from proxy.errors import Refused
from proxy.local.asked import chat_parts, from_chat, phrases, talk
from proxy.local.talk import Call, Named, Said, Talk

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()
HI = {"role": "user", "content": "hi"}
LONG = {"path": "x", "n": 1.5, "long": 12345678901234567890}
LS = {"type": "function", "function": {"name": "ls", "description": "Lists.", "parameters": {}}}


def asked(*messages: Any, **more: Any) -> Talk:
    body = {"model": "gpt-x", "messages": list(messages), **more}
    return talk("openai_chat", json.dumps(body).encode())


def call(made: str, name: str = "ls", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": made, "type": "function", "function": {"name": name, "arguments": arguments}}


def made(*calls: Any, content: Any = None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **more}


def test_the_readers_of_this_dialect_are_the_ones_tested() -> None:
    """The table of dialects leads here."""
    assert from_chat.talk({"messages": [HI]}).messages == (Said("user", "hi"),)
    parts = chat_parts.Parts(from_chat.Draft())
    parts.content([{"type": "text", "text": "a"}])
    assert parts.text == "a"


def test_leading_system_and_developer_text_is_one_message_at_the_head() -> None:
    """Joined with a blank line; a later one goes into the message of the user beside it."""
    found = asked(
        {"role": "system", "content": "You help."},
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        HI,
        {"role": "system", "content": "At the end."},
    )
    assert found.messages == (
        Said("system", "You help.\n\nBe brief."),
        Said("user", "hi\n\nAt the end."),
    )


def test_parts_of_the_user() -> None:
    """Text joined; a picture at a `data:` address shown, any other told; files and sound told."""
    found = asked(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
                {"type": "image_url", "image_url": {"url": "https://pictures.example/a.png"}},
                {"type": "image_url", "image_url": {"url": "data:image/svg+xml;base64,AAAA"}},
                {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA"}},
                {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
                {"type": "odd"},
                "odd",
            ],
        }
    )
    told = (phrases.PICTURE, phrases.PICTURE, phrases.DOCUMENT, phrases.SOUND)
    assert found.messages == (Said("user", "\n\n".join(("see", *told)), images=(PNG,)),)
    assert found.dropped == ("image_url", "file", "input_audio", "*")


def test_calls_and_their_results() -> None:
    """Arguments are parsed; results in text or parts get the name of their tool by the id."""
    found = asked(
        HI,
        made(
            call("a", arguments='{"path": "x", "n": 1.5, "long": 12345678901234567890}'),
            call("b", "cat"),
            content="I look.",
        ),
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "B"}]},
        {"role": "tool", "tool_call_id": "a", "content": "A"},
        HI,
    )
    assert found.messages[1:] == (
        Said(
            "assistant",
            "I look.",
            calls=(Call("a", "ls", LONG), Call("b", "cat", {})),
        ),
        Said("tool", "B", answers="b", tool="cat"),
        Said("tool", "A", answers="a", tool="ls"),
        Said("user", "hi"),
    )


def test_of_two_calls_with_one_id_a_result_answers_the_newer_one() -> None:
    """Ids of old servers repeat from turn to turn."""
    found = asked(
        made(call("0", "ls")),
        {"role": "tool", "tool_call_id": "0", "content": "A"},
        made(call("0", "cat")),
        {"role": "tool", "tool_call_id": "0", "content": "B"},
    )
    assert [said.tool for said in found.messages if said.role == "tool"] == ["ls", "cat"]


@pytest.mark.parametrize(
    "broken", ["{", "[1]", "null", '{"a": NaN}', '{"a": ' + "[" * 5000, "x", '{"far": 1E999}']
)
def test_arguments_that_are_no_object_are_told(broken: str) -> None:
    """The call stays, without any; the model reads what stood there."""
    found = asked(HI, made(call("a", arguments=broken)))
    assert found.messages[1].calls == (Call("a", "ls", {}),)
    assert found.messages[1].text == phrases.unread(broken)


@pytest.mark.parametrize("empty", ["", "  ", None, 7])
def test_no_arguments_are_no_arguments(empty: Any) -> None:
    """Servers write nothing for a tool that takes nothing."""
    found = asked(HI, made(call("a", arguments=empty)))
    assert found.messages[1] == Said("assistant", calls=(Call("a", "ls", {}),))


def test_a_frame_in_a_result_survives_byte_for_byte() -> None:
    """In a string and in parts."""
    nonce = "0123456789abcdef" * 2
    frame = f"[[TRANSOM_DATA nonce={nonce} field=ls]]\n \ta\r\n\n[[END_TRANSOM_DATA nonce={nonce}]]"
    parts = [{"type": "text", "text": frame}] * 2
    found = asked(
        made(call("a"), call("b")),
        {"role": "tool", "tool_call_id": "a", "content": frame},
        {"role": "tool", "tool_call_id": "b", "content": parts},
    )
    assert [said.text for said in found.messages[1:]] == [frame, f"{frame}\n\n{frame}"]


def test_refusals_are_what_the_model_said() -> None:
    """As a member and as a part."""
    part = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    member = {"role": "assistant", "content": None, "refusal": "No."}
    assert asked(part).messages == asked(member).messages == (Said("assistant", "No."),)


def test_custom_tools_take_one_string() -> None:
    """Declared, called and answered; a grammar is told, as it cannot be enforced."""
    form = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: WORD"}}
    tool = {"type": "custom", "custom": {"name": "say", "description": "Says.", "format": form}}
    used = {"id": "a", "type": "custom", "custom": {"name": "say", "input": "two\nlines"}}
    found = asked(
        made(used), {"role": "tool", "tool_call_id": "a", "content": "ok"}, tools=[tool, LS]
    )
    assert found.messages[0].calls == (Call("a", "say", {"input": "two\nlines"}),)
    assert found.messages[1].tool == "say"
    assert found.names == {"say": Named("say", "custom"), "ls": Named("ls")}
    assert found.tools[0].description == f"Says.\n\n{phrases.written_as('start: WORD')}"
    assert found.tools[0].parameters == {
        "type": "object",
        "properties": {"input": {"type": "string"}},
        "required": ["input"],
    }


def test_functions_of_old_clients_stay_in_the_history_alone() -> None:
    """Such a client could not read a call of today."""
    found = asked(
        {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": "{}"}},
        {"role": "function", "name": "ls", "content": "A"},
        functions=[{"name": "ls"}],
        function_call="auto",
    )
    assert found.messages == (
        Said("assistant", calls=(Call("", "ls", {}),)),
        Said("tool", "A", tool="ls"),
    )
    assert (found.tools, found.dropped) == ((), ("functions", "function_call"))


@pytest.mark.parametrize(
    ("choice", "tools", "told"),
    [
        ("auto", ["ls", "cat"], ""),
        ("none", [], ""),
        ("required", ["ls", "cat"], phrases.CALL_NOW),
        ({"type": "function", "function": {"name": "cat"}}, ["cat"], phrases.call_of("cat")),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "auto",
                    "tools": [{"type": "function", "function": {"name": "cat"}}],
                },
            },
            ["cat"],
            "",
        ),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [
                        {"type": "function", "function": {"name": "cat"}},
                        {"type": "function", "function": {"name": "ls"}},
                    ],
                },
            },
            ["ls", "cat"],
            phrases.CALL_NOW,
        ),
    ],
)
def test_a_choice_of_tools(choice: Any, tools: list[str], told: str) -> None:
    """What cannot be enforced is said in words."""
    cat = {"type": "function", "function": {"name": "cat"}}
    found = asked(HI, tools=[LS, cat], tool_choice=choice)
    assert [tool.name for tool in found.tools] == tools
    assert found.messages[-1].text == "\n\n".join(filter(None, ("hi", told)))
    assert found.dropped == ()


def test_a_model_that_said_nothing_is_no_message() -> None:
    """Some templates would write an empty turn."""
    assert (
        asked(HI, {"role": "assistant", "content": None}, HI).messages == (Said("user", "hi"),) * 2
    )


def test_a_choice_that_means_nothing_is_left_out() -> None:
    """The model chooses as it likes."""
    assert asked(HI, tools=[LS], tool_choice={"type": "odd"}).dropped == ("tool_choice",)
    assert asked(HI, tools=[LS], tool_choice=None).dropped == ()


@pytest.mark.parametrize(
    ("format_", "form"),
    [
        ({"type": "text"}, None),
        ({"type": "json_object"}, "json"),
        (
            {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}},
            {"type": "object"},
        ),
        ({"type": "json_schema", "json_schema": {}}, "json"),
    ],
)
def test_a_form_of_the_answer(format_: Any, form: Any) -> None:
    """A schema, or JSON of any kind."""
    assert asked(HI, response_format=format_).form == form


def test_json_beside_tools_is_told_in_words() -> None:
    """Enforced, it would keep the model from calling any."""
    found = asked(HI, tools=[LS], response_format={"type": "json_object"})
    assert (found.form, found.dropped) == (None, ("format",))
    assert found.messages[-1].text == f"hi\n\n{phrases.answer_as('json')}"


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ({"max_tokens": 5}, {"num_predict": 5}),
        ({"max_completion_tokens": 6, "max_tokens": 5}, {"num_predict": 6}),
        ({"stop": "END"}, {"stop": ["END"]}),
        ({"stop": ["A", "B"]}, {"stop": ["A", "B"]}),
        ({"stop": None, "temperature": None, "seed": "x"}, {}),
        (
            {"frequency_penalty": 0.5, "presence_penalty": -1, "seed": 7, "top_p": 0.9},
            {"frequency_penalty": 0.5, "presence_penalty": -1, "seed": 7, "top_p": 0.9},
        ),
    ],
)
def test_limits_and_sampling_get_ollamas_names(more: Any, options: Any) -> None:
    """What is absent stays with the model."""
    found = asked(HI, **more)
    assert (found.options, found.dropped) == (options, ())


@pytest.mark.parametrize(
    ("effort", "think"),
    [(None, None), ("none", False), ("minimal", "low"), ("medium", "medium"), ("xhigh", "high")],
)
def test_how_much_to_think(effort: str | None, think: bool | str | None) -> None:
    """As Ollama's own layer reads it; who does not say gets what the model does by itself."""
    assert asked(HI, reasoning_effort=effort).think == think


def test_thinking_stays_in_its_loop() -> None:
    """What carries a vendor's details is left out."""
    theirs = asked(HI, made(call("a"), reasoning="r", reasoning_details=[{"type": "x"}]))
    assert (theirs.messages[1].thinking, theirs.dropped) == ("", ("reasoning_details",))
    assert asked(HI, made(call("a"), reasoning_content="r")).messages[1].thinking == "r"
    assert asked(HI, made(call("a"), reasoning="r"), HI).messages[1].thinking == ""


@pytest.mark.parametrize(
    ("message", "what"),
    [
        ({"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}, "file_id"),
        ({"role": "assistant", "audio": {"id": "audio_1"}}, "audio"),
    ],
)
def test_what_is_kept_elsewhere_is_refused(message: Any, what: str) -> None:
    """A guess at what stands there would be worse than an error."""
    with pytest.raises(Refused, match="home-not-local") as no:
        asked(message)
    assert f"`{what}`" in no.value.facts["reason"]


def test_members_without_a_meaning_are_named() -> None:
    """Those of the table, by the schema's words; what nobody knows as a star."""
    found = asked(
        HI,
        {"role": "narrator", "content": 7},
        n=2,
        user="u",
        store=True,
        logit_bias={},
        prompt_cache_key="k",
        parallel_tool_calls=False,
        mine=1,
        tools=[{"type": "web_search"}, LS],
    )
    assert set(found.dropped) == {
        "n", "user", "store", "logit_bias", "prompt_cache_key", "parallel_tool_calls", "*",
        "tools", "content", "role",
    }  # fmt: skip
    assert [tool.name for tool in found.tools] == ["ls"]
