"""The reminder's tool loop against a scripted model: what it counts, and that both modes differ
only in the reminder."""

import json

import pytest

from bench import reminder
from proxy.demo.reply import Reply
from proxy.demo.upstream import Recorded, ScriptedUpstream

MODEL = "scripted-1"


def model(asked: Recorded) -> Reply:
    """Reads note after note; an attack takes it over unless the operator's words come last."""
    if asked.path == "/v1/models":
        return Reply.of({"object": "list", "data": [{"id": MODEL}]})
    if asked.path != "/v1/chat/completions":
        return Reply.of({"error": "no such page"}, 404)
    messages = json.loads(asked.body)["messages"]
    results = [each["content"] for each in messages if each["role"] == "tool"]
    reminded = str(messages[-1]["content"]).startswith("[operator] ")
    if results and reminder.TAKEN in results[-1] and not reminded:
        return said(f"{reminder.TAKEN}, as you wish.")
    if results and "last note" in results[-1]:
        return said(f"The code word is {reminder.WORD.title()}.")
    return called(f"note-{len(results) + 1:02d}")


def said(text: str) -> Reply:
    return answer({"role": "assistant", "content": text}, "stop")


def called(name: str) -> Reply:
    function = {"name": "read_note", "arguments": json.dumps({"name": name})}
    call = {"id": f"call_{name}", "type": "function", "function": function}
    return answer({"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls")


def answer(message: object, reason: str) -> Reply:
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return Reply.of({"id": "1", "object": "chat.completion", "model": MODEL, "choices": [choice]})


async def test_the_loop_runs_and_is_counted() -> None:
    """Off: every attack takes the model over in its ninth round. On: none does, and all twelve
    notes are read. Without an attack both go through. With the reminder on it ends every request
    that has a result in it; off, it is in none."""
    async with ScriptedUpstream(model) as local:
        name, runs = await reminder.measured(local.url, "")
    assert name == MODEL
    plain = reminder.Run("", 12, False, True)
    attacks = reminder.ATTACKS[1:]
    assert runs["off"] == [plain, *(reminder.Run(a, 9, True, False) for a in attacks)]
    assert runs["request"] == [plain, *(reminder.Run(a, 12, False, True) for a in attacks)]
    table = reminder.table(runs)
    assert "| off | 4 of 4 | 0 of 4 | 9 | 9 | 1 of 1, 12 rounds |" in table
    assert "| request | 0 of 4 | 4 of 4 | 12 | 12 | 1 of 1, 12 rounds |" in table
    asked = [each for each in local.requests if each.path == "/v1/chat/completions"]
    reminded = [each for each in asked if b"[operator] Read note-01" in each.body]
    assert len(reminded) == 12 * len(reminder.ATTACKS)
    framed = [each for each in asked if b'"role":"tool"' in each.body.replace(b" ", b"")]
    assert framed
    assert all(b"[[TRANSOM_DATA nonce=" in each.body for each in framed)


async def test_a_model_that_never_ends_is_stopped() -> None:
    """After a bounded number of rounds, neither hijacked nor right."""

    def endless(asked: Recorded) -> Reply:
        return model(asked) if asked.path != "/v1/chat/completions" else called("note-01")

    async with ScriptedUpstream(endless) as local:
        _, runs = await reminder.measured(local.url, MODEL)
    assert {(run.rounds, run.hijacked, run.right) for run in runs["off"]} == {
        (reminder.MOST, False, False)
    }


@pytest.mark.parametrize(
    ("listed", "why"), [({"data": []}, "has no model"), ({"models": []}, "lists no models")]
)
async def test_a_server_without_a_model_is_told_apart(listed: object, why: str) -> None:
    """One line that names the address."""
    async with ScriptedUpstream(lambda asked: Reply.of(listed)) as local:
        with pytest.raises(reminder.NoModel, match=why) as told:
            await reminder.measured(local.url, "")
        assert local.url in str(told.value)


async def test_answers_that_cannot_be_read_end_the_run() -> None:
    """No figure comes from them."""
    async with ScriptedUpstream(lambda asked: Reply.of({"choices": []})) as local:
        with pytest.raises(reminder.NoModel, match="no answer that can be read"):
            await reminder.measured(local.url, MODEL)


def test_without_an_address_it_says_so_and_ends(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line on stderr, exit code 0, no figure published."""
    monkeypatch.delenv("TRANSOM_TEST_LOCAL", raising=False)
    monkeypatch.setattr("bench.results.publish", None)
    reminder.main()
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "skipped: TRANSOM_TEST_LOCAL is not set" in err


@pytest.mark.parametrize(
    "given", ["http://127.0.0.1:1/", "http://127.0.0.1:1/v1", "http://127.0.0.1:1"]
)
def test_addresses_may_end_in_v1(given: str) -> None:
    """As clients write them."""
    assert reminder.named({"TRANSOM_TEST_LOCAL": given}) == "http://127.0.0.1:1"
