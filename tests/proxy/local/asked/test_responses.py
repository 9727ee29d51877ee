"""OpenAI Responses for a model at home: the table of wire.md 5.2, row by row."""

import base64
import json
from typing import Any

import pytest

from proxy.errors import Refused
from proxy.local.asked import from_responses, phrases, responses_input, responses_tools, talk
from proxy.local.talk import Call, Named, Said, Talk

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()
LS = {"type": "function", "name": "ls", "description": "Lists.", "parameters": {}}
EXEC = {
    "type": "custom",
    "name": "exec",
    "description": "Runs.",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: CODE"},
}


def asked(*items: Any, **more: Any) -> Talk:
    body = {"model": "gpt-x", "input": list(items), **more}
    return talk("openai_responses", json.dumps(body).encode())


def said(role: str, *texts: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": t} for t in texts]}


def call(made: str, name: str = "ls", arguments: str = "{}", **more: Any) -> dict[str, Any]:
    item = {"type": "function_call", "call_id": made, "name": name, "arguments": arguments}
    return {"id": f"fc_{made}", **item, **more}


def output(made: str, content: Any, kind: str = "function_call_output", **more: Any) -> Any:
    return {"type": kind, "call_id": made, "output": content, **more}


def test_the_readers_of_this_dialect_are_the_ones_tested() -> None:
    """The table of dialects leads here."""
    draft = from_responses.Draft()
    responses_input.read_item(said("user", "hi"), draft)
    responses_tools.add_tools([LS], draft)
    found = draft.done(model="m", stream=False, choice=from_responses.Choice(), options={})
    assert found.messages == (Said("user", "hi"),)
    assert found.names == {"ls": Named("ls")}


def test_instructions_and_leading_messages_are_one_system_message() -> None:
    """Also behind the tools that stand first; later ones go into the user's message."""
    found = asked(
        {"type": "additional_tools", "role": "developer", "tools": [LS]},
        said("developer", "Be", "brief."),
        {"role": "system", "content": "Be kind."},
        said("user", "hi"),
        said("developer", "Now."),
        said("assistant", "yes"),
        instructions="You help.",
    )
    assert found.messages == (
        Said("system", "You help.\n\nBe\n\nbrief.\n\nBe kind."),
        Said("user", "hi\n\nNow."),
        Said("assistant", "yes"),
    )
    assert [tool.name for tool in found.tools] == ["ls"]


def test_an_input_that_is_a_text_is_what_the_user_says() -> None:
    """The short form of the SDKs."""
    found = talk("openai_responses", b'{"model": "m", "input": "hi"}')
    assert found.messages == (Said("user", "hi"),)


def test_pictures_are_shown_from_data_addresses_alone() -> None:
    """In messages, in results and in screenshots; nothing is fetched."""
    here = f"data:image/png;base64,{PNG}"
    part = {"type": "input_image", "image_url": here}
    away = {"type": "input_image", "image_url": "https://pictures.example/a.png"}
    found = asked(
        {"role": "user", "content": [part, away, {"type": "input_file", "file_url": "https://x"}]},
        call("a"),
        output("a", [{"type": "input_text", "text": "see"}, part]),
        output("c", {"type": "computer_screenshot", "image_url": here}, "computer_call_output"),
    )
    told = f"{phrases.PICTURE}\n\n{phrases.DOCUMENT}"
    assert found.messages[0] == Said("user", told, images=(PNG,))
    assert found.messages[2:] == (
        Said("tool", "see", images=(PNG,), answers="a", tool="ls"),
        Said("tool", images=(PNG,), answers="c"),
    )
    assert found.dropped == ("image_url", "file")


def test_what_a_model_says_and_calls_in_a_row_is_one_message() -> None:
    """Parallel calls stand together before their results, in any order of ids."""
    found = asked(
        said("user", "go"),
        said("assistant", "I ", "look."),
        call("a", arguments='{"path":"x"}'),
        call("b", "cat"),
        output("b", "B"),
        output("a", [{"type": "input_text", "text": "A"}]),
    )
    assert found.messages[1:] == (
        Said("assistant", "I look.", calls=(Call("a", "ls", {"path": "x"}), Call("b", "cat", {}))),
        Said("tool", "B", answers="b", tool="cat"),
        Said("tool", "A", answers="a", tool="ls"),
    )


def test_arguments_that_are_no_object_are_told() -> None:
    """The call stays, without any."""
    found = asked(call("a", arguments="{"))
    assert found.messages[0] == Said("assistant", phrases.unread("{"), calls=(Call("a", "ls", {}),))


def test_a_custom_call_gives_its_string_as_input() -> None:
    """Its output may be a list."""
    item = {"type": "custom_tool_call", "call_id": "a", "name": "exec", "input": "two\nlines"}
    parts = [{"type": "input_text", "text": "1"}, {"type": "input_text", "text": "2"}]
    found = asked(item, output("a", parts, "custom_tool_call_output"), tools=[EXEC])
    assert found.messages == (
        Said("assistant", calls=(Call("a", "exec", {"input": "two\nlines"}),)),
        Said("tool", "1\n\n2", answers="a", tool="exec"),
    )
    assert found.names == {"exec": Named("exec", "custom")}
    assert found.tools[0].description.endswith(phrases.written_as("start: CODE"))


def test_tools_in_namespaces_find_back_to_them() -> None:
    """Flattened under names that every server takes; calls of the history have the same ones."""
    space = {"type": "namespace", "name": "functions", "description": "", "tools": [EXEC, LS]}
    found = asked(
        {"type": "additional_tools", "tools": [space, {**space, "name": "files", "tools": [LS]}]},
        said("user", "go"),
        {
            "type": "custom_tool_call",
            "call_id": "a",
            "namespace": "functions",
            "name": "exec",
            "input": "x",
        },
        call("b", "ls", namespace="files"),
        output("a", "A", "custom_tool_call_output"),
        tools=[LS],
    )
    assert found.names == {
        "ls": Named("ls"),
        "functions__exec": Named("exec", "custom", "functions"),
        "functions__ls": Named("ls", "function", "functions"),
        "files__ls": Named("ls", "function", "files"),
    }
    assert [tool.name for tool in found.tools] == list(found.names)
    assert [made.name for made in found.messages[1].calls] == ["functions__exec", "files__ls"]
    assert found.messages[2].tool == "functions__exec"


@pytest.mark.parametrize(
    ("item", "result", "text"),
    [
        (
            {"type": "local_shell_call", "call_id": "a", "action": {"command": ["ls"]}},
            output("a", "out", "local_shell_call_output"),
            "out",
        ),
        (
            {"type": "shell_call", "call_id": "a", "action": {"commands": ["ls", "false"]}},
            output(
                "a",
                [
                    {"stdout": "o", "stderr": "e", "outcome": {"type": "exit", "exit_code": 1}},
                    {"stdout": "p", "stderr": "", "outcome": {"type": "timeout"}},
                ],
                "shell_call_output",
            ),
            f"o\ne\n{phrases.exit_code(1)}\np\n{phrases.TIMED_OUT}",
        ),
        (
            {"type": "apply_patch_call", "call_id": "a", "operation": {"type": "delete_file"}},
            output("a", "no such file", "apply_patch_call_output", status="failed"),
            f"{phrases.FAILED}\nno such file",
        ),
        (
            {"type": "computer_call", "call_id": "a", "action": {"type": "screenshot"}},
            output("a", {}, "computer_call_output"),
            "",
        ),
    ],
)
def test_calls_of_tools_with_a_kind_of_their_own_stay_readable(
    item: Any, result: Any, text: str
) -> None:
    """What was asked and what came of it; such tools are not offered, as no answer could call."""
    kind = item["type"].removesuffix("_call")
    found = asked(item, result, tools=[{"type": kind}])
    asked_for = item.get("action") or item.get("operation")
    assert found.messages[0].calls == (Call("a", kind, asked_for),)
    assert found.messages[1] == Said("tool", text, answers="a", tool=kind)
    assert (found.tools, "tools" in found.dropped) == ((), True)


def test_tools_that_a_search_found_are_told_and_offered() -> None:
    """As a client's search gives them."""
    found = asked(
        {"type": "tool_search_call", "call_id": "a", "arguments": {"query": "files"}},
        {
            "type": "tool_search_output",
            "call_id": "a",
            "tools": [LS, {"type": "namespace", "name": "n", "tools": [LS]}, {"type": "mcp"}],
        },
        tools=[{"type": "tool_search"}],
    )
    assert found.messages[1].text == "Tools loaded: ls, n.ls."
    assert list(found.names) == ["ls", "n__ls"]


def test_reasoning_of_the_vendor_is_left_out_and_that_of_home_stays_in_its_loop() -> None:
    """Ours is not encrypted, and ends with its turn."""
    ours = {"type": "reasoning", "summary": [], "content": [{"type": "text", "text": "ours"}]}
    theirs = {
        "type": "reasoning",
        "encrypted_content": "x",
        "summary": [{"type": "summary_text", "text": "theirs"}],
    }
    found = asked(said("user", "go"), theirs, ours, call("a"), output("a", "A"))
    assert (found.messages[1].thinking, found.dropped) == ("ours", ("reasoning",))
    over = asked(
        said("user", "go"),
        ours,
        call("a"),
        output("a", "A"),
        said("assistant", "ok"),
        said("user", "n"),
    )
    assert [one.thinking for one in over.messages] == [""] * 5


@pytest.mark.parametrize(
    "kind", ["web_search_call", "mcp_call", "file_search_call", "program_output", "mcp_list_tools"]
)
def test_items_of_the_vendors_side_are_left_out_by_name(kind: str) -> None:
    """What was found there stays there."""
    found = asked({"type": kind, "id": "x"}, said("user", "hi"))
    assert (found.messages, found.dropped) == ((Said("user", "hi"),), (kind,))


def test_a_compaction_is_told() -> None:
    """Only its vendor can read it."""
    found = asked({"type": "compaction", "encrypted_content": "x"}, said("user", "hi"))
    assert found.messages[0] == Said("user", phrases.COMPACTED)
    assert found.dropped == ("compaction",)


def test_a_compaction_cannot_be_asked_for_at_home() -> None:
    """Words in its place would be an answer that the client takes for none."""
    with pytest.raises(Refused, match="home-not-local") as refused:
        asked(said("user", "hi"), {"type": "compaction_trigger"})
    assert "only its vendor can seal" in refused.value.facts["reason"]


@pytest.mark.parametrize(
    ("choice", "names", "told"),
    [
        ("auto", ["ls", "n__ls"], ""),
        ("none", [], ""),
        ("required", ["ls", "n__ls"], phrases.CALL_NOW),
        ({"type": "function", "name": "ls", "namespace": "n"}, ["n__ls"], phrases.call_of("n__ls")),
        (
            {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "function", "name": "ls"}],
            },
            ["ls", "n__ls"],
            "",
        ),
    ],
)
def test_a_choice_of_tools(choice: Any, names: list[str], told: str) -> None:
    """By name, and by namespace where one is told."""
    space = {"type": "namespace", "name": "n", "tools": [LS]}
    found = asked(said("user", "hi"), tools=[LS, space], tool_choice=choice)
    assert (list(found.names), found.dropped) == (names, ())
    assert found.messages[-1].text == "\n\n".join(filter(None, ("hi", told)))


@pytest.mark.parametrize("choice", [{"type": "web_search"}, "required"])
def test_a_forced_tool_of_the_server_never_goes_home(choice: Any) -> None:
    """Only it could answer."""
    with pytest.raises(Refused, match="home-not-local"):
        asked(said("user", "hi"), tools=[{"type": "web_search"}], tool_choice=choice)


@pytest.mark.parametrize("choice", [{}, 7, {"type": "function", "name": "nobody"}])
def test_a_choice_that_means_nothing_is_left_out(choice: Any) -> None:
    """The model chooses as it likes."""
    found = asked(said("user", "hi"), tools=[LS], tool_choice=choice)
    assert (len(found.tools), found.dropped) == (1, ("tool_choice",))


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": {"id": "conv_1"}}, "conversation"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "item_reference"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}]},
            "file_id",
        ),
        (
            {
                "input": [
                    {"role": "user", "content": [{"type": "input_image", "file_id": "file_1"}]}
                ]
            },
            "file_id",
        ),
    ],
)
def test_what_is_kept_elsewhere_is_refused(more: Any, what: str) -> None:
    """A guess at what stands there would be worse than an error."""
    with pytest.raises(Refused, match="home-not-local") as no:
        asked(**more)
    assert f"`{what}`" in no.value.facts["reason"]
    assert asked(previous_response_id=None, conversation=None, prompt=None).dropped == ()


def test_limits_sampling_form_and_effort() -> None:
    """By Ollama's names; of the items that change the effort the last one holds."""
    form = {"type": "json_schema", "name": "t", "schema": {"type": "object"}}
    found = asked(
        {"type": "configuration_update", "reasoning": {"effort": "high"}},
        said("user", "hi"),
        max_output_tokens=900,
        temperature=0.5,
        top_p=1.0,
        reasoning={"effort": "low"},
        text={"format": form, "verbosity": "low"},
    )
    assert found.options == {"num_predict": 900, "temperature": 0.5, "top_p": 1.0}
    assert (found.form, found.think) == ({"type": "object"}, "high")
    assert found.dropped == ("text.verbosity",)
    assert asked(text={"format": {"type": "json_object"}}).form == "json"
    assert asked(text={"format": {"type": "json_schema"}}).form == "json"


def test_members_without_a_meaning_are_named() -> None:
    """Those of the table, by the schema's words; what nobody knows as a star."""
    found = asked(
        {"type": "of_no_kind"},
        {"role": "narrator"},
        "odd",
        include=["reasoning.encrypted_content"],
        store=False,
        client_metadata={},
        prompt_cache_key="k",
        parallel_tool_calls=False,
        mine=1,
    )
    assert set(found.dropped) == {
        "*", "role", "include", "store", "client_metadata", "prompt_cache_key",
        "parallel_tool_calls",
    }  # fmt: skip


def test_a_result_may_name_its_tool_itself() -> None:
    """For a call that stands elsewhere."""
    found = asked(output("a", "A", name="ls", namespace="n"))
    assert found.messages == (Said("tool", "A", answers="a", tool="n__ls"),)
