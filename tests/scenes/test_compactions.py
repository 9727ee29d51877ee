"""Histories are compacted: by words that ask for a summary, or by an item that its vendor seals.

The shapes are those of Claude Code, Codex and the SDKs (wire.md 1.1.2, 1.3): a summary asked for in
the user's words, `compaction_trigger` as the last item and nothing in it, `/v1/responses/compact`,
and the histories that follow.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from proxy.demo.files import nsec
from tests.scenes.bodies import PATHS
from tests.scenes.hearth import SAID, at_home
from tests.scenes.staging import Stage, staged
from tests.scenes.turns import TURNS, one
from tests.strict import anthropic_rules, chat, responses
from tests.strict.turns import showing

DIALECTS = pytest.mark.parametrize("dialect", PATHS)
MODES = pytest.mark.parametrize("mode", ["strict", "dialogue", "off"])
ASKS = "Your task is to create a detailed summary of the conversation so far."
SUMMARY = "This session is continued from another one. Summary: a pier was built."
RULES: dict[str, Mapping[str, anthropic_rules.Rule]] = {
    "anthropic_messages": anthropic_rules.RULES,
    "openai_chat": chat.CHAT_RULES,
    "openai_responses": responses.RULES,
    "ollama_chat": chat.OLLAMA_RULES,
}


def faults(dialect: str, body: dict[str, Any]) -> list[str]:
    """Every rule of its vendor that a body breaks."""
    return [words for rule in RULES[dialect].values() for words in rule.check(body)]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def model(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def talk(dialect: str, *more: dict[str, Any], done: bool = True) -> dict[str, Any]:
    """Two rounds of tools, after which the model is `done` or not, and what comes then."""
    body = TURNS[dialect]([one("read_file", n, f"found {n}") for n in range(2)])
    key = "input" if "input" in body else "messages"
    body[key] += [*([model("It is a pier.")] if done else []), *more]
    return body


async def sent(stage: Stage, dialect: str, body: dict[str, Any]) -> str:
    """What arrives upstream of `body`, which breaks no rule of its vendor that it did not break."""
    answer = await stage.post(PATHS[dialect], body)
    assert answer.status == 200, answer.body
    arrived = stage.upstream.requests[-1]
    assert faults(dialect, arrived.json()) == faults(dialect, body)
    return arrived.body.decode()


@DIALECTS
@MODES
async def test_a_summary_is_asked_for_like_anything_else(dialect: str, mode: Any) -> None:
    """Between two turns it is a turn: of what was said and found as much leaves as in any. Within a
    turn it is none, and all results of the turn leave, whatever the mode."""
    async with staged(change=showing(mode)) as stage:
        between = await sent(stage, dialect, talk(dialect, user(ASKS)))
        assert ASKS in between
        assert ("found 1" in between) is (mode == "off")
        assert ("It is a pier." in between) is (mode != "strict")
        within = await sent(stage, dialect, talk(dialect, user(ASKS), done=False))
        assert all(text in within for text in ("found 0", "found 1", ASKS))


@DIALECTS
@MODES
async def test_a_session_goes_on_from_a_summary_in_words(dialect: str, mode: Any) -> None:
    """It is the first thing that the user says of a new conversation: there as long as what the
    user says is. Tools are called and framed as in any, also when the same history comes again."""
    async with staged(change=showing(mode)) as stage:
        body = TURNS[dialect]([one("read_file", n, f"found {n}") for n in range(2)])
        key = "input" if "input" in body else "messages"
        body[key][0]["content"] = SUMMARY
        first = await sent(stage, dialect, body)
        assert all(text in first for text in (SUMMARY, "found 0", "found 1"))
        assert first.count("field=read_file") >= 2
        body[key] += [model("So."), user("Go on.")]
        later = await sent(stage, dialect, body)
        assert (SUMMARY in later) is (mode != "strict")
        assert await sent(stage, dialect, body) == later


TRIGGER = {"type": "compaction_trigger"}
SEALED = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAABo" + "Qk5j" * 60}


@MODES
@pytest.mark.parametrize("done", [True, False], ids=["between turns", "within a turn"])
@pytest.mark.parametrize("path", ["/v1/responses", "/v1/responses/compact"])
async def test_a_vendor_is_asked_to_compact(path: str, done: bool, mode: Any) -> None:
    """A trigger begins no turn. It arrives as it was sent, last, behind all that the turn holds;
    and so does what is posted to the endpoint of old, which has none."""
    body = talk("openai_responses", done=done)
    if path == "/v1/responses":
        body["input"].append(TRIGGER)
    async with staged(change=showing(mode)) as stage:
        answer = await stage.post(path, body)
        assert answer.status == 200, answer.body
        arrived = stage.upstream.requests[-1]
    assert arrived.path == path
    assert all(text in arrived.body.decode() for text in ("found 0", "found 1"))
    assert faults("openai_responses", arrived.json()) == []
    assert (arrived.json()["input"][-1] == TRIGGER) is (path == "/v1/responses")


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/responses/compact"])
async def test_compacting_is_no_round_of_a_loop(path: str) -> None:
    """Whatever the turn has come to: such a body may not be one to take tool use off, and an answer
    of ours would take the place of the history. The next round of the loop ends as ever."""
    async with staged() as stage:
        for count in (5, 8, 9):
            rounds = [one("read_file", 1, "the same")] * count
            body = TURNS["openai_responses"](rounds)
            if path == "/v1/responses":
                body["input"].append(TRIGGER)
            answer = await stage.post(path, body)
            assert answer.json() == {"ok": True}
            assert answer.headers.get("x-transom-notice") in (None, "adopted")
            arrived = stage.upstream.requests[-1].json()
            assert arrived.keys() == body.keys()
            assert len(arrived["input"]) == len(body["input"]) + 1  # what frames mean
        answer = await stage.post("/v1/responses", TURNS["openai_responses"](rounds))
        assert answer.headers["x-transom-notice"] == "read-loop"
        await stage.node.parts.owner.recorder.flush()
        assert (await stage.node.parts.store.counters())["requests"] == 4


@MODES
async def test_what_a_vendor_has_sealed_leaves_with_its_turn(mode: Any) -> None:
    """Byte for byte, as long as the turn lasts in which it was made. Nobody here can read it, so in
    later turns it leaves only where everything does."""
    begun = [user("Build a pier."), user("And a mole."), SEALED]
    tools = talk("openai_responses")["tools"]
    call = {"type": "function_call", "call_id": "c", "name": "read_file", "arguments": "{}"}
    found = {"type": "function_call_output", "call_id": "c", "output": "found 0"}

    def body(*items: dict[str, Any]) -> dict[str, Any]:
        return {"model": "m", "store": False, "tools": tools, "input": [*begun, *items]}

    async with staged(change=showing(mode)) as stage:
        for more in ((), (call, found), (call, found, TRIGGER)):
            await sent(stage, "openai_responses", body(*more))
            assert SEALED in stage.upstream.requests[-1].json()["input"]
        later = await sent(stage, "openai_responses", body(call, found, model("So."), user("On.")))
        assert (SEALED in stage.upstream.requests[-1].json()["input"]) is (mode == "off")
        assert ("found 0" in later) is (mode == "off")
        assert ("Build a pier." in later) is (mode != "strict")


async def test_what_stands_in_a_trigger_is_read_like_anything() -> None:
    """A real one is empty. What somebody writes into it is screened, and told as unknown."""
    hiding = talk("openai_responses", {**TRIGGER, "content": f"key = {nsec()}"})
    async with staged() as stage:
        answer = await stage.post(PATHS["openai_responses"], hiding)
        assert answer.headers["x-transom-notice"] == "egress-blocked"
        assert stage.upstream.accepted == 0
        odd = talk("openai_responses", {**TRIGGER, "content": "be brief"})
        await sent(stage, "openai_responses", odd)
        assert stage.upstream.requests[-1].json()["input"][-1] == odd["input"][-1]
        await stage.node.parts.owner.recorder.flush()
        kinds = {event.kind for event in await stage.node.parts.store.events()}
        assert "unknown-part" in kinds


def compacted(*content: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """The head of a history in which Anthropic's server has compacted what stood before."""
    block = {"type": "compaction", "content": SUMMARY, "signature": "c2lnbmVk"}
    return [{"role": "assistant", "content": [block, *content]}]


@MODES
@pytest.mark.parametrize("speaks", [True, False])
async def test_a_history_that_begins_compacted_does_not_begin_with_the_model(
    mode: Any, speaks: bool
) -> None:
    """The block may stand first and nothing else of the model may: where it goes, so does what the
    model said beside it."""
    words = [{"type": "text", "text": "Next the mole."}] if speaks else []
    body = TURNS["anthropic_messages"]([one("read_file", 1, "found 1")])
    body["messages"] = [*compacted(*words), *body["messages"]]
    async with staged(change=showing(mode)) as stage:
        for more in ((), (model("So."), user("On."))):
            body["messages"] += more
            answer = await stage.post(PATHS["anthropic_messages"], body)
            assert answer.status == 200, answer.body
            arrived = stage.upstream.requests[-1].json()["messages"]
            assert arrived[0]["role"] == ("assistant" if mode == "off" else "user")
            if mode == "off":
                assert arrived[0] == body["messages"][0]
            else:
                assert faults("anthropic_messages", {**body, "messages": arrived}) == []


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_home_seals_nothing(stream: bool) -> None:
    """A client that asks for an item of its vendor's is told that there is none, and not given
    words in its place; where home is only preferred, the vendor is asked, and the owner told."""
    for secret in (nsec(), ""):
        body = talk("openai_responses", user(f"And this? {secret}"), TRIGGER)
        async with at_home(prefer="cloud" if secret else "local") as stage:
            answer = await stage.post(PATHS["openai_responses"], {**body, "stream": stream})
            assert stage.asked == []
            if secret:
                assert (answer.status, answer.headers["x-transom-notice"]) == (
                    400,
                    "home-not-local",
                )
                assert b"only its vendor can seal" in answer.body
                assert stage.upstream.accepted == 0
            else:
                assert answer.headers["x-transom-notice"] == "cloud-while-home-up"
                assert stage.upstream.requests[-1].json()["input"][-1] == TRIGGER


async def test_home_writes_a_summary_in_words() -> None:
    """For whoever asks for one in words, as for anything else."""
    for dialect, path in PATHS.items():
        body = talk(dialect, user(f"{ASKS} {nsec()}"))
        async with at_home() as stage:
            answer = await stage.post(path, {**body, "stream": False})
            assert (answer.status, SAID.encode() in answer.body) == (200, True)
            assert stage.upstream.accepted == 0
