"""The strict Messages upstream refuses what the API refuses: each rule can fail."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from proxy.demo.upstream import Recorded
from tests.strict import anthropic_rules
from tests.strict.anthropic import ELSEWHERE, UNSIGNED, Claude
from tests.strict.anthropic_rules import RULES, faults
from tests.strict.chain import copied
from tests.strict.claude_code import MARK, ClaudeCode
from tests.strict.house import Heard

Body = dict[str, Any]


async def spoken(turns: int = 2) -> tuple[Claude, ClaudeCode]:
    """An upstream and a client after some turns without a node between them."""
    claude = Claude()

    async def post(path: str, body: Body, headers: object) -> Heard:
        answer = ask(claude, body)
        return Heard(200, {}, json.dumps(answer).encode())

    session = ClaudeCode(post, size=200)
    for turn in range(turns):
        await session.turn(f"Question {turn}", 2, 1)
    session.ask("And now?", 1)
    return claude, session


def ask(claude: Claude, body: Body, version: str = "2023-06-01") -> Body:
    raw = json.dumps(body).encode()
    head = (("anthropic-version", version),)
    reply = claude(Recorded("POST", "/v1/messages", head, raw))
    return json.loads(b"".join(chunk for chunk in reply.chunks if isinstance(chunk, bytes)))


def user(*content: Body) -> Body:
    return {"role": "user", "content": list(content)}


def text(words: str, **more: Any) -> Body:
    return {"type": "text", "text": words, **more}


USE = {"type": "tool_use", "id": "toolu_a", "name": "Read", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_a", "content": "x"}
HI, SYSTEM = user(text("Hi")), {"role": "system", "content": "Short, please."}
SAID = {"role": "assistant", "content": [text("Hello.")]}
CALLED, ANSWERED = {"role": "assistant", "content": [USE]}, user(RESULT)
BASE = {"model": "claude-opus-5-5", "max_tokens": 2000, "tools": [{"name": "Read"}]}
LONG = {"type": "ephemeral", "ttl": "1h"}


def body(*messages: Body, **more: Any) -> Body:
    return {**BASE, "messages": list(messages), **more}


BROKEN: list[tuple[str, Body]] = [
    ("first-user", body(SAID, HI)),
    ("first-user", body()),
    ("known-roles", body(HI, {"role": "tool", "content": "x"})),
    ("non-empty", body(HI, SAID, user())),
    ("non-empty", body(user(text("Hi"), text(" ")))),
    ("pairing", body(HI, CALLED)),
    ("pairing", body(HI, CALLED, HI)),
    ("pairing", body(HI, CALLED, SYSTEM, ANSWERED)),
    ("pairing", body(HI, ANSWERED)),
    ("pairing", body(HI, CALLED, user(RESULT, {**RESULT, "tool_use_id": "toolu_b"}))),
    ("results-first", body(HI, CALLED, user(text("See:"), RESULT))),
    ("results-first", body(HI, CALLED, HI, ANSWERED)),
    ("system-position", body(HI, SAID, SYSTEM)),
    ("system-position", body(HI, SYSTEM, HI)),
    ("system-support", body(HI, SYSTEM, model="claude-sonnet-4-6")),
    ("system-says-something", body(HI, {"role": "system", "content": ""})),
    ("four-breakpoints", body(user(*(text(f"{n}", cache_control=MARK) for n in range(5))))),
    ("four-breakpoints", body(HI, cache_control=MARK, system=[text("a", cache_control=MARK)] * 4)),
    (
        "breakpoints-elsewhere",
        body(HI, {"role": "assistant", "content": [{"type": "thinking", "cache_control": MARK}]}),
    ),
    ("long-before-short", body(user(text("a", cache_control=MARK), text("b", cache_control=LONG)))),
    ("tools-defined", body(HI, CALLED, ANSWERED, tools=[])),
    ("some-tool-at-once", body(HI, tools=[{"name": "Read", "defer_loading": True}])),
    ("prefill", body(HI, {"role": "assistant", "content": "It is "})),
    ("thinking-budget", body(HI, thinking={"type": "enabled", "budget_tokens": 100})),
    (
        "clear-thinking",
        body(HI, context_management={"edits": [{"type": "clear_thinking_20251015"}]}),
    ),
    ("compaction-first", body(user(text("Hi"), {"type": "compaction", "content": "x"}))),
    ("not-too-many", body(*[HI] * 41)),
]


@pytest.mark.parametrize(("rule", "given"), BROKEN, ids=[rule for rule, _ in BROKEN])
def test_body_that_breaks_a_rule_is_refused(
    rule: str, given: Body, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule is named, and the upstream answers 400 in the API's shape."""
    monkeypatch.setattr(anthropic_rules, "MOST", 40)
    assert rule in {fault.rule for fault in faults(given)}
    answer = ask(claude := Claude(), given)
    assert answer["error"]["type"] == "invalid_request_error"
    assert claude.refused
    assert not claude.accepted


def test_every_rule_has_a_body_that_breaks_it_and_a_source() -> None:
    """No rule is there for show."""
    assert {rule for rule, _ in BROKEN} == set(RULES)
    assert all("[" in rule.source or "X-" in rule.source for rule in RULES.values())


@pytest.mark.parametrize(
    "given",
    [
        body(HI),
        body(HI, HI, SYSTEM, SAID, HI, SYSTEM),
        body(HI, CALLED, ANSWERED, SYSTEM),
        body(HI, CALLED, ANSWERED, user(text("And?"))),
        body(HI, CALLED, user(RESULT, text("And?"))),
        body(HI, SAID, user(text("a", cache_control=LONG), text("b", cache_control=MARK))),
        body(HI, {"role": "assistant", "content": [{"type": "thinking", "thinking": ""}, USE]},
             ANSWERED),
    ],
)  # fmt: skip
def test_body_within_the_rules_is_fine(given: Body) -> None:
    """What real clients send breaks none."""
    assert faults(given, "2023-06-01") == []


@pytest.mark.parametrize(
    "given",
    [
        body(HI, temperature=0),
        body(HI, {"role": "assistant", "content": [{"type": "document"}]}),
        body(user(text("a", citations=[{}]))),
    ],
)
def test_newest_version_refuses_more(given: Body) -> None:
    """Sampling, documents of the model and citations of the user are refused from 2026-10-21 on."""
    assert [fault.rule for fault in faults(given, "2026-10-21")] == ["dated"]
    assert faults(given, "2023-06-01") == []


def test_body_over_the_size_limit_is_refused() -> None:
    """33 MB is too much, in the API's own shape."""
    answer = ask(claude := Claude(), body(user(text("x" * 33 * 1024 * 1024))))
    assert answer["error"]["type"] == "request_too_large"
    assert [fault.rule for fault in claude.refused] == ["size"]


def touch_system(given: Body) -> None:
    given["system"][2]["text"] += "!"


def touch_tools(given: Body) -> None:
    given["tools"][3]["description"] += "!"


def swap_tools(given: Body) -> None:
    given["tools"][0], given["tools"][1] = given["tools"][1], given["tools"][0]


def touch_first_user(given: Body) -> None:
    given["messages"][1]["content"][2]["text"] += "!"


def touch_result(given: Body) -> None:
    results = [b for one in given["messages"] for b in one["content"] if "tool_use_id" in b]
    results[0]["content"] += "!"


def insert_block(given: Body) -> None:
    given["messages"][1]["content"].insert(1, text("new"))


def touch_effort(given: Body) -> None:
    given["messages"][2]["output_config"] = {"effort": "high"}


def drop_first_thinking(given: Body) -> None:
    message = next(one for one in given["messages"] if one["role"] == "assistant")
    assert message["content"].pop(0)["type"] == "thinking"


def touch_thinking(given: Body) -> None:
    message = next(one for one in given["messages"] if one["role"] == "assistant")
    message["content"][0]["thinking"] = "Well."


TOUCHES = [
    touch_system, touch_tools, swap_tools, touch_first_user, touch_result, insert_block,
    touch_effort, drop_first_thinking, touch_thinking,
]  # fmt: skip


@pytest.mark.parametrize("touch", TOUCHES)
async def test_thinking_is_bound_to_everything_before_it(touch: Callable[[Body], None]) -> None:
    """One changed part before a thinking block makes a 400 in the vendor's words."""
    claude, session = await spoken()
    given = session.body()
    touch(given)
    answer = ask(claude, given)
    assert [fault.rule for fault in claude.refused] == ["binding"]
    assert answer["error"]["message"].endswith(ELSEWHERE)


def move_marks(given: Body) -> None:
    given["messages"][-1]["content"][-1].pop("cache_control")
    given["messages"][1]["content"][0]["cache_control"] = MARK


def string_as_list(given: Body) -> None:
    given["messages"][2]["content"] = [text(given["messages"][2]["content"])]


def split_users(given: Body) -> None:
    first = given["messages"][1]
    given["messages"][1:2] = [user(*first["content"][:1]), user(*first["content"][1:])]


def touch_newest(given: Body) -> None:
    given["messages"][-2]["content"][0]["text"] = "Something else"


def drop_all_thinking(given: Body) -> None:
    for message in given["messages"]:
        if message["role"] == "assistant":
            message["content"] = [b for b in message["content"] if "thinking" not in b["type"]]


def touch_metadata(given: Body) -> None:
    given["metadata"] = {"user_id": "other"}
    given["max_tokens"] = 5


@pytest.mark.parametrize(
    "touch",
    [move_marks, string_as_list, split_users, touch_newest, drop_all_thinking, touch_metadata],
)
async def test_thinking_is_not_bound_to_packaging(touch: Callable[[Body], None]) -> None:
    """Cache marks, encodings of one text, message boundaries of one role, what comes after, and
    thinking that is left out altogether do no harm."""
    claude, session = await spoken()
    given = session.body()
    touch(given)
    answer = ask(claude, given)
    assert claude.refused == []
    assert answer["role"] == "assistant"


@pytest.mark.parametrize("signature", ["", base64.b64encode(b"made elsewhere" * 9).decode()])
async def test_unsigned_and_foreign_thinking_is_refused(signature: str) -> None:
    """A thinking block that this upstream did not sign is refused in the vendor's words."""
    claude, session = await spoken()
    given = session.body()
    message = next(one for one in given["messages"] if one["role"] == "assistant")
    message["content"][0]["signature"] = signature
    answer = ask(claude, given)
    assert [fault.rule for fault in claude.refused] == ["unsigned"]
    assert answer["error"]["message"].endswith(UNSIGNED)


async def test_client_may_ask_that_misfits_are_dropped() -> None:
    """`drop_block` takes out what does not fit, and the request is answered."""
    claude, session = await spoken()
    session.drops = True
    given = session.body()
    touch_first_user(given)
    assert ask(claude, given)["role"] == "assistant"
    assert claude.dropped >= 6
    assert claude.refused == []


async def test_same_history_gives_the_same_answer_and_forks_differ() -> None:
    """Ids and seals are functions of the history, so a re-post is a re-post."""
    claude, session = await spoken()
    given = session.body()
    other = copied(given)
    other["messages"][-2]["content"][-1]["text"] += " please"
    first, again, forked = (ask(claude, one)["content"] for one in (given, given, other))
    assert first == again
    assert first[0]["signature"] != forked[0]["signature"]
