"""A scripted model at home, behind Ollama's `/api/chat` or behind a server of the other dialects.

Owns what it says to a question that names a case, and the NDJSON as a real Ollama writes it: times
in nanoseconds, a line per token, calls whole, counts with the last line. It must not know a client.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proxy.demo.upstream import Fault, Recorded, Reply, Script
from proxy.lazyjson import read
from proxy.local.asked import talk
from proxy.local.talk import Called, Ended, Speech, Talk, Text, Thinking
from proxy.local.writers import writer
from tests.scenes.hearth import MODEL, ollama

SAID = "Forty-two, said the model at home: näh 🧅."
TITLE = '{"title": "Two ways home"}'
CUT = "It is cut o"
STOP = "END"
ARGUMENTS = {"path": 'a "näh" 🧅.txt'}
DIALECTS = {
    "/v1/messages": "anthropic_messages",
    "/v1/chat/completions": "openai_chat",
    "/v1/responses": "openai_responses",
}


@dataclass(frozen=True)
class Case:
    """What is asked for, and what comes of it: `rounds` of calls, by their number, then `text`."""

    text: str = SAID
    rounds: tuple[int, ...] = ()
    thought: str = ""
    before: str = ""
    says: str = ""
    reason: Any = "stop"
    image: bool = False
    form: bool = False
    stop: bool = False
    most: int = 1024


CASES: Mapping[str, Case] = {
    "text": Case(),
    "thinking": Case(thought="They want a number. I have one."),
    "call": Case(rounds=(1,)),
    "parallel": Case(rounds=(3,), before="I look at three."),
    "loop": Case(rounds=(1, 2), thought="I read on.", before="I look."),
    "image": Case(image=True),
    "form": Case(TITLE, form=True),
    "stop": Case("One, two, ", says=f"One, two, {STOP}, three.", stop=True),
    "limit": Case(CUT, reason="length", most=77),
}


def asks(case: str) -> str:
    """A question that names its case."""
    return f"This is about the case {case!r}."


def speech(asked: Talk, *, stops: bool = False) -> list[Speech]:
    """What the model says to a request; `stops`: it does where it was told to."""
    text = "\n".join(said.text for said in asked.messages if said.role == "user")
    case = next(case for name, case in CASES.items() if asks(name) in text)
    results = sum(said.role == "tool" for said in asked.messages)
    done = [sum(case.rounds[:at]) for at in range(len(case.rounds) + 1)].index(results)
    thought: list[Speech] = [Thinking(word) for word in _tokens(case.thought)]
    if done == len(case.rounds):
        words = [Text(word) for word in _tokens(case.text if stops else case.says or case.text)]
        return [*thought, *words, Ended(case.reason, 26, len(words))]
    before = [Text(word) for word in _tokens(case.before)]
    ids = [f"call_{results + at}x{done}" for at in range(case.rounds[done])]
    return [*thought, *before, *(Called("read_file", ARGUMENTS, name) for name in ids), Ended()]


def _tokens(text: str) -> Iterator[str]:
    """A text as tokens come: a word at a time, with the blank before it."""
    for at, word in enumerate(text.split(" ") if text else ()):
        yield f" {word}" if at else word


def native(*, bytewise: bool) -> Script:
    """An Ollama with an eye, a head and hands."""

    def answer(recorded: Recorded) -> Reply | Fault:
        asked = talk("ollama_chat", recorded.body)
        # It stops by itself, says nothing of the string, and does not tell which it was.
        said = [*lines(speech(asked, stops=bool(asked.options.get("stop"))))]
        return Reply.stream(cut(said) if bytewise else said, "application/x-ndjson")

    capabilities = ["completion", "tools", "vision", "thinking"]
    return ollama(answer, capabilities=capabilities)


def lines(said: list[Speech]) -> Iterator[bytes]:
    """A line per piece of speech."""
    for at, each in enumerate(said):
        message: dict[str, Any] = {"role": "assistant", "content": ""}
        more: dict[str, Any] = {"done": False}
        match each:
            case Text():
                message["content"] = each.text
            case Thinking():
                message["thinking"] = each.text
            case Called():
                function = {"index": at, "name": each.name, "arguments": each.arguments}
                message["tool_calls"] = [{"id": each.id, "function": function}]
            case Ended():
                more = {
                    "done": True,
                    "done_reason": each.reason,
                    "total_duration": 4935886791,
                    "load_duration": 534986708,
                    "prompt_eval_count": each.read,
                    "prompt_eval_duration": 107345000,
                    "eval_count": each.written,
                    "eval_duration": 4289432000,
                }
        when = f"2026-11-30T08:52:19.{385406455 + at * 1_000_003}Z"
        line = {"model": MODEL, "created_at": when, "message": message, **more}
        yield json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def speaking(*, bytewise: bool) -> Script:
    """A server that speaks what OpenAI's and Anthropic's clients speak, and is no Ollama."""

    def script(recorded: Recorded) -> Reply | Fault:
        dialect = DIALECTS.get(recorded.path)
        if dialect is None:
            return Reply.of({"error": {"message": "File Not Found", "code": 404}}, 404)
        asked = talk(dialect, recorded.body)
        assert asked.model == MODEL
        teller = writer(
            dialect,
            model=MODEL,
            stream=asked.stream,
            key=f"srv{len(recorded.body)}",
            now=1_790_000_000,
            names=asked.names,
            asked=read(recorded.body),
        )
        parts = [teller.begin(26), *map(teller.say, speech(asked)), teller.end()]
        if not asked.stream:
            return Reply(200, tuple(teller.headers.items()), (b"".join(parts),))
        return Reply.stream(cut(parts) if bytewise else parts, "text/event-stream")

    return script


def cut(parts: list[bytes]) -> Iterator[bytes]:
    """The same, a byte at a time."""
    whole = b"".join(parts)
    return (whole[at : at + 1] for at in range(len(whole)))
