"""The rules of the Messages API for a request body, each with the source that says so.

Owns the table of wire.md 1.1.4; `tests.strict.anthropic` adds the seals of 1.1.6. Tags: D
documentation, S read in source, C captured, I inferred; X-12 is the row of systems.md. It must not
know Transom.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

MOST = 100_000  # messages

Body = dict[str, Any]
Block = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """A rule that a body breaks, where, and what the API would say."""

    rule: str
    words: str


@dataclass(frozen=True)
class Turn:
    """Messages of one role in a row, which the API reads as one (1.1.4 [S][C])."""

    role: str
    first: int
    blocks: list[Block]


def blocks(content: object) -> list[Block]:
    """The blocks of a content; a string is one text block (1.1.6 [I])."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def turns(body: Body) -> list[Turn]:
    """The messages with neighbours of one role merged."""
    merged: list[Turn] = []
    for index, message in enumerate(body["messages"]):
        found = blocks(message.get("content"))
        if merged and merged[-1].role == message["role"]:
            merged[-1].blocks.extend(found)
        else:
            merged.append(Turn(message["role"], index, list(found)))
    return merged


def every_block(body: Body) -> Iterator[Block]:
    """Every block that may carry a `cache_control`, in the order of the prefix."""
    yield from body.get("tools", [])
    yield from blocks(body.get("system"))
    for message in body["messages"]:
        for block in blocks(message.get("content")):
            yield block
            if block.get("type") == "tool_result":
                yield from blocks(block.get("content"))


def first_user(body: Body) -> Iterator[str]:
    if not body["messages"] or body["messages"][0]["role"] != "user":
        yield 'messages: first message must use the "user" role'


def known_roles(body: Body) -> Iterator[str]:
    for index, message in enumerate(body["messages"]):
        if message["role"] not in ("user", "assistant", "system"):
            yield f"messages.{index}.role: unexpected value"


def non_empty(body: Body) -> Iterator[str]:
    for index, message in enumerate(body["messages"]):
        if message["role"] != "system" and not message.get("content"):
            yield f"messages.{index}: all messages must have non-empty content"
    for block in every_block(body):
        if block.get("type") == "text" and not block["text"].strip():
            yield "text content blocks must be non-empty"


def pairing(body: Body) -> Iterator[str]:
    merged = turns(body)
    for before, turn in zip([None, *merged], [*merged, None], strict=True):
        called = _ids(before, "assistant", "tool_use", "id")
        answered = _ids(turn, "user", "tool_result", "tool_use_id")
        where = f"messages.{turn.first}" if turn else "messages"
        if missing := called - answered:
            yield f"{where}: `tool_use` ids were found without `tool_result` blocks: {missing}"
        if orphans := answered - called:
            yield f"{where}: unexpected `tool_use_id` found in `tool_result` blocks: {orphans}"


def _ids(turn: Turn | None, role: str, kind: str, key: str) -> set[str]:
    if turn is None or turn.role != role:
        return set()
    return {block[key] for block in turn.blocks if block.get("type") == kind}


def results_first(body: Body) -> Iterator[str]:
    for turn in turns(body):
        kinds = [block.get("type") == "tool_result" for block in turn.blocks]
        if turn.role == "user" and kinds != sorted(kinds, reverse=True):
            yield f"messages.{turn.first}: `tool_result` blocks must come first"


def system_position(body: Body) -> Iterator[str]:
    merged = turns(body)
    for before, turn, after in zip([None, *merged], merged, [*merged[1:], None], strict=False):
        if turn.role != "system":
            continue
        if before is None or before.role != "user":
            yield f"messages.{turn.first}: a system message must follow a user message"
        if after is not None and after.role != "assistant":
            yield f"messages.{turn.first}: a system message may not precede a user message"


_SYSTEM_MODELS = ("opus-4-8", "opus-5", "sonnet-5-5", "haiku-5-5", "fable-5", "mythos-5")


def system_support(body: Body) -> Iterator[str]:
    system = any(message["role"] == "system" for message in body["messages"])
    if system and not any(name in body["model"] for name in _SYSTEM_MODELS):
        yield 'messages: role "system" is not supported by this model'


def system_says_something(body: Body) -> Iterator[str]:
    for index, message in enumerate(body["messages"]):
        if message["role"] == "system" and not (
            message.get("content") or message.get("output_config")
        ):
            yield f"messages.{index}: a system message needs content or output_config"


def four_breakpoints(body: Body) -> Iterator[str]:
    count = sum(bool(block.get("cache_control")) for block in every_block(body))
    if count + bool(body.get("cache_control")) > 4:
        yield f"A maximum of 4 blocks with cache_control may be provided. Found {count}."


def breakpoints_elsewhere(body: Body) -> Iterator[str]:
    for block in every_block(body):
        if block.get("cache_control") and block.get("type") in ("thinking", "redacted_thinking"):
            yield "cache_control cannot be set on thinking blocks"


def long_before_short(body: Body) -> Iterator[str]:
    marks = [block["cache_control"] for block in every_block(body) if block.get("cache_control")]
    lives = [mark.get("ttl", "5m") for mark in marks]
    if lives != sorted(lives, key=("1h", "5m").index):
        yield "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"


def tools_defined(body: Body) -> Iterator[str]:
    kinds = {block.get("type") for turn in turns(body) for block in turn.blocks}
    if kinds & {"tool_use", "tool_result"} and not body.get("tools"):
        yield "Requests which include `tool_use` or `tool_result` blocks must define tools"


def some_tool_at_once(body: Body) -> Iterator[str]:
    tools = body.get("tools", [])
    if tools and all(tool.get("defer_loading") for tool in tools):
        yield "tools: at least one tool must not be deferred"


def prefill(body: Body) -> Iterator[str]:
    last = turns(body)[-1] if body["messages"] else None
    if last and last.role == "assistant" and last.blocks:
        text = last.blocks[-1].get("text", "")
        if text != text.rstrip():
            yield "messages: final assistant content cannot end with trailing whitespace"


def thinking_budget(body: Body) -> Iterator[str]:
    thinking = body.get("thinking", {})
    if thinking.get("type") == "enabled" and not (
        1024 <= thinking.get("budget_tokens", 0) < body["max_tokens"]
    ):
        yield "thinking.budget_tokens: at least 1024 and less than max_tokens"


def clear_thinking(body: Body) -> Iterator[str]:
    edits = body.get("context_management", {}).get("edits", [])
    clears = any(edit["type"] == "clear_thinking_20251015" for edit in edits)
    if clears and body.get("thinking", {}).get("type") not in ("enabled", "adaptive"):
        yield "clear_thinking_20251015 requires thinking to be enabled or adaptive"


def compaction_first(body: Body) -> Iterator[str]:
    all_blocks = [block for turn in turns(body) for block in turn.blocks]
    if any(block.get("type") == "compaction" for block in all_blocks[1:]):
        yield "a compaction block must be the first block of the conversation"


def not_too_many(body: Body) -> Iterator[str]:
    if len(body["messages"]) > MOST:
        yield f"messages: at most {MOST}"


@dataclass(frozen=True)
class Rule:
    """A check and where it is written down."""

    source: str
    check: Callable[[Body], Iterator[str]]


RULES: dict[str, Rule] = {
    "first-user": Rule("1.1.4 [S][D]", first_user),
    "known-roles": Rule("1.1.4 [S]", known_roles),
    "non-empty": Rule("1.1.4 [S][D]", non_empty),
    "pairing": Rule("1.1.4 [D]", pairing),
    "results-first": Rule("1.1.4 [D]", results_first),
    "system-position": Rule("1.1.4 [D]", system_position),
    "system-support": Rule("1.1.4 [D]", system_support),
    "system-says-something": Rule("1.1.4 [S]", system_says_something),
    "four-breakpoints": Rule("1.1.4 [D][C]", four_breakpoints),
    "breakpoints-elsewhere": Rule("1.1.4 [D]", breakpoints_elsewhere),
    "long-before-short": Rule("1.1.4 [D]", long_before_short),
    "tools-defined": Rule("systems.md X-12", tools_defined),
    "some-tool-at-once": Rule("1.1.4 [I]", some_tool_at_once),
    "prefill": Rule("1.1.4 [S][D]", prefill),
    "thinking-budget": Rule("1.1.4 [S]", thinking_budget),
    "clear-thinking": Rule("1.1.4 [D]", clear_thinking),
    "compaction-first": Rule("1.1.4 [S]", compaction_first),
    "not-too-many": Rule("1.1.4 [D][S]", not_too_many),
}


def dated(body: Body) -> Iterator[str]:
    """What version 2026-10-21 refuses (1.1.4 [D])."""
    for name in ("temperature", "top_p", "top_k"):
        if name in body:
            yield f"{name}: not supported by this version"
    for turn in turns(body):
        for block in turn.blocks:
            if turn.role == "assistant" and block.get("type") == "document":
                yield "`document` is not allowed in an assistant message"
            if turn.role == "user" and block.get("type") == "text" and block.get("citations"):
                yield "`citations` are not allowed on text in a user message"


def faults(body: Body, version: str = "") -> list[Fault]:
    """Every rule that `body` breaks."""
    found = [Fault(name, words) for name, rule in RULES.items() for words in rule.check(body)]
    if version >= "2026-10-21":
        found += [Fault("dated", words) for words in dated(body)]
    return found
