"""Home first: what a local model can answer goes there; the owner is told what did not."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from proxy.config import Config, RouteSettings
from proxy.demo.files import nsec
from proxy.demo.upstream import Fault, Recorded, Reply
from proxy.local import home
from tests.scenes import bodies
from tests.scenes.hearth import SAID, Home, at_home, words
from tests.scenes.staging import whole

PATHS = bodies.PATHS


def body(dialect: str, **more: Any) -> dict[str, Any]:
    asked: dict[str, Any] = getattr(bodies, dialect)("nothing special")
    return {**asked, "stream": False, **more}


async def told(stage: Home) -> dict[str, int]:
    await stage.node.parts.owner.recorder.flush()
    await stage.node.parts.owner.recorder.flush()
    return dict(await stage.node.parts.store.counters())


@pytest.mark.parametrize("dialect", PATHS)
async def test_what_home_can_answer_goes_home(dialect: str) -> None:
    """Nothing was found, nothing is said; the next request may go wherever it is sent."""
    async with at_home(prefer="local") as stage:
        for _ in range(2):
            answer = await stage.post(PATHS[dialect], body(dialect))
            assert (answer.status, SAID.encode() in answer.body) == (200, True)
            assert answer.headers["x-transom-leg"] == "local"
            assert "x-transom-notice" not in answer.headers
        assert stage.upstream.accepted == 0
        assert (await told(stage))["requests"] == 2
        assert not stage.events("egress_diverted")
        assert not stage.node.parts.hearth.marks.any


async def test_a_route_may_prefer_home_and_another_not() -> None:
    """First match wins, as for all that routes say."""

    def change(config: Config) -> Config:
        routes = (
            RouteSettings("some-*", "", "", "away", prefer="local"),
            RouteSettings("", "", "", "away", prefer="cloud"),
        )
        return replace(config, routes=routes)

    async with at_home(change=change) as stage:
        first = await stage.post("/v1/messages", body("anthropic_messages"))
        other = await stage.post("/v1/messages", body("anthropic_messages", model="big"))
        assert (first.headers["x-transom-leg"], other.headers["x-transom-leg"]) == (
            "local",
            "cloud",
        )


IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
}


@pytest.mark.parametrize(
    ("shown", "more", "why"),
    [
        ({"capabilities": ["completion"]}, {}, "tools"),
        ({}, {"messages": [{"role": "user", "content": [IMAGE]}]}, "images"),
        ({}, {"system": "long words " * 20_000}, "home-context-too-small"),
    ],
)
async def test_what_home_cannot_answer_goes_to_the_cloud_and_is_told(
    shown: dict[str, Any], more: dict[str, Any], why: str
) -> None:
    """Once in the audit for each run, one notice, a counter for every time."""
    async with at_home(prefer="local", **shown) as stage:
        for _ in range(2):
            answer = await stage.post("/v1/messages", body("anthropic_messages", **more))
            assert answer.headers["x-transom-leg"] == "cloud"
            assert answer.headers["x-transom-notice"] == "cloud-while-home-up"
        assert (len(stage.asked), len(stage.upstream.requests)) == (0, 2)
        assert (await told(stage))["cloud_escalation_while_local_up"] == 2
        rows = await stage.node.parts.store.audit()
        assert [row.times for row in rows if f"why={why}" in row.value] == [2]
        (notice,) = await stage.node.parts.store.notices()
        assert (notice.code, notice.facts["why"]) == ("cloud-while-home-up", why)


async def test_a_home_that_is_down_is_no_escalation() -> None:
    """The cloud is asked, and nobody could have known better."""
    async with at_home(script=lambda _: Fault.RESET, prefer="local") as stage:
        answer = await stage.post("/v1/messages", body("anthropic_messages"))
        assert answer.headers["x-transom-leg"] == "cloud"
        assert "x-transom-notice" not in answer.headers
        assert "cloud_escalation_while_local_up" not in await told(stage)


async def test_a_home_that_fails_or_is_busy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is up."""
    async with at_home(Reply.of({"error": "out of memory"}, 500), prefer="local") as stage:
        answer = await stage.post("/v1/messages", body("anthropic_messages"))
        assert answer.headers["x-transom-notice"] == "cloud-while-home-up"
    monkeypatch.setattr(home, "SEATS", 0)
    async with at_home(prefer="local") as stage:
        answer = await stage.post("/v1/messages", body("anthropic_messages"))
        assert answer.headers["x-transom-notice"] == "cloud-while-home-up"


async def test_what_must_not_leave_does_not_leave_either_way() -> None:
    """Home fails, the cloud is the escalation, and the screen stands before it."""
    asked: dict[str, Any] = bodies.anthropic_messages(f"key = {nsec()}")
    async with at_home(Reply.of({"error": "out of memory"}, 500), prefer="local") as stage:
        answer = await stage.post("/v1/messages", asked)
        assert (answer.status, answer.headers["x-transom-notice"]) == (503, "home-unavailable")
        assert stage.upstream.accepted == 0


async def test_a_home_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not even tell about its model is down."""
    monkeypatch.setattr(home, "UP", 0.1)
    async with at_home(script=lambda _: Fault.STALL, prefer="local") as stage:
        async with asyncio.timeout(5):
            answer = await stage.post("/v1/messages", body("anthropic_messages"))
        assert answer.headers["x-transom-leg"] == "cloud"


async def test_counts_stay_home_too() -> None:
    """An estimate, as the model at home is the one that reads."""
    asked = body("anthropic_messages")
    del asked["stream"]
    async with at_home(words(), prefer="local") as stage:
        answer = await stage.post("/v1/messages/count_tokens", asked)
        assert answer.json()["input_tokens"] > 10
        assert stage.upstream.accepted == 0


async def test_what_a_cloud_holds_is_counted_there() -> None:
    """Home has not all of it, so the cloud is asked, as far as it may leave."""

    def script(recorded: Recorded) -> Reply:
        if recorded.path == "/v1/responses":
            return Reply.of({"id": "resp_0123456789abcdef", "object": "response", "output": []})
        return Reply.of({"object": "response.input_tokens", "input_tokens": 7})

    asked = {"model": "m", "input": "Go on."}
    async with at_home(cloud=script, change=whole) as stage:
        await stage.post("/v1/responses", asked)
        config = stage.node.config
        first = replace(config, fallback=replace(config.fallback, prefer="local"))
        await stage.node.reload(first)
        held = {**asked, "previous_response_id": "resp_0123456789abcdef"}
        answer = await stage.post("/v1/responses/input_tokens", held)
        assert (answer.json()["input_tokens"], answer.headers["x-transom-leg"]) == (7, "cloud")
        strange = {**asked, "previous_response_id": "resp_of_somebody_else"}
        answer = await stage.post("/v1/responses/input_tokens", strange)
        assert answer.headers["x-transom-notice"] == "egress-ambiguous"
        assert len(stage.upstream.requests) == 2
