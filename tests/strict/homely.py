"""A model at home for clients of the strict upstreams: it thinks, calls what tools there are, then
answers; by itself as an Ollama, or behind a server that speaks the client's dialect.

Owns what it says, and what such servers write that no vendor would take back: signatures of their
own, ids of other kinds. It must not know Transom's way of leaving that out.
"""

import json
from dataclasses import replace
from typing import Any

from policies.decision import Leg
from proxy.config import Config, Fallback, UpstreamSettings
from proxy.demo.upstream import Fault, Recorded, Reply, Script, ScriptedUpstream
from proxy.lazyjson import read
from proxy.local.asked import talk
from proxy.local.talk import Called, Ended, Speech, Talk, Text, Thinking
from proxy.local.writers import writer
from tests.scenes.hearth import MODEL, ollama
from tests.scenes.home_model import DIALECTS, lines
from tests.strict.house import Change

SAID = "Said at home"
THOUGHT = "Thought at home"
ROOM = 131_072
"""Tokens that it has room for; captured clients bring a lot."""


def speech(asked: Talk) -> list[Speech]:
    """A thought; then a call of each tool, where the newest words are the operator's, else text."""
    thought = Thinking(f"{THOUGHT}, with {len(asked.messages)} messages before me.")
    if asked.messages[-1].role == "tool" or not asked.tools:
        return [thought, Text(f"{SAID}: {len(asked.messages)} messages."), Ended("stop", 9, 9)]
    given = {"path": "n.txt", "file_path": "n.txt", "input": "cat n.txt"}
    calls = [Called(tool.name, given) for tool in asked.tools[:2]]
    return [thought, Text(f"{SAID}: I look."), *calls, Ended("stop", 9, 9)]


def native() -> Script:
    """An Ollama."""

    def answer(recorded: Recorded) -> Reply | Fault:
        said = [*lines(speech(talk("ollama_chat", recorded.body)))]
        return Reply.stream(said, "application/x-ndjson")

    context = {"general.architecture": "demo", "demo.context_length": ROOM}
    capabilities = ["completion", "tools", "thinking"]
    return ollama(answer, capabilities=capabilities, model_info=context)


def speaking() -> Script:
    """A server of the other dialects, which shows what it thinks, and seals and numbers it in its
    own way."""

    def script(recorded: Recorded) -> Reply | Fault:
        dialect = DIALECTS.get(recorded.path)
        if dialect is None:
            return Reply.of({"error": "not found"}, 404)
        asked = talk(dialect, recorded.body)
        teller = writer(
            dialect,
            model=MODEL,
            stream=asked.stream,
            key=f"srv{len(recorded.body)}",
            now=1,
            names=asked.names,
            asked=read(recorded.body),
            thinking=True,
        )
        parts = [teller.begin(9), *map(teller.say, speech(asked)), teller.end()]
        whole = json.loads(b"".join(parts))
        for block in whole.get("content", ()):
            block |= {"signature": "c2VhbA=="} if block["type"] == "thinking" else {}
        for item in whole.get("output", ()):
            item["id"] = f"item-{item['id']}"
            item |= {"encrypted_content": THOUGHT} if item["type"] == "reasoning" else {}
        return Reply.of(whole)

    return script


def at_home(home: ScriptedUpstream, *, straight: bool, change: Change) -> Change:
    """Settings with that home beside the cloud."""
    speaks = ("anthropic", "openai") if straight else ("ollama",)
    local = UpstreamSettings("home", Leg.LOCAL, home.url, speaks, "none", None, MODEL)

    def changed(config: Config) -> Config:
        more = replace(
            config,
            upstreams=(*config.upstreams, local),
            fallback=Fallback("home", max_context=ROOM),
        )
        return change(more)

    return changed


def without(history: list[dict[str, Any]], secret: str) -> list[dict[str, Any]]:
    """A history from which its owner took a secret."""
    found: list[dict[str, Any]] = json.loads(json.dumps(history).replace(secret, "(taken out)"))
    return found
