"""Rates over a real node: who is slowed, who is not, and what the caller reads."""

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from policies.decision import Leg
from proxy.config import Config
from proxy.config.kinds import Rate
from proxy.state.base import StateError
from tests.scenes.bodies import BODIES, PATHS
from tests.scenes.staging import Heard, Stage, staged

SESSION = {"x-claude-code-session-id": "one"}
LIMIT = 4


def limited(soft: int = LIMIT, hard: int = LIMIT) -> Callable[[Config], Config]:
    rates = Rate(soft, 600.0), Rate(hard, 600.0)
    return lambda config: replace(config, requests=rates)


def turns(dialect: str) -> Iterator[dict[str, Any]]:
    number = 0
    while True:
        number += 1
        yield BODIES[dialect](f"result {number}")


async def post(stage: Stage, dialect: str, body: dict[str, Any], **headers: str) -> Heard:
    return await stage.post(PATHS[dialect], body, {**SESSION, **headers})


@pytest.mark.parametrize("dialect", PATHS)
async def test_beyond_the_hard_rate_nothing_is_sent_and_the_words_are_plain(dialect: str) -> None:
    """429 in the caller's dialect, with a time to wait, and no connection for it."""
    async with staged(change=limited()) as stage:
        bodies = turns(dialect)
        answers = [await post(stage, dialect, next(bodies)) for _ in range(LIMIT + 2)]
        assert [answer.status for answer in answers] == [200] * LIMIT + [429] * 2
        assert len(stage.upstream.requests) == LIMIT
        refused = answers[-1]
        assert refused.headers["x-transom-notice"] == "rate-hard"
        assert 1 <= int(refused.headers["retry-after"]) <= 120
        assert "x-should-retry" not in refused.headers
        assert "x-transom-leg" not in refused.headers
        assert "[rate-hard] This session sends too many requests: more than 4 in 10 minutes." in (
            refused.body.decode()
        )


async def test_the_soft_rate_holds_nothing_up_and_is_told_once() -> None:
    """The answer says so, and the owner gets one notice, not one for each request."""
    async with staged(change=limited(soft=2, hard=100)) as stage:
        bodies = turns("anthropic_messages")
        answers = [await post(stage, "anthropic_messages", next(bodies)) for _ in range(5)]
        assert [answer.headers.get("x-transom-notice") for answer in answers] == (
            [None] * 2 + ["rate-soft"] * 3
        )
        await stage.node.parts.owner.recorder.flush()
        (notice,) = await stage.node.parts.store.notices()
        assert (notice.code, dict(notice.facts)) == (
            "rate-soft",
            {"rate": "more than 2 in 10 minutes"},
        )
        assert [line["notice"] for line in stage.events("notice")] == ["rate-soft"]


async def test_other_sessions_and_other_endpoints_are_not_slowed() -> None:
    """Counting tokens, models, probes and another session go on."""
    async with staged(change=limited(1, 1)) as stage:
        bodies = turns("anthropic_messages")
        body = next(bodies)
        assert (await post(stage, "anthropic_messages", body)).status == 200
        assert (await post(stage, "anthropic_messages", next(bodies))).status == 429
        for _ in range(3):
            count = {name: body[name] for name in ("model", "messages", "tools")}
            answer = await stage.post("/v1/messages/count_tokens", count, SESSION)
            assert answer.status == 200
            assert (await stage.post("/v1/models", b"", SESSION, method="GET")).status == 200
            assert (await stage.post("/api/hello", b"", SESSION, method="HEAD")).status == 200
            embed = {"model": "m", "input": "x"}
            assert (await stage.post("/v1/embeddings", embed, SESSION)).status == 200
        other = await stage.post(
            PATHS["anthropic_messages"], next(bodies), {"x-claude-code-session-id": "two"}
        )
        assert other.status == 200


async def test_reposts_are_not_counted() -> None:
    """The same messages again, other fields dropped, as clients do when something failed."""
    async with staged(change=limited(2, 2)) as stage:
        body = BODIES["anthropic_messages"]("result")
        for number in range(8):
            again = {**body, "max_tokens": 10 + number}
            assert (await post(stage, "anthropic_messages", again)).status == 200
        bodies = turns("anthropic_messages")
        assert (await post(stage, "anthropic_messages", next(bodies))).status == 200
        assert (await post(stage, "anthropic_messages", next(bodies))).status == 429


async def test_a_conversation_without_a_name_is_a_session_of_its_own() -> None:
    """Where no header names the session, the conversation does."""
    async with staged(change=limited(1, 1)) as stage:
        path = PATHS["openai_chat"]

        def said(*words: str) -> dict[str, Any]:
            return {"model": "m", "messages": [{"role": "user", "content": w} for w in words]}

        assert (await stage.post(path, said("a"))).status == 200
        assert (await stage.post(path, said("b"))).status == 200
        follow = [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c"},
        ]
        assert (await stage.post(path, {"model": "m", "messages": follow})).status == 429


async def test_a_hundred_at_once_get_exactly_the_hard_rate() -> None:
    """Over sockets, all at the same moment."""
    async with staged(change=limited(1000, 37)) as stage:
        bodies = turns("anthropic_messages")
        posts = [post(stage, "anthropic_messages", next(bodies)) for _ in range(100)]
        statuses = [answer.status for answer in await asyncio.gather(*posts)]
        assert (statuses.count(200), statuses.count(429)) == (37, 63)


@pytest.mark.parametrize("leg", Leg)
async def test_a_limiter_that_is_down_stops_clouds_alone(
    leg: Leg, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cloud is refused and nothing is sent; home goes on, and it is counted."""

    async def down(*_: object, **__: object) -> object:
        raise StateError("down")

    async with staged(leg=leg) as stage:
        monkeypatch.setattr(type(stage.node.parts.store), "take", down)
        answer = await post(stage, "anthropic_messages", BODIES["anthropic_messages"]("x"))
        if leg is Leg.CLOUD:
            assert answer.headers["x-transom-notice"] == "state-unavailable"
            assert stage.upstream.accepted == 0
        else:
            assert answer.status == 200
            await stage.node.parts.owner.recorder.flush()
            assert (await stage.node.parts.store.counters())["rate-unknown"] == 1


async def test_a_node_speaks_to_configured_upstreams_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whatever is counted, told and refused: no socket leads anywhere else."""
    reached: set[object] = set()
    real = asyncio.get_running_loop().sock_connect

    async def connect(sock: socket.socket, address: object) -> None:
        reached.add(address)
        await real(sock, address)

    monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", connect)
    plain = socket.socket.connect

    def connects(self: socket.socket, address: Any) -> None:
        reached.add(address)
        plain(self, address)

    monkeypatch.setattr(socket.socket, "connect", connects)
    async with staged(change=limited(2, 3)) as stage:
        for dialect, path in PATHS.items():
            for body in (BODIES[dialect]("x"), {"model": "m"}, {"nonsense": 1}):
                await stage.post(path, body, SESSION)
        await stage.node.parts.owner.recorder.flush()
        assert dict(await stage.node.parts.store.counters())
        ours = {stage.node.parts.listener.port, int(stage.upstream.url.rpartition(":")[2])}
    ports = {address[1] for address in reached if isinstance(address, tuple)}
    assert ports, "the recorder is blind"
    assert ports <= ours
    assert all(address[0] == "127.0.0.1" for address in reached if isinstance(address, tuple))


def test_the_bodies_of_turns_differ() -> None:
    """Else every request here would be a re-post."""
    bodies = turns("openai_chat")
    assert json.dumps(next(bodies)) != json.dumps(next(bodies))
