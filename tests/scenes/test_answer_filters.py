"""Filters of answers through a node: undeclared calls dropped, calls held, streams kept alive."""

from collections.abc import Callable, Container
from dataclasses import replace
from typing import Any

import pytest

from policies.decision import Leg
from policies.settings import Answers
from proxy import filtering, watched
from proxy.config import Config
from proxy.demo.upstream import Recorded, Reply
from proxy.dialects import ALL, Dialect
from proxy.filtering import Filter
from tests.proxy.holding import hold_tool_call
from tests.proxy.undeclared.test_undeclared import DIALECTS, EACH, kind_of, raw
from tests.scenes.bodies import BODIES, PATHS
from tests.scenes.staging import staged

TYPES = {"sse": "text/event-stream", "ndjson": "application/x-ndjson"}


def dropping(config: Config) -> Config:
    return replace(config, policies=replace(config.policies, answers=Answers(True)))


def streaming(dialect: str, data: bytes) -> Callable[[Recorded], Reply]:
    def script(request: Recorded) -> Reply:
        if request.path == "/api/show":
            return Reply.of({"ok": True})
        half = len(data) // 2
        return Reply.stream([data[:half], data[half:]], TYPES[kind_of(dialect)])

    return script


def asking(dialect: str) -> dict[str, Any]:
    return {**BODIES[dialect]("fine"), "stream": True}


@pytest.mark.parametrize(("dialect", "story"), EACH)
@pytest.mark.parametrize("leg", Leg)
async def test_undeclared_calls_are_dropped_where_that_is_set(
    dialect: str, story: str, leg: Leg
) -> None:
    """The golden stream arrives, and each call is in the log; without the setting, every byte."""
    script = streaming(dialect, raw(dialect, story))
    async with staged(script, leg, dropping) as stage:
        answer = await stage.post(PATHS[dialect], asking(dialect))
        assert answer.body == raw(dialect, story, ".dropped")
        told = [line for line in stage.events("notice") if line["notice"] == "tool-refused"]
        assert len(told) == (2 if story == "mixed" else 1)
    async with staged(script, leg) as stage:
        assert (await stage.post(PATHS[dialect], asking(dialect))).body == raw(dialect, story)


@pytest.mark.parametrize("path", ["/v1/messages/count_tokens", "/v1/embeddings"])
async def test_only_answers_of_models_are_looked_at(path: str) -> None:
    """A count has no calls, and an error is no answer."""
    body = BODIES["anthropic_messages"]("fine") if "count" in path else {"input": "x", "model": "m"}
    async with staged(lambda request: Reply.of([1]), change=dropping) as stage:
        assert (await stage.post(path, body)).body == b"[1]"


async def test_an_error_of_the_upstream_passes() -> None:
    """As it came, whatever it says."""
    odd = Reply(400, (("content-type", "application/json"),), (b'{"a":1,"a":2}',))
    async with staged(lambda request: odd, change=dropping) as stage:
        answer = await stage.post(PATHS["openai_chat"], BODIES["openai_chat"]("fine"))
        assert (answer.status, answer.body) == (400, b'{"a":1,"a":2}')


async def test_an_answer_that_cannot_be_read_for_certain_is_an_error() -> None:
    """Whole: a typed refusal; streamed: the dialect's error ends it."""
    odd = Reply(200, (("content-type", "application/json"),), (b'{"a":1,"a":2}',))
    async with staged(lambda request: odd, change=dropping) as stage:
        answer = await stage.post(PATHS["openai_chat"], BODIES["openai_chat"]("fine"))
        assert answer.status == 503
    data = b'data: {"choices":[]}\n\ndata: {"a":1,"a":2}\n\n'
    async with staged(streaming("openai_chat", data), change=dropping) as stage:
        answer = await stage.post(PATHS["openai_chat"], asking("openai_chat"))
        assert answer.body.startswith(b'data: {"choices":[]}\n\ndata: {"error"')


def holding(seconds: float) -> Callable[..., Filter]:
    def made(dialect: Dialect, declared: Container[str], **how: Any) -> Filter:
        return hold_tool_call(seconds)

    return made


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_call_that_is_held_keeps_its_client(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text is there, signs of life follow, then the call; every byte of the stream is there."""
    monkeypatch.setattr(filtering, "QUIET", 0.02)
    monkeypatch.setattr(watched, "drop_undeclared_call", holding(0.1))
    data, sign = raw(dialect, "mixed"), ALL[dialect].keep_alive()
    async with staged(streaming(dialect, data), change=dropping) as stage:
        answer = await stage.post(PATHS[dialect], asking(dialect))
    assert answer.body.count(sign) - data.count(sign) >= 2
    signs = answer.body.index(sign * 2)
    before, after = answer.body[:signs], answer.body[signs:]
    while after.startswith(sign):
        after = after.removeprefix(sign)
    assert before + after == data


async def test_what_is_declared_elsewhere_is_not_dropped() -> None:
    """A request that leans on state of the upstream may have declared its tools there."""
    data = raw("openai_responses", "mixed")
    async with staged(streaming("openai_responses", data), Leg.LOCAL, dropping) as stage:
        body = {**asking("openai_responses"), "previous_response_id": "resp_1"}
        assert (await stage.post(PATHS["openai_responses"], body)).body == data


async def test_a_dropped_call_counts_as_a_refused_one() -> None:
    """As it does where it is passed on and only seen."""
    kinds = []
    for change in (dropping, lambda config: config):
        data = raw("openai_chat", "only")
        async with staged(streaming("openai_chat", data), change=change) as stage:
            recorder = stage.node.parts.owner.recorder
            happened = recorder.happened
            seen: list[str] = []

            def spy(kind: str, *rest: Any, seen: list[str] = seen, real: Any = happened) -> Any:
                seen.append(kind)
                return real(kind, *rest)

            recorder.happened = spy  # type: ignore[method-assign]
            await stage.post(PATHS["openai_chat"], asking("openai_chat"))
            kinds.append(seen)
    assert kinds[0] == kinds[1]
    assert "call-refused" in kinds[0]
