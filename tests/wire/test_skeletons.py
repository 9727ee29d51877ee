"""What real clients send is read with nothing unknown."""

import json

import pytest

from policies.conversation import Conversation
from proxy.dialects import ALL
from proxy.identity import conversation_id
from proxy.lazyjson import read
from tests.wire.filling import dialect_of, filled, names, skeleton


def view(name: str) -> Conversation:
    return ALL[dialect_of(name)].view(read(filled(name)))


@pytest.mark.parametrize("name", names())
def test_a_captured_request_is_read_with_nothing_unknown(name: str) -> None:
    """Every field, block and item of a captured client is one that the dialect knows."""
    assert view(name).unknown == ()


@pytest.mark.parametrize("name", names())
def test_every_byte_of_a_captured_request_belongs_to_a_piece(name: str) -> None:
    """Members and messages together hold every string of the body, keys included."""
    conversation = view(name)
    texts = {strand.text for piece in conversation.pieces for strand in piece.strands()}

    def walk(value: object) -> None:
        if isinstance(value, dict):
            for key, inner in value.items():
                assert key in texts or key in ("messages", "input")
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)
        elif isinstance(value, str):
            assert value in texts

    walk(json.loads(filled(name)))


@pytest.mark.parametrize(
    ("name", "turn", "runs"),
    [
        # an @file in front of the prompt, the reminder behind it: one run, one turn
        ("claude-code-2.1.332-at-file", 0, [(0, 3, False, True)]),
        ("claude-code-2.1.197-at-file", 0, [(0, 2, False, True)]),
        # a sub-agent is a conversation of its own
        ("claude-code-2.1.197-subagent", 0, [(0, 2, False, True)]),
        ("claude-code-2.1.332-turn1", 0, [(0, 2, False, True)]),
        # the loop belongs to the prompt that began it
        ("claude-code-2.1.332-after-tool", 0, [(0, 2, False, True), (3, 4, True, True)]),
        # results with text of the client behind them still continue the turn
        ("claude-code-2.1.332-tool-search", 0, [(0, 2, False, True), (3, 4, True, True)]),
        # guidance and prompt of Codex, behind leading developer items
        ("codex-0.171-custom-provider-after-tool", 2, [(2, 4, False, True), (6, 7, True, False)]),
        ("codex-0.171-http-after-tool", 5, [(5, 7, False, True), (9, 10, True, False)]),
        ("codex-0.171-ws-turn1", 5, [(5, 7, False, True)]),
        ("codex-0.171-chatgpt-zstd", 5, [(5, 8, False, True)]),
        # only the result: the whole history is the turn
        ("codex-0.171-ws-after-tool", 0, [(0, 1, True, False)]),
        ("codex-0.171-ws-warmup", 0, []),
        # aider: no tools, and its last message is a system message
        (
            "aider-0.86-openai",
            5,
            [(1, 2, False, True), (3, 4, False, True), (5, 7, False, True)],
        ),
        (
            "aider-0.86-anthropic",
            8,
            [(at, at + 1, False, True) for at in range(0, 9, 2)],
        ),
        ("aider-0.86-ollama", 9, [(at, at + 1, False, True) for at in range(1, 10, 2)]),
        ("pi-0.73-chat-after-tool", 1, [(1, 2, False, True), (3, 4, True, False)]),
        ("pi-0.73-responses-after-tool", 1, [(1, 2, False, True), (4, 5, True, False)]),
        ("pi-0.73-anthropic-after-tool", 0, [(0, 1, False, True), (2, 3, True, True)]),
        ("opencode-1.18-anthropic-after-tool", 0, [(0, 1, False, True), (2, 3, True, True)]),
        ("opencode-1.18-compatible-after-tool", 1, [(1, 2, False, True), (3, 4, True, False)]),
        ("opencode-1.18-openai-after-tool", 1, [(1, 2, False, True), (4, 5, True, False)]),
        (
            "qwen-code-0.15-chat-after-tool",
            3,
            [(1, 2, False, True), (3, 4, False, True), (5, 6, True, False)],
        ),
    ],
)
def test_runs_and_turn_of_real_clients(
    name: str, turn: int, runs: list[tuple[int, int, bool, bool]]
) -> None:
    """The turn begins at the newest run that answers no call, whatever its client puts there."""
    conversation = view(name)
    assert [(r.start, r.stop, r.answers_call, r.has_user) for r in conversation.runs] == runs
    assert conversation.turn == turn


@pytest.mark.parametrize(
    ("name", "tool", "texts"),
    [
        ("claude-code-2.1.332-after-tool", "Bash", 1),
        ("claude-code-2.1.332-tool-search", "", 0),
        ("codex-0.171-http-after-tool", "functions.exec", 2),
        ("codex-0.171-custom-provider-after-tool", "exec_command", 1),
        ("opencode-1.18-anthropic-after-tool", "bash", 1),
        ("opencode-1.18-compatible-after-tool", "bash", 1),
        ("opencode-1.18-openai-after-tool", "bash", 1),
        ("pi-0.73-anthropic-after-tool", "bash", 1),
        ("pi-0.73-chat-after-tool", "bash", 1),
        ("pi-0.73-responses-after-tool", "bash", 1),
        ("qwen-code-0.15-chat-after-tool", "run_shell_command", 1),
    ],
)
def test_results_of_real_clients_are_units_of_their_tool(name: str, tool: str, texts: int) -> None:
    """The call id leads from a result to the name of its tool; a bare tool reference is no text."""
    units = view(name).units
    assert [(unit.tool, unit.source, unit.part) for unit in units] == [
        (tool, f"tool:{tool}", part) for part in range(texts)
    ]
    assert not any(unit.answered for unit in units)


def test_tools_inside_the_input_are_declared_tools() -> None:
    """Codex puts its tools into the first item, in namespaces; they count as declared."""
    tools = view("codex-0.171-ws-turn1").tools
    assert {"functions.exec", "functions.wait", "clock.sleep", "collaboration.more_2"} <= set(tools)


@pytest.mark.parametrize("name", [n for n in names() if n.startswith(("claude", "opencode"))])
def test_all_declared_tools_are_named(name: str) -> None:
    """As many tools as the client declared, by their names."""
    declared = json.loads(filled(name)).get("tools", [])
    assert len(view(name).tools) == len(declared)


def test_state_that_the_upstream_holds_is_noted() -> None:
    """A frame of Codex over WebSocket leans on an earlier response."""
    assert view("codex-0.171-ws-after-tool").held == ("previous_response_id",)
    assert view("codex-0.171-http-after-tool").held == ()


def test_a_skeleton_keeps_its_size_when_filled() -> None:
    """The filler writes text of the sizes that were captured, so views see bodies of real size."""
    assert len(filled("claude-code-2.1.332-turn1")) > 15_000
    assert skeleton("claude-code-2.1.332-turn1")["method"] == "POST"


def identity(name: str) -> bytes:
    return conversation_id(bytes(32), "laptop", view(name))


def test_later_turns_of_a_captured_client_are_the_same_conversation() -> None:
    """The system message became a string and the cache marks moved; what the user said did not."""
    first, later = "claude-code-2.1.332-turn1", "claude-code-2.1.332-after-tool"
    assert json.loads(filled(first))["messages"] != json.loads(filled(later))["messages"][:2]
    assert identity(first) == identity(later)


def test_side_requests_and_sub_agents_are_conversations_of_their_own() -> None:
    """A title, a count of tokens and a sub-agent share the session's header and nothing else."""
    asides = ["332-title", "332-count-tokens", "332-turn1", "197-subagent", "197-at-file"]
    assert len({identity(f"claude-code-2.1.{name}") for name in asides}) == len(asides)
