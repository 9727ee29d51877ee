"""Upstreams as strict as Chat Completions and Ollama's chat can be (wire.md 1.2, 1.4).

Owns their rules, each with a source tag, and the answers of the scripted model. It must not know
Transom. Neither dialect seals anything: what must not change is watched by `tests.strict.witness`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from proxy.demo.upstream import Recorded, Reply
from tests.strict.anthropic_rules import Body, Fault, Rule
from tests.strict.cache import Automatic, Hit, Slot
from tests.strict.chain import chain, name
from tests.strict.responses import progress

Message = dict[str, Any]

_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def pairing(body: Body) -> Iterator[str]:
    """One tool message per id, right behind the calls, before any other role."""
    waiting: list[str] = []
    for index, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                yield f"messages[{index}]: no preceding call {message['tool_call_id']}"
            else:
                waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield f"messages[{index}]: tool_call_ids without response messages: {waiting}"
        waiting = [call["id"] for call in message.get("tool_calls") or []]
    if waiting:
        yield f"messages: tool_call_ids without response messages: {waiting}"


def content_or_calls(body: Body) -> Iterator[str]:
    for index, message in enumerate(body["messages"]):
        if message.get("content") is None and not message.get("tool_calls"):
            yield f"messages[{index}].content: may be null only with tool_calls"


def arguments(body: Body) -> Iterator[str]:
    for index, message in enumerate(body["messages"]):
        for call in message.get("tool_calls") or []:
            if not isinstance(call["function"]["arguments"], str):
                yield f"messages[{index}].tool_calls: arguments must be a string"
            if not _TOOL_NAME.fullmatch(call["function"]["name"]):
                yield f"messages[{index}].tool_calls: name"


def stream_options(body: Body) -> Iterator[str]:
    if body.get("stream_options") and not body.get("stream"):
        yield "stream_options: only with stream"


def roles(body: Body) -> Iterator[str]:
    for index, message in enumerate(body["messages"]):
        if message["role"] not in ("system", "developer", "user", "assistant", "tool"):
            yield f"messages[{index}].role"


def breakpoints(body: Body) -> Iterator[str]:
    if json.dumps(body["messages"]).count('"prompt_cache_breakpoint":') > 4:
        yield "prompt_cache_breakpoint: at most 4"


CHAT_RULES: dict[str, Rule] = {
    "pairing": Rule("1.2 validity", pairing),
    "content-or-calls": Rule("1.2 validity", content_or_calls),
    "arguments": Rule("1.2 validity", arguments),
    "stream-options": Rule("1.2 validity", stream_options),
    "roles": Rule("1.2 [S]", roles),
    "breakpoints": Rule("1.2 validity [S]", breakpoints),
}


def objects(body: Body) -> Iterator[str]:
    for index, message in enumerate(body["messages"]):
        for call in message.get("tool_calls") or []:
            if not isinstance(call["function"]["arguments"], dict):
                yield f"messages[{index}].tool_calls: arguments must be an object"
        if not isinstance(message.get("content", ""), str):
            yield f"messages[{index}].content: must be a string"


def no_developer(body: Body) -> Iterator[str]:
    """The role is not mapped there, and no template knows it (5.1 [S])."""
    if any(message["role"] == "developer" for message in body["messages"]):
        yield "messages: no template has a developer"


OLLAMA_RULES: dict[str, Rule] = {
    "objects": Rule("1.4 [S]", objects),
    "no-developer": Rule("5.1 [S]", no_developer),
}


@dataclass
class Chats:
    """The upstream: a script for `ScriptedUpstream`; by the path, Chat Completions or Ollama."""

    refused: list[Fault] = field(default_factory=list)
    accepted: list[Body] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    prefix: Automatic = field(default_factory=Automatic)
    slot: Slot = field(default_factory=Slot)

    def __call__(self, recorded: Recorded) -> Reply:
        native = recorded.path == "/api/chat"
        body = msgspec.json.decode(recorded.body)
        rules = OLLAMA_RULES if native else CHAT_RULES
        wrong = [Fault(rule, words) for rule, one in rules.items() for words in one.check(body)]
        if wrong:
            self.refused += wrong
            error = {"message": wrong[0].words, "type": "invalid_request_error"}
            return Reply.of({"error": wrong[0].words if native else error}, 400)
        self.accepted.append(body)
        self.hits.append((self.slot if native else self.prefix).account(body))
        message = self._message(body, native=native)
        if native:
            return Reply.of({"model": body["model"], "message": message, "done": True})
        reason = "tool_calls" if "tool_calls" in message else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1}
        return Reply.of({**head, "model": body["model"], "choices": [choice]})

    def _message(self, body: Body, *, native: bool) -> Message:
        link = chain(body["messages"])
        steps, done = progress(body["messages"], _texts, _calls, _spoken)
        calls = steps[done] if done < len(steps) else 0
        if not calls:
            return {"role": "assistant", "content": f"Done after {done} rounds."}
        made = [self._call(link, done, number, native=native) for number in range(calls)]
        return {"role": "assistant", "content": "" if native else None, "tool_calls": made}

    @staticmethod
    def _call(link: bytes, done: int, number: int, *, native: bool) -> Message:
        given = {"path": f"{done}-{number}.txt"}
        if native:
            return {"function": {"name": "read_file", "arguments": given}}
        function = {"name": "read_file", "arguments": json.dumps(given)}
        return {"id": name(link, "call_", number), "type": "function", "function": function}


def _texts(message: Message) -> list[str]:
    if message["role"] != "user":
        return []
    content = message["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def _calls(message: Message) -> bool:
    return bool(message.get("tool_calls"))


def _spoken(message: Message) -> bool:
    return bool(message["role"] == "assistant")
