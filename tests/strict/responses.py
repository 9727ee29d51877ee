"""An upstream as strict as the Responses API can be (wire.md 1.3).

Owns its rules, each with a source tag, the seals of reasoning items, the answers of the scripted
model. It must not know Transom.

An encrypted reasoning item is bound to instructions, tools and every earlier item, and stands
directly before the item that it was made for.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from proxy.demo.upstream import Recorded, Reply
from tests.strict.anthropic_rules import Body, Fault, Rule
from tests.strict.cache import Automatic, Hit
from tests.strict.chain import chain, linked, name, seal
from tests.strict.plot import asked

Item = dict[str, Any]

CALLS = {"function_call": "fc_", "custom_tool_call": "ctc_"}
OUTPUTS = {"function_call_output": "function_call", "custom_tool_call_output": "custom_tool_call"}
PREFIXES = {**CALLS, "message": "msg_", "reasoning": "rs_"}


def kind(item: Item) -> str:
    return item.get("type", "message")


def items(body: Body) -> list[Item]:
    """The input; a string is one message of the user."""
    given = body["input"]
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def said(item: Item) -> bool:
    """Is this output of the model?"""
    return kind(item) in CALLS or kind(item) == "reasoning" or item.get("role") == "assistant"


def pairing(body: Body) -> Iterator[str]:
    """Every call has its output before the model speaks again; every output has its call."""
    open_calls: dict[str, str] = {}
    answering = False
    for index, item in enumerate(items(body)):
        if kind(item) in OUTPUTS:
            answering = True
            if open_calls.pop(item["call_id"], "") != OUTPUTS[kind(item)]:
                yield f"input[{index}]: No tool call found for call_id {item['call_id']}"
        elif said(item) and answering and open_calls:
            yield f"input[{index}]: No tool output found for {sorted(open_calls)}"
        if kind(item) not in OUTPUTS:
            answering = False
        if kind(item) in CALLS:
            open_calls[item["call_id"]] = kind(item)
    if open_calls:
        yield f"input: No tool output found for {sorted(open_calls)}"


def strings(body: Body) -> Iterator[str]:
    for index, item in enumerate(items(body)):
        if kind(item) == "function_call" and not isinstance(item["arguments"], str):
            yield f"input[{index}].arguments: expected a string"
        if kind(item) in OUTPUTS and not isinstance(item["output"], str | list):
            yield f"input[{index}].output: expected a string or a list"


def prefixes(body: Body) -> Iterator[str]:
    for index, item in enumerate(items(body)):
        wanted = PREFIXES.get(kind(item), "")
        if not item.get("id", wanted).startswith(wanted):
            yield f"input[{index}].id: expected an id that begins with {wanted!r}"


def one_state(body: Body) -> Iterator[str]:
    if body.get("previous_response_id") and body.get("conversation"):
        yield "previous_response_id and conversation exclude each other"


def trigger_last(body: Body) -> Iterator[str]:
    if any(kind(item) == "compaction_trigger" for item in items(body)[:-1]):
        yield "compaction_trigger must be the last item"


def metadata(body: Body) -> Iterator[str]:
    pairs = body.get("metadata") or {}
    if len(pairs) > 16 or any(len(k) > 64 or len(v) > 512 for k, v in pairs.items()):
        yield "metadata: at most 16 pairs of 64 and 512 characters"


def something(body: Body) -> Iterator[str]:
    for index, item in enumerate(items(body)):
        if kind(item) == "message" and not item.get("content"):
            yield f"input[{index}].content: must not be empty"


RULES: dict[str, Rule] = {
    "pairing": Rule("1.3 validity", pairing),
    "strings": Rule("1.3 table [S]", strings),
    "prefixes": Rule("1.3 validity [I]", prefixes),
    "one-state": Rule("1.3 validity", one_state),
    "trigger-last": Rule("1.3 validity", trigger_last),
    "metadata": Rule("1.3 validity", metadata),
    "something": Rule("1.3 table [S]", something),
}

_LOOSE = ("id", "status", "internal_chat_message_metadata_passthrough")


def _plain(item: Item) -> Item:
    """What of an item the model reads: ids and client notes do not count, a string is one part."""
    kept = {key: value for key, value in item.items() if key not in _LOOSE}
    if kind(item) == "message":
        kept["type"] = "message"
        if isinstance(kept["content"], str):
            part = "output_text" if kept["role"] == "assistant" else "input_text"
            kept["content"] = [{"type": part, "text": kept["content"]}]
    return kept


def links(body: Body) -> list[bytes]:
    """The chain before each item, and after the last."""
    chained = [chain([body.get("instructions") or "", body.get("tools", [])])]
    for item in items(body):
        chained.append(linked(chained[-1], _plain(item)))
    return chained


@dataclass
class Codices:
    """The upstream: a script for `ScriptedUpstream`. `refused`, `accepted`, `hits` as for Claude;
    `follows` remembers what each reasoning item was made for. `removes`: what does not fit its
    prefix is taken out, as the API may do (wire.md 0.1), and counted in `removed`."""

    refused: list[Fault] = field(default_factory=list)
    accepted: list[Body] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    cache: Automatic = field(default_factory=Automatic)
    follows: dict[str, str] = field(default_factory=dict)
    removes: bool = False
    removed: int = 0

    def __call__(self, recorded: Recorded) -> Reply:
        body = msgspec.json.decode(recorded.body)
        while self.removes and (misfit := self._misfit(body)) is not None:
            body["input"].remove(misfit)
            self.removed += 1
        wrong = [Fault(rule, words) for rule, one in RULES.items() for words in one.check(body)]
        wrong += [] if wrong else list(self._reasoning(body))
        if wrong:
            self.refused += wrong
            error = {"message": wrong[0].words, "type": "invalid_request_error"}
            return Reply.of({"error": {**error, "param": "input", "code": None}}, 400)
        self.accepted.append(body)
        if recorded.path.endswith("/input_tokens"):
            return Reply.of({"object": "response.input_tokens", "input_tokens": 7})
        self.hits.append(self.cache.account(body))
        return Reply.of(self._answer(body))

    def _reasoning(self, body: Body) -> Iterator[Fault]:
        given = items(body)
        for index, (item, before) in enumerate(zip(given, links(body), strict=False)):
            if kind(item) != "reasoning" or not item.get("encrypted_content"):
                continue
            sealed = item["encrypted_content"]
            after = given[index + 1] if index + 1 < len(given) else {}
            if sealed not in self.follows:
                yield Fault("foreign", f"input[{index}]: encrypted content could not be verified")
            elif self.follows[sealed] != _name(after):
                words = "was provided without its required following item"
                yield Fault("following", f"input[{index}]: Item {item.get('id')} {words}")
            elif sealed != seal(before, "reasoning"):
                yield Fault("binding", f"input[{index}]: prefix_mismatch")

    def _misfit(self, body: Body) -> Item | None:
        for item, before in zip(items(body), links(body), strict=False):
            sealed = item.get("encrypted_content", "")
            if sealed in self.follows and sealed != seal(before, "reasoning"):
                return item
        return None

    def _answer(self, body: Body) -> Body:
        link = links(body)[-1]
        output = list(self._output(body, link))
        sealed = seal(link, "reasoning")
        self.follows[sealed] = _name(output[0])
        reasoning = {"type": "reasoning", "id": name(link, "rs_"), "summary": []}
        return {
            "id": name(link, "resp_"),
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": body["model"],
            "output": [{**reasoning, "encrypted_content": sealed}, *output],
            "usage": {"input_tokens": self.hits[-1].total, "output_tokens": 9, "total_tokens": 9},
        }

    def _output(self, body: Body, link: bytes) -> Iterator[Item]:
        steps, done = progress(items(body), _texts, lambda item: kind(item) in CALLS, said)
        calls = steps[done] if done < len(steps) else 0
        for number in range(calls):
            call_id = name(link, "call_", number)
            if number % 2:
                rest = {"type": "custom_tool_call", "name": "exec", "input": f"cat {done}.txt"}
            else:
                path = json.dumps({"path": f"{done}-{number}.txt"})
                rest = {"type": "function_call", "name": "read_file", "arguments": path}
            yield {"id": name(link, CALLS[rest["type"]], number), "call_id": call_id, **rest}
        if not calls:
            part = {"type": "output_text", "text": f"Done after {done} rounds.", "annotations": []}
            yield {
                "type": "message",
                "id": name(link, "msg_"),
                "role": "assistant",
                "status": "completed",
                "content": [part],
            }


def _name(item: Item) -> str:
    """What an item is known by: the id of its call, or the text of a message."""
    return item.get("call_id", "") or json.dumps(item.get("content"))


def _texts(item: Item) -> list[str]:
    content = item.get("content") if item.get("role") == "user" else None
    if isinstance(content, str):
        return [content]
    return [part["text"] for part in content or [] if part.get("type") == "input_text"]


def progress(
    messages: list[Item],
    texts: Callable[[Item], list[str]],
    calls: Callable[[Item], bool],
    spoken: Callable[[Item], bool],
) -> tuple[tuple[int, ...], int]:
    """What the newest prompt asks for, and how many rounds of calls stand behind it. A round is a
    stretch of the model's output that holds a call."""
    done, in_round = 0, False
    for message in reversed(messages):
        if calls(message) and not in_round:
            done, in_round = done + 1, True
        elif not spoken(message):
            in_round = False
            if (steps := asked(texts(message))) is not None:
                return steps, done
    return (), done
