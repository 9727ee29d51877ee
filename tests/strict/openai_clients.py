"""Clients shaped like Codex, a Chat Completions agent and an Ollama agent (wire.md 6.2, 6.4, 1.4).

Owns their habits. It must not know Transom.
"""

from dataclasses import dataclass
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from tests.strict.chain import copied
from tests.strict.plot import material
from tests.strict.sessions import Session, schema

SYSTEM = "You help with a harbour's notes. Read before you write. " * 12

FUNCTIONS = [
    {
        "type": "function",
        "function": {
            "name": "read_file",
            "parameters": schema("path"),
            "description": "Reads a file. " * 60,
        },
    }
]


@dataclass
class Codex(Session):
    """Codex 0.171: everything in `input`, ids and notes on the items, `store: false`, encrypted
    reasoning sent back. `code_mode`: the tools stand inside `input`."""

    code_mode: bool = False

    path = "/v1/responses"

    def say(self, text: str) -> None:
        """A user message; the first turn has the project's guidance before it."""
        if not self.history:
            self.history.append(self._message("developer", SYSTEM))
            self.history.append(self._message("user", "AGENTS.md says: keep lines short."))
        self.history.append(self._message("user", text))

    def _message(self, role: str, text: str) -> dict[str, Any]:
        ident = uuid5(NAMESPACE_URL, f"{len(self.history)} {text}")
        return {
            "type": "message",
            "id": f"msg_{ident}",
            "role": role,
            "content": [{"type": "input_text", "text": text}],
            "internal_chat_message_metadata_passthrough": {"turn_id": str(ident)},
        }

    def hear(self, answer: dict[str, Any]) -> bool:
        """The output items as they came, then the outputs of all calls."""
        self.history += answer["output"]
        calls = [item for item in answer["output"] if item["type"].endswith("_call")]
        self.history += [self._output(call) for call in calls]
        return bool(calls)

    def _output(self, call: dict[str, Any]) -> dict[str, Any]:
        self.found += 1
        text = material(self.found, self.size)
        output: Any = text
        if call["type"] == "custom_tool_call":
            texts = ("Script completed", text)
            output = [{"type": "input_text", "text": one} for one in texts]
        return {"type": f"{call['type']}_output", "call_id": call["call_id"], "output": output}

    def body(self) -> dict[str, Any]:
        """Keys and order of `client_metadata` change with every request, as they were seen to."""
        function = {"type": "function", "name": "read_file", "parameters": schema("path")}
        function |= {"strict": False, "description": "Reads a file. " * 60}
        custom = {"type": "custom", "name": "exec", "description": "Runs a script. " * 60}
        given = copied(self.history)
        tools = {"tools": [function, custom]}
        if self.code_mode:
            inner = [{"type": "namespace", "name": "functions", "description": "", **tools}]
            given.insert(0, {"type": "additional_tools", "role": "developer", "tools": inner})
        notes = [("session", self.label), ("turn", str(self.requests))]
        return {
            "model": "gpt-6.2-sol",
            "input": given,
            **({} if self.code_mode else tools),
            "tool_choice": "auto",
            "parallel_tool_calls": True,
            "reasoning": {"effort": "medium"},
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": self.label,
            "text": {"verbosity": "low"},
            "client_metadata": dict(notes[:: 1 if self.requests % 2 else -1]),
        }

    def headers(self) -> dict[str, str]:
        """As captured, in part."""
        ident = str(uuid5(NAMESPACE_URL, self.label))
        return {
            "authorization": "Bearer the-callers-own",
            "session-id": ident,
            "version": "0.171.0",
        }


@dataclass
class ChatAgent(Session):
    """Chat Completions; tool messages as a string or, as qwen-code does, as a list of parts."""

    parts: bool = False

    path = "/v1/chat/completions"

    def say(self, text: str) -> None:
        """A user message; the first turn has the system message before it."""
        if not self.history:
            self.history.append({"role": "system", "content": SYSTEM})
        self.history.append({"role": "user", "content": text})

    def hear(self, answer: dict[str, Any]) -> bool:
        """The message as it came, then one tool message per call."""
        message = answer["choices"][0]["message"]
        self.history.append(message)
        for call in message.get("tool_calls", []):
            self.found += 1
            text: Any = material(self.found, self.size)
            if self.parts:
                text = [{"type": "text", "text": one} for one in (text, f"End of {self.found}.")]
            self.history.append({"role": "tool", "tool_call_id": call["id"], "content": text})
        return "tool_calls" in message

    def body(self) -> dict[str, Any]:
        """The whole history."""
        return {"model": "m-large", "messages": copied(self.history), "tools": FUNCTIONS}


@dataclass
class OllamaAgent(Session):
    """Ollama's chat, without call ids; every other result has the same text as the one before."""

    path = "/api/chat"

    def say(self, text: str) -> None:
        """A user message; the first turn has the system message before it."""
        if not self.history:
            self.history.append({"role": "system", "content": SYSTEM})
        self.history.append({"role": "user", "content": text, "images": []})

    def hear(self, answer: dict[str, Any]) -> bool:
        """The message as it came, then one tool message per call, named by its tool."""
        message = answer["message"]
        self.history.append(message)
        for call in message.get("tool_calls", []):
            self.found += 1
            named = {"role": "tool", "tool_name": call["function"]["name"]}
            self.history.append({**named, "content": material(self.found // 2, self.size)})
        return "tool_calls" in message

    def body(self) -> dict[str, Any]:
        """The whole history; streams are off, as the default here is on."""
        return {
            "model": "qwen3:8b",
            "messages": copied(self.history),
            "tools": FUNCTIONS,
            "stream": False,
        }
