"""Loops end at home as they do before a cloud: told, answered without tools, then by no model."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from proxy.demo.agents import NAMES, Setup, opened
from proxy.demo.files import nsec
from proxy.demo.upstream import Recorded, Reply
from tests.scenes import bodies
from tests.scenes.bodies import PATHS
from tests.scenes.hearth import SAID, Home, at_home, calls, words
from tests.scenes.test_fallback import text_of
from tests.scenes.test_home_waiting import whole
from tests.scenes.test_loops import AGENTS, tools_off, with_limits
from tests.scenes.turns import TURNS, one

DIALECTS = pytest.mark.parametrize("dialect", PATHS)
STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
WAYS = pytest.mark.parametrize("prefer", ["cloud", "local"])


def rounds(dialect: str, count: int, prefer: str, *, stream: bool) -> dict[str, Any]:
    """A turn that goes round, which home answers: it may not leave, or home is preferred."""
    found = f"the same {nsec() if prefer == 'cloud' else ''}"
    body: dict[str, Any] = TURNS[dialect]([one("read_file", "a", found)] * count)
    return {**body, "model": bodies.MODEL, "stream": stream}


async def counters(stage: Home) -> dict[str, int]:
    await stage.node.parts.owner.recorder.flush()
    return dict(await stage.node.parts.store.counters())


@DIALECTS
@STREAMS
@WAYS
async def test_a_loop_at_home_is_told_then_forced_then_ended(
    dialect: str, stream: bool, prefer: str
) -> None:
    """Eight times the same: home is asked without tools, and the answer says why. From the ninth on
    nobody is asked. No byte of it reaches the cloud, and what ended it is counted once."""
    async with at_home(prefer=prefer) as stage:
        for count in range(4, 10):
            body = rounds(dialect, count, prefer, stream=stream)
            answer = await stage.post(PATHS[dialect], body)
            assert answer.status == 200
            said = text_of(dialect, answer, stream=stream)
            notice = answer.headers.get("x-transom-notice")
            assert (notice == "read-loop") is (count >= 8), (count, notice)
            if count < 9:
                assert said == SAID
                assert answer.headers["x-transom-leg"] == "local"
                assert bool(stage.asked[-1].get("tools")) is (count < 8)
            else:
                assert said.startswith("[read-loop]")
                assert "x-transom-leg" not in answer.headers
        assert len(stage.asked) == 5
        assert stage.upstream.accepted == 0
        counted = await counters(stage)
    assert (counted.get("read-loop-soft"), counted.get("read-loop")) == (1, 1)


SPOKEN = ("anthropic_messages", "openai_chat", "openai_responses")


@pytest.mark.parametrize("dialect", SPOKEN)
@WAYS
async def test_a_server_at_home_that_speaks_the_dialect_is_asked_without_tools(
    dialect: str, prefer: str
) -> None:
    """In the words of its dialect, tools declared as they were; and then not any more."""
    family = "anthropic" if dialect == "anthropic_messages" else "openai"
    async with at_home(script=lambda _: whole(dialect), speaks=[family], prefer=prefer) as stage:
        for count in (7, 8, 9):
            body = rounds(dialect, count, prefer, stream=False)
            answer = await stage.post(PATHS[dialect], body)
            assert (answer.headers.get("x-transom-notice") == "read-loop") is (count >= 8)
        sent = [r.json() for r in stage.home.requests if r.path == PATHS[dialect]]
        assert [tools_off(dialect, each) for each in sent] == [False, True]
        assert stage.upstream.accepted == 0


@DIALECTS
@WAYS
async def test_a_loop_at_home_ends_with_an_error_where_that_is_set(
    dialect: str, prefer: str
) -> None:
    """In the caller's dialect, once; and nobody is asked."""
    async with at_home(prefer=prefer, change=with_limits(style="error")) as stage:
        body = rounds(dialect, 9, prefer, stream=False)
        answer = await stage.post(PATHS[dialect], body)
        assert (answer.status, answer.headers["x-transom-notice"]) == (400, "read-loop")
        assert answer.headers["x-should-retry"] == "false"
        assert b"[read-loop]" in answer.body
        assert (stage.asked, stage.upstream.accepted) == ([], 0)
        await stage.node.parts.owner.recorder.flush()
        (row,) = await stage.node.parts.store.audit()
        value = json.loads(row.value)
        assert (value["event"], value["leg_asked"]) == ("refused", "cloud")


def endless(*, stubborn: bool) -> Callable[[Recorded], Reply]:
    """A model at home that calls as long as it has tools; a stubborn one also without any."""

    def answer(recorded: Recorded) -> Reply:
        return calls("read_file") if stubborn or recorded.json().get("tools") else words()

    return answer


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents that would go on for long."""
    for agent in AGENTS:
        monkeypatch.setattr(agent, "ROUNDS", 200)


@pytest.mark.parametrize("name", NAMES)
@STREAMS
@WAYS
async def test_real_agents_end_by_themselves_on_what_home_says_without_tools(
    name: str, stream: bool, prefer: str
) -> None:
    """The SDK reads the forced answer as any other, and its agent is done."""
    async with at_home(endless(stubborn=False), prefer=prefer) as stage:
        setup = Setup(stage.node.url, "demo:1b", stream, {"a": "the same"})
        async with opened(name, setup) as agent:
            assert await agent.ask(question(prefer)) == SAID
        assert (len(setup.sent), len(stage.asked)) == (9, 9)
        assert stage.upstream.accepted == 0


@pytest.mark.parametrize("name", NAMES)
@STREAMS
async def test_real_agents_end_where_a_model_calls_without_tools(name: str, stream: bool) -> None:
    """What it calls all the same no client can carry out, so it is text, and the turn ends."""
    async with at_home(endless(stubborn=True)) as stage:
        setup = Setup(stage.node.url, "demo:1b", stream, {"a": "the same"})
        async with opened(name, setup) as agent:
            said = await agent.ask(question("cloud"))
            assert "no such call can be made: read_file" in said
        assert (len(setup.sent), len(stage.asked)) == (9, 9)
        assert stage.upstream.accepted == 0


def question(prefer: str) -> str:
    return f"What is in a? {nsec() if prefer == 'cloud' else ''}"
