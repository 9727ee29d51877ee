"""What captured clients send is asked of a model at home, and nothing is lost but by the table."""

import json
from typing import Any

import pytest

from proxy.errors import Refused
from proxy.local.asked import talk
from proxy.local.talk import Said, Talk
from tests.wire.filling import dialect_of, filled, names

_CLAUDE = {"metadata", "context_management"}
_CODEX = {"store", "include", "prompt_cache_key", "client_metadata", "text.verbosity"}

DROPPED = {
    "claude-code-2.1.197-at-file": _CLAUDE,
    "claude-code-2.1.197-subagent": {"metadata"},
    "claude-code-2.1.332-after-tool": {*_CLAUDE, "thinking"},
    "claude-code-2.1.332-at-file": _CLAUDE,
    "claude-code-2.1.332-oauth": _CLAUDE,
    "claude-code-2.1.332-title": {"metadata"},
    "claude-code-2.1.332-tool-search": _CLAUDE,
    "claude-code-2.1.332-turn1": _CLAUDE,
    "codex-0.171-chatgpt-zstd": {*_CODEX, "parallel_tool_calls"},
    "codex-0.171-custom-provider-after-tool": _CODEX,
    "codex-0.171-http-after-tool": {*_CODEX, "parallel_tool_calls"},
    "codex-0.171-ws-turn1": {*_CODEX, "parallel_tool_calls"},
    "codex-0.171-ws-warmup": {*_CODEX, "parallel_tool_calls", "generate"},
    "opencode-1.18-openai-after-tool": {"store", "include", "prompt_cache_key", "text.verbosity"},
    "pi-0.73-chat-after-tool": {"store"},
    "pi-0.73-responses-after-tool": {"store", "include", "prompt_cache_key"},
}

HELD = "codex-0.171-ws-after-tool"


def asked(name: str) -> Talk:
    return talk(dialect_of(name), filled(name))


def texts(value: Any, key: str = "") -> set[str]:
    """Every text of a body that says something."""
    if isinstance(value, dict):
        return {text for name, inner in value.items() for text in texts(inner, name)}
    if isinstance(value, list):
        return {text for inner in value for text in texts(inner, key)}
    said = key in ("text", "content", "output", "system", "instructions", "description", "input")
    return {value} if said and isinstance(value, str) else set()


@pytest.mark.parametrize("name", [name for name in names() if name != HELD])
def test_nothing_is_left_out_but_by_the_table(name: str) -> None:
    """Whatever a captured client sends means something at home, or the table says that it goes."""
    assert set(asked(name).dropped) == DROPPED.get(name, set())


@pytest.mark.parametrize("name", [name for name in names() if name != HELD])
def test_every_text_of_a_captured_request_is_there(name: str) -> None:
    """Of the system, the user, the model, the tools and their results."""
    found = asked(name)
    whole = "\n".join(
        [said.text for said in found.messages]
        + [json.dumps(dict(call.arguments)) for said in found.messages for call in said.calls]
        + [f"{tool.description}\n{tool.parameters}" for tool in found.tools]
    )
    body = json.loads(filled(name))
    for name_of_space in ("name", "description"):
        for item in body.get("input", ()):
            for space in item.get("tools", ()) if isinstance(item, dict) else ():
                space.pop(name_of_space, None)  # of a namespace, which has no tool of its own
    lost = [
        text for text in texts(body) if text not in whole and json.dumps(text)[1:-1] not in whole
    ]
    assert lost == []


@pytest.mark.parametrize(
    ("name", "roles", "tools", "tool"),
    [
        ("aider-0.86-openai", "system user assistant user assistant user", 0, ""),
        ("claude-code-2.1.332-after-tool", "system user assistant tool", 12, "Bash"),
        ("claude-code-2.1.332-tool-search", "system user assistant tool user", 14, "ToolSearch"),
        ("claude-code-2.1.332-title", "system user", 0, ""),
        ("codex-0.171-custom-provider-after-tool", "system user user assistant tool", 10,
         "exec_command"),
        ("codex-0.171-http-after-tool", "system user user assistant tool", 12, "functions__exec"),
        ("opencode-1.18-anthropic-after-tool", "system user assistant tool", 10, "bash"),
        ("opencode-1.18-compatible-after-tool", "system user assistant tool", 10, "bash"),
        ("opencode-1.18-openai-after-tool", "system user assistant tool", 9, "bash"),
        ("pi-0.73-chat-after-tool", "system user assistant tool", 4, "bash"),
        ("qwen-code-0.15-chat-after-tool", "system user assistant user assistant tool", 15,
         "run_shell_command"),
    ],
)  # fmt: skip
def test_the_order_is_one_that_every_template_takes(
    name: str, roles: str, tools: int, tool: str
) -> None:
    """One system message at the head, results behind their calls, with the names of their tools."""
    found = asked(name)
    assert [said.role for said in found.messages] == roles.split()
    assert len(found.tools) == tools == len(found.names)
    results = [said for said in found.messages if said.role == "tool"]
    assert [said.tool for said in results] == ([tool] if tool else [])
    calls = [call for said in found.messages for call in said.calls]
    assert [call.id for call in calls] == [said.answers for said in results]


def test_the_title_of_claude_code_has_its_form() -> None:
    """Which Ollama's own layer loses."""
    assert asked("claude-code-2.1.332-title").form == {"type": "object", "properties": {}}


def test_what_leans_on_an_earlier_answer_is_refused() -> None:
    """Codex over a WebSocket sends the newest items alone."""
    with pytest.raises(Refused, match="home-not-local"):
        asked(HELD)


def test_a_request_without_any_message_is_one() -> None:
    """The warm-up of Codex."""
    assert asked("codex-0.171-ws-warmup").messages == ()
    assert Said("user") not in asked("codex-0.171-ws-turn1").messages
