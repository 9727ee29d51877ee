"""Anthropic Messages for a model at home: the table of wire.md 5.2, row by row."""

import base64
import json
from typing import Any

import pytest

from proxy.errors import Refused
from proxy.local.asked import anthropic_blocks, from_anthropic, phrases, talk
from proxy.local.talk import Call, Named, Said, Talk

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()
BASH = {
    "name": "Bash",
    "description": "Runs a command.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}},
}


def asked(*messages: Any, **more: Any) -> Talk:
    body = {"model": "claude-x", "messages": list(messages), **more}
    return talk("anthropic_messages", json.dumps(body).encode())


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(call: str, name: str = "Bash", **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def result(call: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": content, **more}


def image(kind: str = "image/png", data: str = PNG) -> dict[str, Any]:
    source = {"type": "base64", "media_type": kind, "data": data}
    return {"type": "image", "source": source}


def test_the_readers_of_this_dialect_are_the_ones_tested() -> None:
    """The table of dialects leads here."""
    direct = from_anthropic.talk({"model": "m", "messages": [{"role": "user", "content": "hi"}]})
    assert direct.messages == (Said("user", "hi"),)
    assert anthropic_blocks.texts([text("a")], from_anthropic.Draft()) == ["a"]


@pytest.mark.parametrize(
    "system",
    [
        "You help.\n\nBe brief.",
        [text("You help."), text("Be brief.")],
        [
            text("x-anthropic-billing-header: cc_version=2.1; cc_entrypoint=cli;"),
            text("You help."),
            {**text("Be brief."), "cache_control": {"type": "ephemeral"}},
        ],
    ],
    ids=["string", "blocks", "attribution"],
)
def test_system_text_is_one_message_at_the_head(system: Any) -> None:
    """Blocks are joined with a blank line; the line that is for the vendor alone goes."""
    found = asked({"role": "user", "content": "hi"}, system=system)
    assert found.messages == (Said("system", "You help.\n\nBe brief."), Said("user", "hi"))
    assert found.dropped == ()


def test_later_system_text_stays_in_its_place_in_the_message_of_the_user() -> None:
    """Not hoisted: what was sent before stays as it was, and strict templates take it."""
    found = asked(
        user(text("hi")),
        {"role": "system", "content": [text("Today is Monday.")]},
        {"role": "assistant", "content": "yes"},
        {"role": "system", "content": "Now it is Tuesday."},
        user(text("go on")),
        system="You help.",
    )
    assert found.messages == (
        Said("system", "You help."),
        Said("user", "hi\n\nToday is Monday."),
        Said("assistant", "yes"),
        Said("user", "Now it is Tuesday.\n\ngo on"),
    )


def test_system_text_behind_results_is_a_message_of_its_own() -> None:
    """It comes after the results, which stay next to their calls."""
    found = asked(
        user(text("go")),
        {"role": "assistant", "content": [use("a")]},
        user(result("a", "out")),
        {"role": "system", "content": "One more thing."},
    )
    assert [said.role for said in found.messages] == ["user", "assistant", "tool", "user"]
    assert found.messages[-1].text == "One more thing."


def test_pictures_go_with_their_message_and_in_results() -> None:
    """Base64 alone, without a media type round it."""
    found = asked(
        user(text("look"), image()),
        {"role": "assistant", "content": [use("a", "Read")]},
        user(result("a", [text("two"), image("image/jpeg"), image("image/webp")])),
    )
    assert found.messages[0] == Said("user", "look", images=(PNG,))
    assert found.messages[2] == Said("tool", "two", images=(PNG, PNG), answers="a", tool="Read")
    assert found.dropped == ()


@pytest.mark.parametrize(
    "source",
    [
        {"type": "url", "url": "https://pictures.example/a.png"},
        {"type": "base64", "media_type": "image/tiff", "data": PNG},
        {"type": "base64", "media_type": "image/png", "data": "not base64!"},
        {"type": "base64", "media_type": "image/png"},
        "nothing",
    ],
    ids=["url", "kind", "broken", "empty", "shape"],
)
def test_a_picture_that_cannot_be_shown_is_told(source: Any) -> None:
    """Nothing is fetched: the model reads that there is one."""
    found = asked(user(text("look"), {"type": "image", "source": source}))
    assert found.messages == (Said("user", f"look\n\n{phrases.PICTURE}"),)
    assert found.dropped == ("image",)


@pytest.mark.parametrize(
    ("document", "said", "dropped"),
    [
        ({"source": {"type": "text", "data": "inside"}}, "inside", ()),
        (
            {"source": {"type": "text", "data": "inside"}, "title": "T", "context": "C"},
            "T\nC\n\ninside",
            (),
        ),
        ({"source": {"type": "content", "content": "inside"}}, "inside", ()),
        ({"source": {"type": "content", "content": [text("a"), text("b")]}}, "a\n\nb", ()),
        ({"source": {"type": "base64", "data": "JVBERi0="}}, phrases.DOCUMENT, ("document",)),
        ({"source": {"type": "url", "url": "https://x"}}, phrases.DOCUMENT, ("document",)),
        ({}, phrases.DOCUMENT, ("document",)),
    ],
)
def test_documents_give_their_text_or_are_told(
    document: Any, said: str, dropped: tuple[str, ...]
) -> None:
    """Text stands inline, with its title; a PDF cannot be read here."""
    found = asked(user({"type": "document", **document}))
    assert (found.messages[0].text, found.dropped) == (said, dropped)


def test_pictures_in_a_document_are_shown() -> None:
    """Beside its text."""
    source = {"type": "content", "content": [text("see"), image()]}
    found = asked(user({"type": "document", "source": source}))
    assert found.messages == (Said("user", "see", images=(PNG,)),)


def test_a_search_result_gives_title_source_and_text() -> None:
    """In a message of the user and in a result alike."""
    block = {"type": "search_result", "title": "T", "source": "S", "content": [text("a")]}
    found = asked(
        user(block), {"role": "assistant", "content": [use("a")]}, user(result("a", [block]))
    )
    assert [found.messages[0].text, found.messages[2].text] == ["T\nS\n\na"] * 2


def test_what_the_model_said_is_joined_with_its_calls() -> None:
    """Text in pieces is one text; arguments are an object; two messages in a row are one."""
    found = asked(
        user(text("go")),
        {"role": "assistant", "content": [text("I "), text("look."), use("a", command="ls")]},
        {"role": "assistant", "content": [use("b", "Read", path="x", depth=1.5)]},
    )
    assert found.messages[1] == Said(
        "assistant",
        "I look.",
        calls=(
            Call("a", "Bash", {"command": "ls"}),
            Call("b", "Read", {"path": "x", "depth": 1.5}),
        ),
    )


def test_results_come_before_the_users_own_text_with_the_names_of_their_tools() -> None:
    """Parallel ones, in any order of ids; text that stands before them comes after them."""
    found = asked(
        user(text("go")),
        {"role": "assistant", "content": [use("a"), use("b", "Read")]},
        user(text("and now?"), result("b", "second"), result("a", [text("x"), text("y")])),
    )
    assert found.messages[2:] == (
        Said("tool", "second", answers="b", tool="Read"),
        Said("tool", "x\n\ny", answers="a", tool="Bash"),
        Said("user", "and now?"),
    )


@pytest.mark.parametrize("content", [None, "", []])
def test_an_empty_result_still_answers_its_call(content: Any) -> None:
    """Else the call would hang in the air."""
    found = asked({"role": "assistant", "content": [use("a")]}, user(result("a", content)))
    assert found.messages[1] == Said("tool", "", answers="a", tool="Bash")


def test_a_result_of_no_call_has_no_name() -> None:
    """It is passed on as what it is."""
    found = asked(user(result("lost", "x")))
    assert found.messages == (Said("tool", "x", answers="lost"),)


def test_a_failure_is_told_in_words() -> None:
    """Ollama has no field for it."""
    found = asked(
        {"role": "assistant", "content": [use("a"), use("b")]},
        user(result("a", "no such file", is_error=True), result("b", "fine", is_error=False)),
    )
    assert [said.text for said in found.messages[1:]] == [
        f"{phrases.FAILED}\nno such file",
        "fine",
    ]


def test_a_frame_in_a_result_survives_byte_for_byte() -> None:
    """Whatever stands round it."""
    nonce = "0123456789abcdef" * 2
    frame = (
        f"[Data envelope (code-owned)]: this message's nonce is {nonce}.\n"
        f"[[TRANSOM_DATA nonce={nonce} field=Bash]]\n  a\u0000\r\n\tü \n\n\n"
        f"[[END_TRANSOM_DATA nonce={nonce}]]"
    )
    found = asked(
        {"role": "assistant", "content": [use("a"), use("b")]},
        user(result("a", frame), result("b", [text(frame), text(frame)], is_error=True)),
    )
    assert found.messages[1].text == frame
    assert found.messages[2].text == f"{phrases.FAILED}\n{frame}\n\n{frame}"


def test_tools_that_a_search_found_are_told_and_offered() -> None:
    """A reference loads a deferred tool; the others and the placeholder stay out of sight."""
    later = {"input_schema": {"type": "object"}, "defer_loading": True}
    found = asked(
        {"role": "assistant", "content": [use("a", "ToolSearch", query="web")]},
        user(result("a", [{"type": "tool_reference", "tool_name": "Fetch"}]), text("Tool loaded.")),
        tools=[
            BASH,
            {"name": "Fetch", **later},
            {"name": "Other", **later},
            {"name": "DeferredToolPlaceholder", "input_schema": {"type": "object"}},
        ],
    )
    assert found.messages[1].text == "Tools loaded: Fetch."
    assert [tool.name for tool in found.tools] == ["Bash", "Fetch"]
    assert found.dropped == ("tools",)


def test_tools_come_and_go_in_system_messages() -> None:
    """The definitions that stand there are offered, what is withdrawn is not."""
    definition = {"name": "New", "description": "new", "input_schema": {"type": "object"}}
    found = asked(
        user(text("hi")),
        {
            "role": "system",
            "content": [
                {
                    "type": "tool_addition",
                    "tool": {"type": "tool_definition", "definition": definition},
                },
                {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "Bash"}},
                {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "Back"}},
                {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "Back"}},
                text("Tools changed."),
            ],
        },
        tools=[BASH, {**BASH, "name": "Back"}],
    )
    assert [tool.name for tool in found.tools] == ["Back", "New"]
    assert found.messages == (Said("user", "hi\n\nTools changed."),)


def test_a_tool_keeps_its_name_words_and_schema() -> None:
    """And its way back."""
    found = asked(
        user(text("hi")), tools=[BASH, {"type": "custom", "name": "b", "input_schema": {}}]
    )
    assert [tool.name for tool in found.tools] == ["Bash", "b"]
    assert found.tools[0].description == "Runs a command."
    assert found.tools[0].parameters == BASH["input_schema"]
    assert found.names == {"Bash": Named("Bash"), "b": Named("b")}


def test_tools_of_the_server_stay_away() -> None:
    """None of them is offered at home."""
    server = [
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 8},
        {"type": "code_execution_20250825", "name": "code_execution"},
    ]
    found = asked(user(text("hi")), tools=[BASH, *server], mcp_servers=[{"url": "https://x"}])
    assert [tool.name for tool in found.tools] == ["Bash"]
    assert found.dropped == ("mcp_servers", "tools")


@pytest.mark.parametrize(
    ("choice", "tools", "told"),
    [
        (None, ["Bash", "Read"], ""),
        ({"type": "auto"}, ["Bash", "Read"], ""),
        ({"type": "none"}, [], ""),
        ({"type": "any"}, ["Bash", "Read"], phrases.CALL_NOW),
        ({"type": "tool", "name": "Read"}, ["Read"], phrases.call_of("Read")),
    ],
)
def test_a_choice_of_tools(choice: Any, tools: list[str], told: str) -> None:
    """None: no tools; one: that one and a word about it, as nothing enforces it."""
    more = {} if choice is None else {"tool_choice": choice}
    found = asked(user(text("hi")), tools=[BASH, {**BASH, "name": "Read"}], **more)
    assert [tool.name for tool in found.tools] == tools == list(found.names)
    assert found.messages[-1].text == "\n\n".join(filter(None, ("hi", told)))
    assert found.dropped == ()


@pytest.mark.parametrize("choice", [{"type": "tool", "name": "Nobody"}, {"type": "odd"}, 7])
def test_a_choice_that_means_nothing_is_left_out(choice: Any) -> None:
    """The model chooses as it likes."""
    found = asked(user(text("hi")), tools=[BASH], tool_choice=choice)
    assert (len(found.tools), found.messages[-1].text) == (1, "hi")
    assert found.dropped == ("tool_choice",)


@pytest.mark.parametrize("choice", [{"type": "tool", "name": "web_search"}, {"type": "any"}])
def test_a_search_in_the_web_never_goes_home(choice: Any) -> None:
    """The side request of Claude Code forces a tool that the vendor's server carries out."""
    tools = [{"type": "web_search_20250305", "name": "web_search", "max_uses": 8}]
    with pytest.raises(Refused, match="home-not-local") as no:
        asked(user(text("Search: piers")), tools=tools, tool_choice=choice)
    assert no.value.facts == {"reason": "one of its tools is carried out elsewhere"}


def test_a_server_tool_that_need_not_be_called_is_no_reason_to_refuse() -> None:
    """The model answers without it."""
    tools = [{"type": "web_search_20250305", "name": "web_search"}]
    assert asked(user(text("hi")), tools=tools).tools == ()
    odd = asked(user(text("hi")), tools=tools, tool_choice={"type": "tool", "name": "Nobody"})
    assert (odd.tools, odd.dropped) == ((), ("tools", "tool_choice"))


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({"thread": {"type": "continue", "previous_message_id": "msg_1"}}, "thread"),
        (
            {"messages": [user({"type": "image", "source": {"type": "file", "file_id": "f"}})]},
            "file_id",
        ),
        (
            {"messages": [user({"type": "document", "source": {"type": "file", "file_id": "f"}})]},
            "file_id",
        ),
        ({"messages": [user({"type": "container_upload", "file_id": "f"})]}, "file_id"),
    ],
)
def test_what_is_kept_elsewhere_is_refused(body: Any, what: str) -> None:
    """A guess at what stands there would be worse than an error."""
    with pytest.raises(Refused, match="home-not-local") as no:
        talk("anthropic_messages", json.dumps({"model": "m", "messages": [], **body}).encode())
    assert f"`{what}`" in no.value.facts["reason"]


def test_a_thread_that_begins_is_no_reason_to_refuse() -> None:
    """All of it is in the request."""
    assert asked(user(text("hi")), thread={"type": "create"}).dropped == ("thread",)


def test_limits_and_sampling_get_ollamas_names() -> None:
    """What is absent stays with the model; numbers stay what they are."""
    found = asked(
        user(text("hi")),
        max_tokens=64000,
        temperature=0.25,
        top_p=1,
        top_k=40,
        stop_sequences=["END", "", 7],
    )
    assert found.options == {
        "num_predict": 64000,
        "temperature": 0.25,
        "top_p": 1,
        "top_k": 40,
        "stop": ["END"],
    }
    assert asked(user(text("hi"))).options == {}
    assert asked(user(text("hi")), max_tokens=0, temperature=True).options == {}


@pytest.mark.parametrize(
    "more",
    [
        {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        {"output_format": {"type": "json_schema", "schema": {"type": "object"}}},
    ],
)
def test_a_form_of_the_answer_is_passed_on(more: Any) -> None:
    """Titles of Claude Code are asked for like this."""
    assert asked(user(text("hi")), **more).form == {"type": "object"}
    assert asked(user(text("hi")), tools=[], **more).dropped == ()


def test_a_form_beside_tools_is_told_in_words() -> None:
    """Enforced, it would keep the model from calling any."""
    config = {"format": {"type": "json_schema", "schema": {"type": "object", "maxProperties": 1.5}}}
    found = asked(user(text("hi")), tools=[BASH], output_config=config)
    assert (found.form, found.dropped) == (None, ("format",))
    assert found.messages[-1].text.endswith('\n{"type":"object","maxProperties":1.5}')


@pytest.mark.parametrize(
    ("more", "think"),
    [
        ({}, False),
        ({"thinking": {"type": "disabled"}}, False),
        ({"thinking": {"type": "enabled", "budget_tokens": 2048}}, True),
        ({"thinking": {"type": "adaptive"}}, True),
        ({"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}, "low"),
        ({"thinking": {"type": "adaptive"}, "output_config": {"effort": "xhigh"}}, "high"),
        ({"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}, "max"),
        ({"thinking": {"type": "adaptive"}, "output_config": {"effort": "odd"}}, True),
        ({"output_config": {"effort": "high"}}, False),
    ],
)
def test_how_much_to_think(more: Any, think: bool | str) -> None:
    """Only where it is asked for; an effort says how much."""
    assert asked(user(text("hi")), **more).think == think


def test_the_newest_effort_holds() -> None:
    """Claude Code tells it with each turn, in a system message."""
    found = asked(
        user(text("hi")),
        {"role": "system", "content": "x", "output_config": {"effort": "high"}},
        thinking={"type": "adaptive"},
        output_config={"effort": "low"},
    )
    assert found.think == "high"


def test_thinking_of_the_vendor_is_left_out_and_that_of_home_stays_in_its_loop() -> None:
    """Signed thinking is for the vendor's models; ours has no signature, and ends with its turn."""
    ours = {"type": "thinking", "thinking": "ours", "signature": ""}
    theirs = {"type": "thinking", "thinking": "theirs", "signature": "c2ln"}
    loop = [
        {"role": "assistant", "content": [theirs, ours, use("a")]},
        user(result("a", "x")),
    ]
    running = asked(user(text("go")), *loop)
    assert running.messages[1].thinking == "ours"
    assert running.dropped == ("thinking",)
    over = asked(
        user(text("go")), *loop, {"role": "assistant", "content": [ours]}, user(text("next"))
    )
    assert [said.thinking for said in over.messages] == [""] * 4
    assert [said.role for said in over.messages] == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize(
    "kind",
    ["redacted_thinking", "server_tool_use", "web_search_tool_result", "mcp_tool_use", "fallback"],
)
def test_blocks_of_the_vendors_side_are_left_out_by_name(kind: str) -> None:
    """What was found there stays there; the words round it stay."""
    found = asked(user(text("hi")), {"role": "assistant", "content": [{"type": kind}, text("ok")]})
    assert found.messages[1] == Said("assistant", "ok")
    assert found.dropped == (kind,)


def test_a_compaction_gives_its_summary() -> None:
    """Or says that there is one."""
    block = {"type": "compaction", "content": "We built a pier.", "signature": "x"}
    sealed = {"type": "compaction", "content": None, "encrypted_content": "x"}
    assert asked({"role": "assistant", "content": [block]}).messages[0].text == "We built a pier."
    assert asked({"role": "assistant", "content": [sealed]}).messages[0].text == phrases.COMPACTED


def test_what_nobody_knows_is_left_out_without_its_name() -> None:
    """A key of a stranger may be anything, so the log gets a star."""
    found = asked(
        user(text("hi"), {"type": "secret-shaped"}, "words"),
        {"role": "narrator", "content": "x"},
        unheard_of=1,
        metadata={"user_id": "x"},
        tool_choice={"type": "auto", "disable_parallel_tool_use": True},
    )
    assert found.messages == (Said("user", "hi"),)
    assert set(found.dropped) == {"*", "role", "metadata", "disable_parallel_tool_use"}


def test_numbers_that_nothing_holds_are_left_out_or_written_as_text() -> None:
    """No writer of JSON could write them."""
    body = (
        b'{"max_tokens":1E400,"temperature":1E400,"top_k":1' + b"0" * 400 + b',"messages":[{"role":'
        b'"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{"far":[-1E400]}}]}]}'
    )
    found = talk("anthropic_messages", body)
    assert found.options == {}
    assert found.messages[0].calls == (Call("a", "b", {"far": ["-1E+400"]}),)


def test_what_is_no_text_has_no_place_in_system_text() -> None:
    """At the head and among the messages."""
    found = asked(
        user(text("hi")),
        {"role": "system", "content": [image(), {"type": "odd"}, text("x")]},
        system=[image(), text("You help.")],
    )
    assert found.messages == (Said("system", "You help."), Said("user", "hi\n\nx"))
    assert found.dropped == ("image", "*")


def test_model_and_stream_are_the_callers() -> None:
    """A stream only where it was asked for."""
    assert (asked().model, asked().stream) == ("claude-x", False)
    assert asked(stream=True).stream
