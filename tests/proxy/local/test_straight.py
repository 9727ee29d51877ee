"""A local server of the caller's dialect gets the request as it came, but for a few edits."""

import json
from typing import Any

import pytest

from proxy.errors import Refused
from proxy.lazyjson import read
from proxy.local.straight import straight
from tests.wire.filling import dialect_of, filled, names

SEARCH = '{"type":"web_search_20250305","name":"web_search"}'
LOOK = '{"type":"function","name":"look"}'
WEB_FIRST = f'{{"type":"web_search"}},{LOOK}'
INSIDE = '[{"type":"namespace","name":"n","tools":[%s]}]'
IN_MCP = INSIDE % '{"type":"mcp"}'
DECLARED = (
    f'{{"model":"%s","input":[{{"type":"tool_search_output","tools":{INSIDE}}}],"tools":{INSIDE}}}'
)
BASH = '{"name" : "Bash", "input_schema":{"type":"object","maximum":1e5}}'


def sent(dialect: str, body: str) -> str:
    return straight(dialect, read(body.encode()), "qwen3:8b").decode()


@pytest.mark.parametrize(
    ("dialect", "body", "expected"),
    [
        (
            "anthropic_messages",
            '{ "model":"claude", "a":1e0 , "messages":[ {"role":"user","content":"\\u00fc"}]}',
            '{ "model":"qwen3:8b", "a":1e0 , "messages":[ {"role":"user","content":"\\u00fc"}]}',
        ),
        (
            "anthropic_messages",
            f'{{"model":"m","tools":[{BASH},{SEARCH}],"tool_choice":{{"type":"auto"}}}}',
            f'{{"model":"qwen3:8b","tools":[{BASH}],"tool_choice":{{"type":"auto"}}}}',
        ),
        (
            "anthropic_messages",
            f'{{"model":"m","tools":[{SEARCH}],"tool_choice":{{"type":"auto"}},"max_tokens":5}}',
            '{"model":"qwen3:8b","max_tokens":5}',
        ),
        (
            "anthropic_messages",
            f'{{"model":"m","tools":[{BASH},{SEARCH}],"tool_choice":{{"type":"tool","name":"web_search"}}}}',
            f'{{"model":"qwen3:8b","tools":[{BASH}]}}',
        ),
        (
            "anthropic_messages",
            '{"model":"m","context_management":{"edits":[]},"mcp_servers":[],"thread":{"type":"create"},"metadata":{}}',
            '{"model":"qwen3:8b","metadata":{}}',
        ),
        (
            "openai_chat",
            '{"messages":[],"store":false,"prompt_cache_key":"k","tools":[{"type":"function","function":{"name":"a"}}],"mine":1}',
            '{"messages":[],"tools":[{"type":"function","function":{"name":"a"}}],"mine":1,"model":"qwen3:8b"}',
        ),
        (
            "openai_responses",
            '{"model":"m","input":[{"type":"additional_tools","tools":[{"type":"web_search"},{"type":"namespace","name":"n"}]},'
            '{"role":"user","content":"hi"}],"tools":[{"type":"mcp","server_url":"https://x"}],"client_metadata":{}}',
            '{"model":"qwen3:8b","input":[{"type":"additional_tools","tools":[{"type":"namespace","name":"n"}]},'
            '{"role":"user","content":"hi"}]}',
        ),
        (
            "openai_responses",
            DECLARED % ("m", WEB_FIRST, WEB_FIRST),
            DECLARED % ("qwen3:8b", LOOK, LOOK),
        ),
        (
            "openai_responses",
            '{"model":"m","input":"hi","previous_response_id":null,"conversation":""}',
            '{"model":"qwen3:8b","input":"hi","previous_response_id":null,"conversation":""}',
        ),
        (
            "ollama_chat",
            '{"model":"big:cloud","keep_alive":-0}',
            '{"model":"qwen3:8b","keep_alive":-0}',
        ),
    ],
)  # fmt: skip
def test_only_model_server_tools_and_members_of_vendors_change(
    dialect: str, body: str, expected: str
) -> None:
    """All other bytes stay: numbers, escapes, blanks, what nobody knows."""
    assert sent(dialect, body) == expected


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        (
            "anthropic_messages",
            f'{{"tools":[{SEARCH}],"tool_choice":{{"type":"tool","name":"web_search"}}}}',
        ),
        ("anthropic_messages", f'{{"tools":[{SEARCH}],"tool_choice":{{"type":"any"}}}}'),
        ("openai_responses", '{"tools":[{"type":"web_search"}],"tool_choice":"required"}'),
        ("openai_responses", '{"tools":[{"type":"mcp"}],"tool_choice":{"type":"mcp"}}'),
        ("openai_responses", f'{{"tools":{IN_MCP},"tool_choice":"required"}}'),
        ("openai_responses", '{"previous_response_id":"resp_1"}'),
        ("openai_responses", '{"conversation":{"id":"conv_1"}}'),
        ("openai_responses", '{"prompt":{"id":"pmpt_1"}}'),
        ("anthropic_messages", '{"thread":{"type":"continue"}}'),
    ],
)
def test_what_no_local_server_could_answer_is_refused(dialect: str, body: str) -> None:
    """As on the other way home."""
    with pytest.raises(Refused, match="home-not-local"):
        sent(dialect, body)


@pytest.mark.parametrize("held", ["file_id", "audio", "item_reference"])
def test_what_is_kept_elsewhere_is_refused(held: str) -> None:
    """A server that does not know it would answer without it. What only tools of the vendor lean
    on goes with them."""
    with pytest.raises(Refused, match="home-not-local") as refused:
        straight("openai_responses", read(b'{"input":[]}'), "m", (held,))
    assert held in refused.value.facts["reason"]
    gone = straight(
        "openai_responses", read(b'{"input":[]}'), "m", ("container", "vector_store_ids")
    )
    assert gone == b'{"input":[],"model":"m"}'


def test_a_key_that_stands_twice_is_refused() -> None:
    """Two readers would see two tools."""
    with pytest.raises(Refused, match="body-invalid"):
        sent("anthropic_messages", '{"model":"m","tools":[{"type":"a","type":"custom"}]}')


@pytest.mark.parametrize("name", [name for name in names() if name != "codex-0.171-ws-after-tool"])
def test_a_captured_request_keeps_all_that_is_said(name: str) -> None:
    """Messages, system text and tools of the client are the very same values."""
    body = filled(name)
    found: dict[str, Any] = json.loads(straight(dialect_of(name), read(body), "qwen3:8b"))
    given = json.loads(body)
    assert found.pop("model") == "qwen3:8b"
    assert {key: given[key] for key in found} == found
    for key in {"messages", "input", "system", "tools", "tool_choice"} & set(given):
        assert key in found
