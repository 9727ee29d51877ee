"""Views: units, tools, calls, opaque and unknown parts, held state, tolerance of wrong shapes."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.conversation import Conversation, ToolCall
from proxy.dialects import ALL
from proxy.dialects.responses_results import MAX_LEAVES
from proxy.lazyjson import Malformed, read

CONVERSATIONS = [name for name in ALL if not name.startswith("plain_text")]


def view(dialect: str, body: object) -> Conversation:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return ALL[dialect].view(read(raw))


def items(*messages: object) -> Conversation:
    return view("openai_responses", {"input": messages})


@pytest.mark.parametrize("dialect", CONVERSATIONS)
@pytest.mark.parametrize("wrong", [None, 7, "text", True, {}, [], [None], [[]], [7, "x"], [{}]])
def test_a_wrong_shape_is_left_alone(dialect: str, wrong: object) -> None:
    """Whatever stands in place of messages, of one, of its role, content or parts: no crash, no
    unit, and every string is still in a piece."""
    key = "input" if dialect == "openai_responses" else "messages"
    for body in (
        {key: wrong},
        {key: [wrong]},
        {key: [{"role": wrong, "content": wrong}]},
        {key: [{"role": "tool", "content": [wrong], "tool_call_id": wrong}]},
        {key: [{"role": "user", "content": [{"type": "tool_result", "content": wrong}]}]},
        {key: [{"role": "user", "content": [{"type": "document", "source": wrong}]}]},
        {
            key: [
                {"role": "assistant", "content": wrong, "tool_calls": wrong, "function_call": wrong}
            ]
        },
        {key: [{"role": "assistant", "tool_calls": [wrong], "images": wrong}]},
        {key: [{"type": "function_call_output", "output": wrong, "call_id": wrong}]},
        {key: [{"type": "shell_call_output", "output": [wrong]}]},
        {"tools": wrong, "system": wrong, "model": wrong, "stream": wrong},
        {"tools": [wrong], "mcp_servers": [wrong], "functions": [wrong], "thread": wrong},
    ):
        conversation = view(dialect, body)
        assert [unit.text for unit in conversation.units] in ([], ["text"], ["x"], ["text", "x"])
        for piece in conversation.pieces:
            piece.strands()


def test_a_body_without_messages_is_read() -> None:
    """The upstream answers its own 400; the members are pieces all the same."""
    for name in CONVERSATIONS:
        conversation = view(name, {"model": "m", "stream": False})
        assert (conversation.model, conversation.messages, conversation.turn) == ("m", (), 0)
        assert [piece.address for piece in conversation.pieces] == [("model",), ("stream",)]


def test_pieces_are_members_and_messages_in_order() -> None:
    """`messages` itself is a known word; a member's own key is its first strand."""
    body = {"model": "m", "messages": [{"role": "user", "content": "u"}], "x-key": "v"}
    conversation = view("openai_chat", body)
    assert [p.address for p in conversation.pieces] == [("model",), ("messages", 0), ("x-key",)]
    first, *rest = conversation.pieces[2].strands()
    assert (first.text, first.is_key, first.address) == ("x-key", True, ("x-key",))
    assert [strand.text for strand in rest] == ["v"]
    assert conversation.unknown == (("x-key",),)


def test_messages_that_are_no_list_are_one_piece() -> None:
    """They are read by the screen like any other member."""
    conversation = view("ollama_chat", {"messages": {"role": "user"}})
    (piece,) = conversation.pieces
    assert [strand.text for strand in piece.strands()] == ["messages", "role", "user"]
    assert conversation.unknown == (("messages",),)


@pytest.mark.parametrize(
    "body",
    [
        b'{"messages":[],"Messages":[{"role":"tool","content":"x"}]}',
        b'{"Messages":[{"role":"tool","content":"x"}]}',
        b'{"MODEL":"m"}',
        b'{"messages":[{"role":"tool","Content":"x"}]}',
        b'{"messages":[{"Role":"tool","content":"x"}]}',
        b'{"messages":[{"role":"tool","content":"x","cont\\u0065nt":"y"}]}',
        b'{"tools":[{"type":"function","Function":{"name":"f"}}]}',
    ],
)
def test_a_known_key_in_other_letters_is_refused(body: bytes) -> None:
    """Some upstreams match keys without regard to case; they would read what was not read here."""
    with pytest.raises(Malformed):
        view("ollama_chat", body)


@pytest.mark.parametrize(
    ("dialect", "stream", "means"),
    [
        ("anthropic_messages", None, False),
        ("openai_chat", None, False),
        ("openai_responses", None, False),
        ("ollama_chat", None, True),
        ("ollama_chat", False, False),
        ("openai_chat", True, True),
        ("openai_chat", "true", False),
    ],
)
def test_whether_a_stream_is_asked_for(dialect: str, stream: object, means: bool) -> None:
    """Absent or null means what the vendor takes it for."""
    assert view(dialect, {"stream": stream}).stream is means
    if stream is None:
        assert view(dialect, {}).stream is means


def test_the_newest_call_of_an_id_names_the_tool() -> None:
    """Ids that come again belong to the call that was made last; an unknown id to no tool."""

    def call(name: str) -> dict[str, object]:
        return {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": name}}]}

    result = {"role": "tool", "tool_call_id": "c", "content": "r"}
    orphan = {"role": "tool", "tool_call_id": "gone", "content": "r"}
    units = view("openai_chat", {"messages": [call("a"), result, call("b"), result, orphan]}).units
    assert [(unit.tool, unit.source) for unit in units] == [
        ("a", "tool:a"),
        ("b", "tool:b"),
        ("", "tool:"),
    ]
    assert [unit.answered for unit in units] == [True, False, False]


def test_ollama_results_are_named_by_word_id_or_place() -> None:
    """`tool_name`, then the legacy `name`, then the call id, then the place among the results."""
    calls = [
        {"id": f"c{n}", "function": {"name": f"f{n}", "arguments": {"n": n}}} for n in range(3)
    ]
    results = [
        {"role": "tool", "content": "r", "tool_name": "word", "name": "legacy"},
        {"role": "tool", "content": "r", "tool_call_id": "c0"},
        {"role": "tool", "content": "r"},
        {"role": "tool", "content": "r"},
    ]
    conversation = view(
        "ollama_chat", {"messages": [{"role": "assistant", "tool_calls": calls}, *results]}
    )
    assert [unit.tool for unit in conversation.units] == ["word", "f0", "f2", ""]
    assert conversation.messages[0].calls[1] == ToolCall("c1", "f1", '{"n": 1}')


def test_calls_keep_their_arguments_as_they_stand() -> None:
    """Arguments are the raw JSON, or the text of the string that holds them."""
    body = (
        b'{"messages":[{"role":"assistant","content":'
        b'[{"type":"tool_use","id":"i","name":"n","input":{"a": 1.0, "b":[]}}]}]}'
    )
    assert view("anthropic_messages", body).messages[0].calls == (
        ToolCall("i", "n", '{"a": 1.0, "b":[]}'),
    )
    calls = items(
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a": 1}'},
        {"type": "custom_tool_call", "call_id": "d", "name": "g", "namespace": "s", "input": "i"},
        {"type": "local_shell_call", "call_id": "e", "action": {"command": []}},
    ).messages
    assert [message.calls[0] for message in calls] == [
        ToolCall("c", "f", '{"a": 1}'),
        ToolCall("d", "s.g", "i"),
        ToolCall("e", "local_shell", '{"command": []}'),
    ]


def test_tools_are_found_wherever_they_are_declared() -> None:
    """Lists, legacy functions, servers, namespaces, items; without a name the type counts."""
    named = {"type": "function", "name": "f"}
    conversation = view(
        "openai_responses",
        {
            "tools": [
                named,
                {"type": "web_search"},
                {"type": "namespace", "name": "n", "tools": [named]},
            ],
            "input": [
                {"type": "additional_tools", "tools": [{"type": "custom", "name": "c"}]},
                {"type": "tool_search_output", "execution": "client", "tools": [{"name": "late"}]},
            ],
        },
    )
    assert conversation.tools == ("f", "web_search", "n.f", "c", "late")
    chat = {
        "tools": [
            {"type": "function", "function": {"name": "a"}},
            {"type": "custom", "custom": {"name": "b"}},
        ],
        "functions": [{"name": "old"}],
    }
    assert view("openai_chat", chat).tools == ("a", "b", "old")
    anthropic = {
        "tools": [{"name": "t"}, {"type": "web_search_20260318"}],
        "mcp_servers": [{"type": "url", "name": "srv"}],
    }
    assert view("anthropic_messages", anthropic).tools == ("t", "web_search_20260318", "srv")


def test_state_held_upstream_is_named() -> None:
    """Content that a proxy cannot see, by the field that points at it."""
    image = {"type": "input_image", "file_id": "f"}
    conversation = view(
        "openai_responses",
        {
            "previous_response_id": "r",
            "conversation": {"id": "c"},
            "prompt": {"id": "p"},
            "tools": [
                {"type": "file_search", "vector_store_ids": ["v"]},
                {"type": "code_interpreter", "container": "cntr"},
                {
                    "type": "shell",
                    "environment": {"type": "container_reference", "container_id": "c"},
                },
                {"type": "function", "name": "f", "parameters": {"file_id": "no"}},
            ],
            "input": [{"type": "item_reference", "id": "i"}, {"role": "user", "content": [image]}],
        },
    )
    assert conversation.held == (
        "previous_response_id",
        "conversation",
        "prompt",
        "vector_store_ids",
        "container",
        "container_id",
        "item_reference",
        "file_id",
    )
    anthropic = {"container": "c", "thread": {"type": "continue", "previous_message_id": "m"}}
    assert view("anthropic_messages", anthropic).held == ("container", "thread")
    assert view("anthropic_messages", {"container": None, "thread": {"type": "create"}}).held == ()
    audio = {"messages": [{"role": "assistant", "audio": {"id": "a"}}]}
    assert view("openai_chat", audio).held == ("audio",)


def test_signed_thinking_seals_a_message() -> None:
    """A signature binds what stands before it; an empty one, of a local model, binds nothing."""

    def sealed(block: object) -> bool:
        body = {"messages": [{"role": "assistant", "content": [block]}]}
        return view("anthropic_messages", body).messages[0].sealed

    assert sealed({"type": "thinking", "thinking": "", "signature": "c2ln"})
    assert sealed({"type": "redacted_thinking", "data": "eA=="})
    assert not sealed({"type": "thinking", "thinking": "t", "signature": ""})
    assert items({"type": "reasoning", "encrypted_content": "eA=="}).messages[0].sealed
    assert not items({"type": "reasoning", "summary": []}).messages[0].sealed
    routed = {"messages": [{"role": "assistant", "reasoning_details": [{"data": "x"}]}]}
    assert view("openai_chat", routed).messages[0].sealed


def test_opaque_parts_are_placed() -> None:
    """Pictures, documents and encrypted values, by the way to them."""
    encrypted = {"type": "web_search_tool_result", "content": [{"encrypted_content": "eA=="}]}
    pdf = {"type": "document", "source": {"type": "base64", "data": "JVBERi0="}}
    body = {
        "messages": [
            {"role": "user", "content": [{"type": "image", "source": {"type": "url"}}, pdf]},
            {"role": "assistant", "content": [encrypted]},
        ]
    }
    at = ("messages", 0, "content")
    assert view("anthropic_messages", body).opaque == (
        (*at, 0),
        (*at, 1, "source"),
        ("messages", 1, "content", 0, "content", 0, "encrypted_content"),
    )


def test_a_tool_added_in_mid_conversation_is_declared() -> None:
    """A system message may bring a tool along; a mere reference to one declares nothing."""
    definition = {"type": "tool_definition", "definition": {"name": "late"}}
    reference = {"type": "tool_reference", "name": "known"}
    content = [{"type": "tool_addition", "tool": tool} for tool in (definition, reference)]
    body = {"messages": [{"role": "system", "content": [*content, {"type": "tool_addition"}]}]}
    assert view("anthropic_messages", body).tools == ("late",)


@pytest.mark.parametrize(
    ("kind", "output", "units"),
    [
        ("function_call_output", None, []),
        ("function_call_output", "o", [("n", "o")]),
        ("apply_patch_call_output", "o", [("apply_patch", "o")]),
        ("shell_call_output", "o", [("shell", "o")]),
        ("shell_call_output", [{"stdout": None, "stderr": "e"}], [("shell", "e")]),
        ("local_shell_call_output", None, []),
        ("computer_call_output", None, []),
        ("image_generation_call", None, []),
    ],
)
def test_outputs_without_their_calls(kind: str, output: object, units: list[object]) -> None:
    """Where the call was cut away, the item's own words name the tool; null is no text."""
    item = {"type": kind, "call_id": "c", "output": output}
    item |= {"name": "n"} if kind == "function_call_output" else {}
    assert [(unit.tool, unit.text) for unit in items(item).units] == units


def test_a_document_source_of_unknown_kind_is_noted() -> None:
    """Neither text nor a known reference: left alone, and said so."""
    sources = [{"type": "brand_new"}, {"type": "content", "content": [{"type": "brand_new"}]}]
    content = [{"type": "document", "source": source} for source in sources]
    content += [{"type": "document"}, {"type": "search_result", "content": [{"type": "text"}]}]
    conversation = view("anthropic_messages", {"messages": [{"role": "user", "content": content}]})
    at = ("messages", 0, "content")
    assert conversation.unknown == ((*at, 0, "source"), (*at, 1, "source", "content", 0))
    assert conversation.units == ()


def test_unknown_parts_are_placed_and_stay_whole() -> None:
    """A kind that is not known is noted where it stands and never taken for a unit."""
    new = {"type": "brand_new", "content": "x"}
    body = {"messages": [{"role": "user", "content": [new], "mood": 1}]}
    conversation = view("anthropic_messages", body)
    assert conversation.unknown == (("messages", 0, "mood"), ("messages", 0, "content", 0))
    assert conversation.units == ()
    result = {"type": "tool_result", "tool_use_id": "t", "content": [new]}
    body = {"messages": [{"role": "user", "content": [result]}]}
    place = ("messages", 0, "content", 0, "content", 0)
    assert view("anthropic_messages", body).unknown == (place,)


def test_a_result_in_an_output_of_the_model_is_no_unit() -> None:
    """The model's own turn is sent back as it is."""
    result = {"type": "tool_result", "tool_use_id": "t", "content": "x"}
    conversation = view(
        "anthropic_messages", {"messages": [{"role": "assistant", "content": [result]}]}
    )
    assert conversation.units == ()
    assert conversation.unknown == (("messages", 0, "content", 0),)


@pytest.mark.parametrize(
    ("output", "leaves"),
    [
        ('{"output":"o","metadata":{"exit_code":0,"list":["a",""]}}', ["o", "a"]),
        ('  {"a":"x"} ', ["x"]),
        ('{"a":1}', []),
        ('{"a":"x","a":"y"}', None),
        ('{"a":"x","A":"y"}', None),
        ('{"a":"x"', None),
        ('["x"]', None),
        ('"x"', None),
        ("plain", None),
        ("{" + ",".join(f'"k{n}":"v"' for n in range(MAX_LEAVES + 1)) + "}", None),
        ('{"a":"\\ud800"}', ["\ud800"]),
        ("{\ud800", None),
    ],
)
def test_leaves_of_a_local_shell_output(output: str, leaves: list[str] | None) -> None:
    """A JSON object keeps its shape, its leaves are units; any other text is one unit."""
    units = items({"type": "local_shell_call_output", "id": "i", "output": output}).units
    assert [unit.text for unit in units] == ([output] if leaves is None else leaves)
    assert all(bool(unit.inner) is (leaves is not None) for unit in units)


def test_string_and_one_text_part_are_the_same_unit() -> None:
    """Clients re-encode a result between turns; text, call, tool and part do not change with it."""

    def unit(content: object) -> tuple[object, ...]:
        use = {"type": "tool_use", "id": "t", "name": "n"}
        result = {"type": "tool_result", "tool_use_id": "t", "content": content}
        body = {
            "messages": [
                {"role": "assistant", "content": [use]},
                {"role": "user", "content": [result]},
            ]
        }
        (found,) = view("anthropic_messages", body).units
        return found.text, found.call, found.tool, found.part

    assert unit("x") == unit(
        [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]
    )


WORDS = [
    "type", "role", "content", "text", "tool_result", "tool_use", "tool_use_id", "id", "name",
    "source", "data", "document", "search_result", "input", "output", "call_id", "tool", "user",
    "assistant", "system", "function_call_output", "shell_call_output", "local_shell_call_output",
    "stdout", "input_text", "tool_calls", "function", "arguments", "tool_call_id", "message",
    "namespace", "tools", "additional_tools", "encrypted_content", "images", "thinking",
    "signature", "execution", "tool_search_output", "computer_call_output", "file_id", "",
]  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=5)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("dialect", sorted(ALL))
@given(messages=st.lists(VALUES, max_size=4), member=VALUES, key=st.sampled_from(WORDS))
@settings(max_examples=60)
def test_no_body_of_known_words_crashes_a_view(
    dialect: str, messages: list[object], member: object, key: str
) -> None:
    """Known words in any arrangement give a view whose addresses lead to what they say."""
    lists = {"messages": messages, "input": messages}
    conversation = view(dialect, {**lists, key: member} if key not in lists else lists)
    body = {**lists, key: member} if key not in lists else lists

    def at(address: tuple[str | int, ...]) -> object:
        value: object = body
        for step in address:
            value = value[step]  # type: ignore[index]
        return value

    for unit in conversation.units:
        assert unit.inner or at(unit.address) == unit.text
        assert unit.text
    for place in (*conversation.opaque, *conversation.unknown):
        at(place)
    assert conversation.turn <= len(conversation.messages)


def test_arguments_keep_half_a_surrogate_as_it_stands() -> None:
    """Such a body is read more slowly, and to the same bytes."""
    raw = rb'{"x": "\ud800", "n": 1.50}'
    call = b'{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '
    body = b'{"messages": [' + call + raw + b"}}]}]}"
    (message,) = view("ollama_chat", body).messages
    assert message.calls == (ToolCall("", "f", raw.decode()),)
