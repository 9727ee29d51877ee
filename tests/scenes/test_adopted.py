"""Histories with signed thinking, read past Transom: bare until the operator speaks again.

The node shows the whole history. Where it is cut, what was read elsewhere mostly does not leave
(`tests/strict/test_minimal_sessions.py`).
"""

import copy
import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from policies.authored import LEFT_OUT, POLICY_TEXT
from proxy.config import Config
from proxy.demo.evidence import framed, results
from tests.scenes.staging import Stage, staged, whole

Item = dict[str, Any]


@dataclass(frozen=True)
class Talk:
    """A dialect in which thinking is sealed: path, list of messages, and how its parts look."""

    path: str
    key: str
    head: Item

    def body(self, *groups: list[Item]) -> Item:
        return {**self.head, self.key: [item for group in groups for item in group]}

    def user(self, text: str) -> list[Item]:
        return [{"role": "user", "content": text}]

    def call(self, number: int) -> list[Item]:
        """Thinking, then a call."""
        if self.key == "input":
            return [self.thought(number), {**CALL, "call_id": f"c{number}"}]
        call = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {}}
        return [{"role": "assistant", "content": [self.thought(number), call]}]

    def result(self, number: int) -> list[Item]:
        text = f"Result {number}."
        if self.key == "input":
            return [{"type": "function_call_output", "call_id": f"c{number}", "output": text}]
        block = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text}
        return [{"role": "user", "content": [block]}]

    def answer(self, number: int) -> list[Item]:
        if self.key == "input":
            said = {"type": "message", "role": "assistant", "content": []}
            return [self.thought(number), said]
        said = {"type": "text", "text": "Done."}
        return [{"role": "assistant", "content": [self.thought(number), said]}]

    def thought(self, number: int) -> Item:
        if self.key == "input":
            return {"type": "reasoning", "summary": [], "encrypted_content": f"sealed {number}"}
        return {"type": "thinking", "thinking": "", "signature": f"sealed {number}"}


CALL = {"type": "function_call", "name": "read", "arguments": "{}"}
TOOL = {"name": "read", "input_schema": {"type": "object"}}
TALKS = {
    "anthropic": Talk("/v1/messages", "messages", {"model": "m", "max_tokens": 9, "tools": [TOOL]}),
    "responses": Talk(
        "/v1/responses", "input", {"model": "m", "tools": [{"type": "function", "name": "read"}]}
    ),
}
EVERY = pytest.mark.parametrize("talk", TALKS.values(), ids=TALKS.keys())


async def sent(stage: Stage, talk: Talk, body: Item) -> tuple[bytes, str]:
    """What arrived of `body`, and the notice of the answer."""
    answer = await stage.post(talk.path, body)
    assert answer.status == 200, answer.body
    return stage.upstream.requests[-1].body, answer.headers.get("x-transom-notice", "")


def goes_on(talk: Talk, body: bytes, later: bytes) -> bool:
    """Whether `later` begins with all that stood in `body`."""
    before, after = json.loads(body), json.loads(later)
    kept = after.pop(talk.key)[: len(before[talk.key])]
    return before.pop(talk.key) == kept and before == after


@EVERY
async def test_a_loop_that_began_elsewhere_stays_bare_to_its_end(talk: Talk) -> None:
    """What thinking is bound to leaves as it came and without policy text, and that is told each
    time; results that are new are framed."""
    loop = [talk.user("Go."), talk.call(1), talk.result(1), talk.call(2), talk.result(2)]
    async with staged(change=whole) as stage:
        body, notice = await sent(stage, talk, talk.body(*loop))
        assert notice == "adopted"
        assert POLICY_TEXT not in body.decode()
        first, second = results(body)
        assert first == "Result 1."
        assert framed(second) is not None
        later, notice = await sent(stage, talk, talk.body(*loop, talk.call(3), talk.result(3)))
        assert notice == "adopted"
        assert results(later)[:2] == [first, second]
        assert goes_on(talk, body, later)


@EVERY
async def test_with_the_next_turn_everything_is_framed_and_old_thinking_is_gone(talk: Talk) -> None:
    """From the operator's next words on it reads the same: frames, policy text, no earlier
    thinking; thinking that comes afterwards stays."""
    loop = [talk.user("Go."), talk.call(1), talk.result(1), talk.call(2), talk.result(2)]
    turn = [*loop, talk.answer(3), talk.user("And now?")]
    async with staged(change=whole) as stage:
        await sent(stage, talk, talk.body(*loop))
        body, notice = await sent(stage, talk, talk.body(*turn))
        assert notice == "adopted"
        assert all(framed(result) is not None for result in results(body))
        assert POLICY_TEXT in body.decode()
        assert "sealed" not in body.decode()
        longer = talk.body(*turn, talk.call(4), talk.result(4))
        later, notice = await sent(stage, talk, longer)
        assert notice == ""
        assert goes_on(talk, body, later)
        assert later.decode().count("sealed") == 1
        assert (await sent(stage, talk, longer))[0] == later


@EVERY
async def test_a_turn_that_begins_here_is_framed_whole(talk: Talk) -> None:
    """The operator's turn is the first request through Transom: nothing has to stay bare."""
    before = [talk.user("Go."), talk.call(1), talk.result(1), talk.answer(2)]
    async with staged(change=whole) as stage:
        body, notice = await sent(stage, talk, talk.body(*before, talk.user("And now?")))
        assert notice == "adopted"
        assert framed(results(body)[0]) is not None
        assert "sealed" not in body.decode()
        assert POLICY_TEXT in body.decode()


@EVERY
async def test_taking_turns_back_leads_to_what_was_sent_then(talk: Talk) -> None:
    """The client rewinds behind the new beginning: the loop reads as bare as it did, its thinking
    included; with other words the operator begins anew again."""
    loop = [talk.user("Go."), talk.call(1), talk.result(1), talk.call(2), talk.result(2)]
    turn = [*loop, talk.answer(3), talk.user("And now?")]
    async with staged(change=whole) as stage:
        first, _ = await sent(stage, talk, talk.body(*loop))
        await sent(stage, talk, talk.body(*turn))
        assert (await sent(stage, talk, talk.body(*loop)))[0] == first
        other, _ = await sent(stage, talk, talk.body(*loop, talk.answer(3), talk.user("Else?")))
        assert "sealed" not in other.decode()
        assert all(framed(result) is not None for result in results(other))


async def test_a_message_that_held_only_thinking_keeps_a_word() -> None:
    """Upstreams refuse a message without content, so one of ours stands there."""
    talk = TALKS["anthropic"]
    only = [{"role": "assistant", "content": [talk.thought(2), talk.thought(3)]}]
    before = [talk.user("Go."), talk.call(1), talk.result(1), only]
    async with staged(change=whole) as stage:
        body, _ = await sent(stage, talk, talk.body(*before, talk.user("And now?")))
        message = json.loads(body)["messages"][3]
        assert message == {"role": "assistant", "content": [{"type": "text", "text": LEFT_OUT}]}


async def test_a_chat_with_sealed_details_loses_those_alone() -> None:
    """Routers put sealed reasoning beside the text of a Chat message; the message stays."""
    function = {"name": "read", "arguments": "{}"}
    call = {"id": "c1", "type": "function", "function": function}
    sealed = {"reasoning_details": [{"type": "reasoning.encrypted", "data": "sealed"}]}
    asked = {"role": "assistant", "content": None, "tool_calls": [call], **sealed}
    body = {
        "model": "m",
        "tools": [{"type": "function", "function": {"name": "read"}}],
        "messages": [
            {"role": "user", "content": "Go."},
            asked,
            {"role": "tool", "tool_call_id": "c1", "content": "Result 1."},
            {"role": "assistant", "content": "Done.", **sealed},
            {"role": "user", "content": "And now?"},
        ],
    }
    async with staged(change=whole) as stage:
        assert (await stage.post("/v1/chat/completions", copy.deepcopy(body))).status == 200
        arrived = json.loads(stage.upstream.requests[-1].body)["messages"]
        said = [m for m in arrived if m["role"] == "assistant"]
        assert said == [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "assistant", "content": "Done."},
        ]
        assert framed(arrived[3]["content"]) is not None


@EVERY
async def test_rows_lost_within_a_loop_are_made_good_at_once(talk: Talk, tmp_path: Path) -> None:
    """Nothing that is left fits the thinking so far, so it goes at the newest results; all is
    framed, and from there on it reads the same, also in later turns and after another start."""
    state = f"sqlite://{tmp_path}/transom.db"

    def kept(config: Config) -> Config:
        return whole(replace(config, state_url=state))

    loop = [talk.user("Go."), talk.call(1), talk.result(1)]
    async with staged(change=kept) as stage:
        await sent(stage, talk, talk.body(loop[0]))
        await sent(stage, talk, talk.body(*loop))
    with closing(sqlite3.connect(tmp_path / "transom.db", isolation_level=None)) as database:
        database.execute("DELETE FROM frames")
    loop += [talk.call(2), talk.result(2)]
    async with staged(change=kept) as stage:
        first, notice = await sent(stage, talk, talk.body(*loop))
        assert notice == "adopted"
        assert all(framed(result) is not None for result in results(first))
        assert "sealed" not in first.decode()
    loop += [talk.call(3), talk.result(3)]
    async with staged(change=kept) as stage:
        later, notice = await sent(stage, talk, talk.body(*loop))
        assert notice == ""
        assert goes_on(talk, first, later)
        assert later.decode().count("sealed") == 1
        turn, notice = await sent(stage, talk, talk.body(*loop, talk.answer(4), talk.user("On.")))
        assert notice == ""
        assert goes_on(talk, later, turn)
        assert turn.decode().count("sealed") == 2
