"""A client shaped like Claude Code 2.1.332 (wire.md 6.1; skeletons claude-code-*.json).

Owns its habits: three `cache_control` marks, the last moving with the end; a system message sent as
a list with a mark first and as a string ever after; texts of @-files in a user message of their
own, which a later build sends merged with the next; thinking kept as it came; sub-agents under the
same session id; an OAuth token that may be renewed. It must not know Transom.
"""

import json
from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from tests.strict.anthropic_rules import blocks
from tests.strict.chain import copied
from tests.strict.plot import material, pixel
from tests.strict.sessions import Session, schema

MARK = {"type": "ephemeral"}

_NAMES = "Agent Bash Edit Glob Grep NotebookEdit Read Skill TodoWrite ToolSearch WebFetch Write"
TOOLS = [
    {
        "name": tool,
        "description": f"{tool}: one of the tools of this session. " * 4,
        "input_schema": schema("file_path", "note"),
    }
    for tool in _NAMES.split()
]


@dataclass
class ClaudeCode(Session):
    """`token` counts how often the OAuth token was renewed; `renews` renews it with every turn.
    `merges`: neighbouring user messages go out as one. `agent` is the id of a sub-agent."""

    model: str = "claude-opus-5-5"
    token: int = 0
    renews: bool = False
    merges: bool = False
    agent: str = ""
    drops: bool = False

    path = "/v1/messages?beta=true"

    def say(self, text: str) -> None:
        """A prompt with two reminders; every third turn with a mentioned file before it, and a
        system message behind it."""
        turn = len(self.marks)
        self.token += self.renews
        if turn % 3 == 1:
            self.history.append(
                {"role": "user", "content": _reminder(f"Read: {material(turn, 300)}")}
            )
        texts = [_reminder("The date has not changed."), _reminder(f"Turn {turn}."), text]
        content = [{"type": "text", "text": one} for one in texts]
        self.history.append({"role": "user", "content": content})
        says = f"There are {turn} notes open. Keep answers short."
        self.history.append(
            {"role": "system", "content": says, "output_config": {"effort": "medium"}}
        )

    def hear(self, answer: dict[str, Any]) -> bool:
        """The answer as it came; then one user message with all results, in order."""
        self.history.append({"role": "assistant", "content": answer["content"]})
        calls = [block for block in answer["content"] if block["type"] == "tool_use"]
        if calls:
            results = [self._result(call) for call in calls]
            self.history.append({"role": "user", "content": results})
        return bool(calls)

    def _result(self, call: dict[str, Any]) -> dict[str, Any]:
        self.found += 1
        text: Any = material(self.found, self.size)
        if self.found % 6 == 2:
            image = {"type": "base64", "media_type": "image/png", "data": pixel()}
            text = [
                {"type": "text", "text": text},
                {"type": "image", "source": image},
                {"type": "text", "text": f"Part two of {self.found}."},
            ]
        return {
            "tool_use_id": call["id"],
            "type": "tool_result",
            "content": text,
            "is_error": self.found % 9 == 8,
        }

    def body(self) -> dict[str, Any]:
        """Keys in the order of the real client."""
        messages = copied(self.history)
        if self.merges:
            messages = _merged(messages)
        last = messages[-1]
        last["content"] = blocks(last["content"])
        last["content"][-1]["cache_control"] = MARK
        binding = {"block_binding": {"prefix_mismatch_behavior": "drop_block"}}
        return {
            "model": self.model,
            "messages": messages,
            "system": self._system(),
            "tools": TOOLS[::2] if self.agent else TOOLS,
            "metadata": {"user_id": json.dumps({"device_id": "d", "session_id": self.session})},
            "max_tokens": 128000,
            "thinking": {
                "type": "adaptive",
                "display": "omitted",
                **(binding if self.drops else {}),
            },
            "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
            "output_config": {"effort": "medium"},
        }

    def _system(self) -> list[dict[str, Any]]:
        sub = " cc_is_subagent=true;" if self.agent else ""
        prompt = "You help with a harbour's notes. Read before you write. " * 12
        return [
            {
                "type": "text",
                "text": f"x-anthropic-billing-header: cc_version=2.1.332; cc_entrypoint=cli;{sub}",
            },
            {"type": "text", "text": "You are a coding assistant.", "cache_control": MARK},
            {"type": "text", "text": f"{self.agent}{prompt}", "cache_control": MARK},
        ]

    @property
    def session(self) -> str:
        """The session id, a function of the label."""
        return str(uuid5(NAMESPACE_URL, self.label))

    def headers(self) -> dict[str, str]:
        """As captured; the token changes with every renewal."""
        agents = {"x-claude-code-agent-id": self.agent, "x-claude-code-parent-agent-id": "main"}
        return {
            "authorization": f"Bearer oauth-{self.token}",
            "anthropic-version": "2023-06-01",
            "anthropic-beta": "claude-code-20250219,oauth-2025-04-20,effort-2025-11-24",
            "user-agent": "claude-cli/2.1.332 (external, cli)",
            "x-claude-code-session-id": self.session,
            **(agents if self.agent else {}),
        }

    def subagent(self, agent: str) -> "ClaudeCode":
        """A conversation of its own under the same session id."""
        return ClaudeCode(self.post, self.label, agent=agent, size=self.size)


def _reminder(text: str) -> str:
    return f"<system-reminder>\n{text}\n</system-reminder>"


def _merged(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    merged: list[dict[str, Any]] = []
    for message in messages:
        if merged and merged[-1]["role"] == message["role"] == "user":
            merged[-1]["content"] = blocks(merged[-1]["content"]) + blocks(message["content"])
        else:
            merged.append(message)
    return merged
