"""What a stranger may choose, told to the owner: whatever it is, it stays one word on one line."""

import asyncio
import json
import unicodedata
from typing import Any

import pytest

from proxy import cli, owner_verbs
from proxy.demo.upstream import Recorded, Reply
from proxy.desk import Desk
from tests.scenes.bodies import BODIES, PATHS, secret
from tests.scenes.staging import Stage, staged

NAMES = {
    "new lines": 'x"}\n{"ok": true, "event": "blocked"}\r\n',
    "colours": "\x1b[2J\x1b[31mnothing was blocked\x07",
    "hidden": "\u202egnihton\u2066\u200b\u0085\u2028",
    "huge": "delete_" * 30_000,
}
VERBS = ("blocked", "notices", "sessions", "status")
LONGEST = 2_000


def calling(name: str) -> Any:
    """An upstream whose model calls a tool of that name, which nobody has declared."""

    def answer(recorded: Recorded) -> Reply:
        block = {"type": "tool_use", "id": "t", "name": name, "input": {name: name}}
        return Reply.of({"type": "message", "role": "assistant", "content": [block]})

    return answer


async def met(stage: Stage, name: str) -> None:
    """The name comes as a tool, a model, a key, a part's kind and a session."""
    session = {"x-claude-code-session-id": "".join(c for c in name if c.isalnum())[:200] or "x"}
    for number in range(6):
        body = BODIES["anthropic_messages"](f"result {number}")
        body["tools"] += [{"name": name, "input_schema": {"type": "object"}}] * (number % 2)
        body["messages"][1]["content"].append({"type": name, name: name})
        body["messages"][0]["content"] = f"Number {number}."
        body["model"] = name
        answer = await stage.post(PATHS["anthropic_messages"], body, session)
        assert answer.status in (200, 400)
    body["messages"].append({"role": "user", "content": {name: secret()}})
    assert (await stage.post(PATHS["anthropic_messages"], body, session)).status == 400
    for _ in range(2):
        await stage.node.parts.owner.recorder.flush()


async def answers(stage: Stage, **asked: object) -> dict[str, Any]:
    """What the node says at its control socket, by verb, as it comes over the line."""
    desk = Desk(stage.node.parts.store, stage.node.parts.owner.recorder)
    found = {verb: await desk.verbs[verb](asked) for verb in VERBS if verb != "status"}
    found["status"] = {**await desk.counters(asked), "url": stage.node.url, "version": "1"}
    lines = {verb: json.dumps(answer) for verb, answer in found.items()}
    assert not any("\n" in line for line in lines.values())
    return {verb: json.loads(line) for verb, line in lines.items()}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
async def test_the_verbs_print_one_line_for_each_row_and_nothing_that_acts(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As JSON one object per line; for people no character that moves, colours or hides."""
    async with staged(calling(name)) as stage:
        await met(stage, name)
        said = await answers(stage)
    assert said["notices"]["rows"]
    assert said["blocked"]["rows"]
    monkeypatch.setattr(owner_verbs, "ask_node", lambda verb, **facts: said[verb])
    for verb in VERBS:
        for more in ([], ["--json"]):
            assert await asyncio.to_thread(cli.run, [verb, *more]) == 0
            printed = capsys.readouterr()
            assert printed.err == ""
            for line in printed.out.split("\n")[:-1]:
                assert not more or isinstance(json.loads(line), dict)
                assert len(line) < LONGEST, verb
                odd = [mark for mark in line if unicodedata.category(mark) in ("Cc", "Cf", "Zl")]
                assert not odd, verb
            if more and verb != "status":
                assert printed.out.count("\n") == len(said[verb]["rows"])
            assert name.strip() not in printed.out


async def test_the_desk_takes_whatever_it_is_asked() -> None:
    """Numbers beyond all bounds, other types, texts that are none: an answer each time, and no
    notice is acknowledged and no session let go that was not named."""
    odd: list[Any] = [
        *map(json.loads, ("1e999", "-1e999", "NaN", "9223372036854775808", "1" + "0" * 400)),
        *("x", "\ud800", "\0", "a\nb", "9" * 50_000, None, [], {}, True, -1, 0.5, 1.5, [[[]]]),
    ]
    async with staged(calling("delete_all")) as stage:
        await met(stage, "delete_all")
        desk = Desk(stage.node.parts.store, stage.node.parts.owner.recorder)
        before = await answers(stage)
        for value in odd:
            for verb in ("ack", "release"):
                told = await desk.verbs[verb]({"id": value})
                assert told == {"ok": False} or told.get("marks") == 0 or "problem" in told, value
            for key in ("after", "within", "all"):
                assert (await desk.verbs["blocked"]({key: value}))["ok"] is True
                assert (await desk.verbs["notices"]({key: value}))["ok"] is True
        assert await answers(stage) == before


@pytest.mark.parametrize(
    "words",
    [["ack", "9" * 16], ["ack", "-1"], ["ack", "1\n2"], ["ack", "\x1b[31m"], ["ack"], ["ack", "٣"],
     ["ack", "1", "2"], ["release", "1"], ["x" * 9_000]],
)  # fmt: skip
def test_what_is_typed_wrongly_asks_no_node_and_is_not_repeated(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 and a way out."""
    monkeypatch.setattr(owner_verbs, "ask_node", lambda *given, **facts: pytest.fail("asked"))
    for verb in ("notices", "sessions"):
        assert cli.run([verb, "--", *words]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "hint: transom" in printed.err
        assert words[-1] not in printed.err or words[-1] in ("ack", "1", "2")
        assert len(printed.err) < 400
