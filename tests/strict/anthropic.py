"""An upstream as strict as the Messages API can be: it refuses what the API would refuse.

Owns the seals of thinking blocks (wire.md 1.1.6), the answers of the scripted model, and what was
refused. It must not know Transom: a node in front of it is one more client.

A thinking block is bound to system, tools and every earlier block. `cache_control` does not count,
a string equals one text block, messages of one role in a row are one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from proxy.demo.upstream import Recorded, Reply
from tests.strict.anthropic_rules import Block, Body, Fault, blocks, faults, turns
from tests.strict.cache import Explicit, Hit
from tests.strict.chain import chain, linked, name, seal
from tests.strict.plot import asked

LARGEST = 32 * 1024 * 1024  # bytes of a body (1.1.4 [D][S])

UNSIGNED = "Invalid `signature` in `thinking` block"
ELSEWHERE = (
    "Invalid `signature` in `thinking` block. The block is bound to a different conversation."
    " Its system prompt, tools or earlier messages differ from those it was produced with."
)


@dataclass(frozen=True)
class Step:
    """One block with its place and the chain over everything before it."""

    message: int
    index: int
    block: Block
    before: bytes


def opening(body: Body) -> bytes:
    """The chain over tools and system."""
    return chain([body.get("tools", []), *blocks(body.get("system"))])


def walk(body: Body) -> Iterator[Step]:
    """Every block of the messages; a last step, with an empty block, closes the chain."""
    link, role = opening(body), ""
    for index, message in enumerate(body["messages"]):
        rest = {key: message[key] for key in message if key not in ("role", "content")}
        if message["role"] != role or rest:
            role = message["role"]
            link = linked(link, [role, rest])
        for number, block in enumerate(blocks(message.get("content"))):
            yield Step(index, number, block, link)
            link = linked(link, block)
    if role != "assistant":
        link = linked(link, ["assistant", {}])
    yield Step(len(body["messages"]), 0, {}, link)


@dataclass
class Claude:
    """The upstream: a script for `ScriptedUpstream`. `refused` holds every fault of every request;
    `hits` what the prompt cache gave, request by request; `accepted` the bodies that were fine."""

    refused: list[Fault] = field(default_factory=list)
    accepted: list[Body] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    dropped: int = 0
    cache: Explicit = field(default_factory=Explicit)
    _issued: set[str] = field(default_factory=set)

    def __call__(self, recorded: Recorded) -> Reply:
        if len(recorded.body) > LARGEST:
            return self._no([Fault("size", "Request exceeds the maximum size")], 413)
        body = msgspec.json.decode(recorded.body)
        wrong = faults(body, recorded.header("anthropic-version"))
        wrong += [] if wrong else list(self._thinking(body))
        if wrong:
            return self._no(wrong)
        self.accepted.append(body)
        if recorded.path.endswith("/count_tokens"):
            return Reply.of({"input_tokens": len(recorded.body) // 4})
        self.hits.append(self.cache.account(body))
        return Reply.of(self._answer(body), headers=(("request-id", "req_strict"),))

    def _no(self, wrong: list[Fault], status: int = 400) -> Reply:
        self.refused += wrong
        kind = "request_too_large" if status == 413 else "invalid_request_error"
        error = {"type": kind, "message": wrong[0].words}
        return Reply.of({"type": "error", "error": error, "request_id": "req_strict"}, status)

    def _thinking(self, body: Body) -> Iterator[Fault]:
        """The seals. With `prefix_mismatch_behavior: drop_block` a block that does not fit is taken
        out of `body` instead, and what follows is read without it."""
        binding = body.get("thinking", {}).get("block_binding", {})
        drops = binding.get("prefix_mismatch_behavior") == "drop_block"
        while (step := self._misfit(body)) is not None:
            place = f"messages.{step.message}.content.{step.index}"
            if not (known := _sealed(step.block) in self._issued) or not drops:
                yield Fault("binding" if known else "unsigned", f"{place}: {_say(known)}")
                return
            self.dropped += 1
            body["messages"][step.message]["content"].remove(step.block)

    def _misfit(self, body: Body) -> Step | None:
        for step in walk(body):
            match step.block.get("type"):
                case "thinking" if step.block["signature"] != seal(
                    step.before, step.block["thinking"]
                ):
                    return step
                case "redacted_thinking" if step.block["data"] != seal(step.before, "", 6):
                    return step
        return None

    def _answer(self, body: Body) -> Body:
        *_, end = walk(body)
        content: list[Block] = []
        link = end.before
        for block in self._output(body, link):
            if block["type"] == "thinking":
                block = {**block, "signature": seal(link, block["thinking"])}
                self._issued.add(block["signature"])
            elif block["type"] == "redacted_thinking":
                block = {**block, "data": seal(link, "", 6)}
                self._issued.add(block["data"])
            content.append(block)
            link = linked(link, block)
        calls = any(block["type"] == "tool_use" for block in content)
        return {
            "id": name(end.before, "msg_01"),
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": self.hits[-1].total - self.hits[-1].read,
                "cache_read_input_tokens": self.hits[-1].read,
                "output_tokens": 20,
            },
        }

    def _output(self, body: Body, link: bytes) -> Iterator[Block]:
        """Thinking where it is on, a sentence, the calls of this round, if there are any."""
        steps, done = _progress(body)
        calls = steps[done] if done < len(steps) else 0
        if body.get("thinking", {}).get("type") in ("adaptive", "enabled"):
            shown = "" if body["thinking"].get("display") == "omitted" else f"Round {done}."
            yield {"type": "thinking", "thinking": shown}
            if len(body["messages"]) % 8 == 3:
                yield {"type": "redacted_thinking"}
        yield {"type": "text", "text": f"Round {done}: {calls or 'no'} more to read."}
        for number in range(calls):
            called = name(link, "toolu_01", number, 22)
            given = {"file_path": f"notes/{done}-{number}.txt"}
            yield {"type": "tool_use", "id": called, "name": "Read", "input": given}


def _progress(body: Body) -> tuple[tuple[int, ...], int]:
    """What the newest prompt asks for, and how many rounds of calls stand behind it."""
    done = 0
    for turn in reversed(turns(body)):
        if turn.role == "assistant":
            done += any(block.get("type") == "tool_use" for block in turn.blocks)
        elif turn.role == "user":
            texts = [block["text"] for block in turn.blocks if block.get("type") == "text"]
            if (steps := asked(texts)) is not None:
                return steps, done
    return (), done


def _sealed(block: Block) -> str:
    return block["signature"] if block["type"] == "thinking" else block["data"]


def _say(known: bool) -> str:
    return ELSEWHERE if known else UNSIGNED
