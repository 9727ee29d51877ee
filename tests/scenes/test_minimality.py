"""What leaves is the current turn: canaries of earlier turns never reach the socket."""

import json
from dataclasses import replace
from typing import Any

import pytest

from policies.decision import Leg
from policies.settings import Minimality
from policies.turn_minimal import allowlist, assert_turn_minimal
from proxy.config import Config, RouteSettings
from tests.scenes.bodies import BODIES, PATHS, secret
from tests.scenes.hearth import at_home, words
from tests.scenes.staging import staged
from tests.strict.house import Change

CUTS = [(mode, strategy) for mode in ("strict", "dialogue") for strategy in ("drop", "elide")]


def minimal(mode: str, strategy: str = "drop", cap: int = 0) -> Change:
    """A node that shows no more than that."""
    settings = Minimality(mode, strategy, cap)  # type: ignore[arg-type]
    return lambda config: replace(config, policies=replace(config.policies, minimality=settings))


def turned(dialect: str, *results: str) -> dict[str, Any]:
    """A turn for each result, and a new one that has asked nothing yet."""
    body = BODIES[dialect](results[0], after=True)
    key = "input" if dialect == "openai_responses" else "messages"
    for result in results[1:]:
        text = json.dumps(BODIES[dialect](result, after=True)[key][1:])
        body[key] += json.loads(text.replace("_1", f"_{len(body[key])}"))
    return body


@pytest.mark.parametrize(("mode", "strategy"), CUTS)
@pytest.mark.parametrize("dialect", PATHS)
async def test_unrelated_context_is_not_escalated_to_cloud(
    dialect: str, mode: str, strategy: str
) -> None:
    """What another turn found is not in one byte that arrives; what this one found is."""
    async with staged(change=minimal(mode, strategy)) as stage:
        body = turned(dialect, "canary-of-the-attic", "canary-of-the-cellar")
        assert (await stage.post(PATHS[dialect], body)).status == 200
        assert_turn_minimal(
            json.loads(stage.upstream.requests[-1].body), allowlist(body, mode, strategy)
        )
        answered = BODIES[dialect]("found in this very turn")
        assert (await stage.post(PATHS[dialect], answered)).status == 200
        arrived = b"".join(stage.upstream.received)
        assert b"canary-of" not in arrived
        assert b"found in this very turn" in arrived


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_call_that_is_made_again_as_the_notice_advises_is_no_loop(dialect: str) -> None:
    """The same call with the same result in each of nine turns: a turn counts its own (X-11)."""
    body = turned(dialect, *["found in the attic"] * 9)
    key = "input" if dialect == "openai_responses" else "messages"
    again = json.dumps(BODIES[dialect]("found in the attic")[key][1:])
    body[key] += json.loads(again.replace("_1", "_last"))
    async with staged() as stage:
        answer = await stage.post(PATHS[dialect], body)
        arrived = stage.upstream.requests[-1].body
        assert b"call the tool again" in arrived
        assert arrived.count(b"found in the attic") == 1
        assert answer.headers.get("x-transom-notice", "") in ("", "adopted")
        await stage.node.parts.owner.recorder.flush()
        assert not {"read-loop", "read-loop-soft"} & set(await stage.node.parts.store.counters())


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_secret_in_another_turn_neither_leaves_nor_keeps_anything_home(
    dialect: str,
) -> None:
    """What stays here is not read: the turn goes, and not a byte of the secret does."""
    for mode in ("strict", "dialogue"):
        async with staged(change=minimal(mode)) as stage:
            answer = await stage.post(PATHS[dialect], turned(dialect, f"KEY={secret()}"))
            assert answer.status == 200, answer.body
            assert secret().encode() not in b"".join(stage.upstream.received)
    async with staged(change=minimal("dialogue")) as stage:
        answer = await stage.post(PATHS[dialect], BODIES[dialect](f"KEY={secret()}"))
        assert answer.headers["x-transom-notice"] == "egress-blocked"
        assert stage.upstream.accepted == 0


@pytest.mark.parametrize(("mode", "strategy"), CUTS)
async def test_fields_that_nobody_knows_beside_a_call_do_not_leave(
    mode: str, strategy: str
) -> None:
    """They are left out, and what is exchanged is exchanged once."""
    call = {
        "type": "custom_tool_call",
        "call_id": "c1",
        "name": "read_file",
        **dict.fromkeys(("input", "output", "arguments", "result", "data"), "canary-of-the-attic"),
    }
    found = {"type": "custom_tool_call_output", "call_id": "c1", "output": "canary-of-the-cellar"}
    body = BODIES["openai_responses"]("nothing", after=True)
    body["input"][1:1] = [call, found]
    async with staged(change=minimal(mode, strategy)) as stage:
        answer = await stage.post(PATHS["openai_responses"], body)
        assert answer.status == 200, answer.body
        sent = json.loads(stage.upstream.requests[-1].body)
        assert_turn_minimal(sent, allowlist(body, mode, strategy))
        assert b"canary-of" not in b"".join(stage.upstream.received)


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_wide_route_does_not_widen_a_narrow_one(dialect: str) -> None:
    """Within one turn a client goes on with a model whose route shows less: it is shown less, and
    the wide one goes on as it began."""

    def change(config: Config) -> Config:
        routes = (
            RouteSettings("wide", "", "", "only", "off"),
            RouteSettings("narrow", "", "", "only", "strict"),
        )
        return replace(config, routes=routes)

    body = turned(dialect, "canary-of-the-attic", "canary-of-the-cellar")
    async with staged(change=change) as stage:
        for model in ("wide", "narrow", "wide", "narrow"):
            assert (await stage.post(PATHS[dialect], {**body, "model": model})).status == 200
        first, second, third, fourth = (each.body for each in stage.upstream.requests)
        assert (b"canary-of" in first, first) == (True, third)
        assert (b"canary-of" in second, second) == (False, fourth)


async def test_a_secret_in_what_was_said_stays_home() -> None:
    """Words of earlier turns leave in dialogue, so they are read."""
    body = turned("openai_chat", "nothing")
    body["messages"][0]["content"] = f"My key is {secret()}."
    async with staged(change=minimal("dialogue")) as stage:
        answer = await stage.post(PATHS["openai_chat"], body)
        assert answer.headers["x-transom-notice"] == "egress-blocked"
        assert stage.upstream.accepted == 0
    async with staged(change=minimal("strict")) as stage:
        assert (await stage.post(PATHS["openai_chat"], body)).status == 200
        assert secret().encode() not in b"".join(stage.upstream.received)


@pytest.mark.parametrize("dialect", PATHS)
async def test_nothing_is_cut_at_home(dialect: str) -> None:
    """A local model gets the whole history, whatever the mode."""
    body = turned(dialect, "first", "second")
    async with staged(leg=Leg.LOCAL, change=minimal("strict")) as stage:
        assert (await stage.post(PATHS[dialect], body)).status == 200
        arrived = stage.upstream.requests[-1].json()
        key = "input" if dialect == "openai_responses" else "messages"
        assert len(arrived[key]) >= len(body[key])
        assert "[dropped history" not in json.dumps(arrived)


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_turn_that_went_on_at_home_is_cut_for_the_cloud(dialect: str) -> None:
    """That a model at home was shown everything opens nothing for another one."""

    def change(config: Config) -> Config:
        config = minimal("strict")(config)
        (cloud,) = config.upstreams
        home = replace(cloud, name="home", leg=Leg.LOCAL)
        route = RouteSettings("at-home", "", "", "home")
        return replace(config, upstreams=(cloud, home), routes=(route,))

    body = turned(dialect, "canary-of-the-attic")
    async with staged(change=change) as stage:
        at_home = await stage.post(PATHS[dialect], {**body, "model": "at-home"})
        assert at_home.headers["x-transom-leg"] == "local", at_home.body
        seen = len(stage.upstream.received)
        key = "input" if dialect == "openai_responses" else "messages"
        later = json.loads(json.dumps(BODIES[dialect]("new finding")).replace("_1", "_9"))
        body[key] += later[key][1:]
        assert (await stage.post(PATHS[dialect], body)).headers["x-transom-leg"] == "cloud"
        arrived = b"".join(stage.upstream.received[seen:])
        assert b"canary-of" not in arrived
        assert b"new finding" in arrived


@pytest.mark.parametrize("mode", ["strict", "dialogue", "off"])
async def test_a_talk_that_is_folded_into_token_ids_does_not_leave(mode: str) -> None:
    """Of `context` nobody can show that it is this turn alone; without it, or with nothing in it,
    the text leaves."""
    body = {"model": "m", "prompt": "And now?", "context": [1, 2, 3]}
    async with staged(change=minimal(mode)) as stage:
        answer = await stage.post("/api/generate", body)
        held = mode != "off"
        assert answer.headers.get("x-transom-notice", "") == ("not-minimal" if held else "")
        assert stage.upstream.accepted == (0 if held else 1)
        for empty in ({}, {"context": []}, {"context": None}):
            answer = await stage.post(
                "/api/generate", {"model": "m", "prompt": "And now?", **empty}
            )
            assert answer.status == 200, answer.body


@pytest.mark.parametrize("mode", ["strict", "dialogue"])
@pytest.mark.parametrize("dialect", PATHS)
async def test_with_the_strategy_home_nothing_is_cut(dialect: str, mode: str) -> None:
    """The first turn leaves as it came. What another turn found keeps the next ones home, where the
    model sees all of it; that is written down, and what home says stays there as well."""
    said = "What home has made of the attic stays at home."
    async with at_home(words(said), change=minimal(mode, "home")) as stage:
        first = BODIES[dialect]("canary-of-the-attic")
        answer = await stage.post(PATHS[dialect], first)
        assert answer.headers["x-transom-leg"] == "cloud"
        body = {**turned(dialect, "canary-of-the-attic"), "stream": False}
        answer = await stage.post(PATHS[dialect], body)
        assert (answer.status, answer.headers["x-transom-leg"]) == (200, "local")
        assert answer.headers["x-transom-notice"] == "not-minimal"
        assert b"canary-of-the-attic" in stage.home.requests[-1].body
        key = "input" if dialect == "openai_responses" else "messages"
        body[key] += [{"role": "assistant", "content": said}, {"role": "user", "content": "Go on."}]
        answer = await stage.post(PATHS[dialect], body)
        assert answer.headers["x-transom-leg"] == "local"
        assert len(stage.upstream.requests) == 1
        assert said.encode() not in b"".join(stage.upstream.received)
        await stage.node.parts.owner.recorder.flush()
        rows = [json.loads(row.value) for row in await stage.node.parts.store.audit()]
    assert ("diverted", "not-minimal") in [(row["event"], row["notice"]) for row in rows]


async def test_with_the_strategy_home_and_no_home_it_is_refused() -> None:
    """Nobody answers in its place."""
    async with staged(change=minimal("dialogue", "home")) as stage:
        body = turned("openai_chat", "canary-of-the-attic")
        answer = await stage.post(PATHS["openai_chat"], body)
        assert (answer.status, answer.headers["x-transom-notice"]) == (400, "not-minimal")
        assert stage.upstream.accepted == 0


async def test_more_than_the_cap_stays_home() -> None:
    """The oldest words go first; a turn that is too long by itself does not leave."""
    body = turned("openai_chat", "x", "y")
    size = sum(len(json.dumps(message)) for message in body["messages"]) + 200
    async with staged(change=minimal("dialogue", cap=size)) as stage:
        body["messages"][0]["content"] = "a" * size
        assert (await stage.post(PATHS["openai_chat"], body)).status == 200
        assert b"aaaa" not in b"".join(stage.upstream.received)
        body["messages"][-1]["content"] = "b" * size
        answer = await stage.post(PATHS["openai_chat"], body)
        assert (answer.status, answer.headers["x-transom-notice"]) == (400, "not-minimal")
        assert b"bbbb" not in b"".join(stage.upstream.received)


HELD: dict[str, tuple[str, dict[str, Any]]] = {
    "previous_response_id": ("openai_responses", {"previous_response_id": "resp_1"}),
    "conversation": ("openai_responses", {"conversation": {"id": "conv_1"}}),
    "prompt": ("openai_responses", {"prompt": {"id": "pmpt_1"}}),
    "container": ("anthropic_messages", {"container": "container_1"}),
    "thread": (
        "anthropic_messages",
        {"thread": {"type": "continue", "previous_message_id": "msg_1"}},
    ),
}


@pytest.mark.parametrize("held", HELD)
@pytest.mark.parametrize("watched", ["refuse", "observe"])
async def test_state_that_an_upstream_holds_does_not_leave(held: str, watched: str) -> None:
    """Not even where the owner only watches: nobody can say that it is this turn alone. Where there
    is a code at which clients send everything themselves, the answer has it."""
    dialect, more = HELD[held]

    def change(config: Any) -> Any:
        config = minimal("dialogue")(config)
        egress = replace(config.policies.egress, on_hit=watched)
        return replace(config, policies=replace(config.policies, egress=egress))

    async with staged(change=change) as stage:
        answer = await stage.post(PATHS[dialect], {**BODIES[dialect]("fine"), **more})
        assert answer.status == 400
        code = "not-minimal" if watched == "observe" else "egress-ambiguous"
        assert answer.headers["x-transom-notice"] == code
        assert stage.upstream.accepted == 0
        detail = answer.json()["error"].get("details")
        assert detail == (
            {"error_code": "thread_unsupported_request"} if held == "thread" else None
        )


async def test_state_of_another_turn_is_cut_away_with_it() -> None:
    """A file that an earlier message leaned on keeps the present one from nothing."""
    body = turned("anthropic_messages", "fine")
    file = {"type": "image", "source": {"type": "file", "file_id": "file_1"}}
    body["messages"][0]["content"] = [{"type": "text", "text": "Look."}, file]
    async with staged(change=minimal("dialogue")) as stage:
        assert (await stage.post(PATHS["anthropic_messages"], body)).status == 200
        assert b"file_1" not in b"".join(stage.upstream.received)
    async with staged(change=minimal("off")) as stage:
        answer = await stage.post(PATHS["anthropic_messages"], body)
        assert answer.headers["x-transom-notice"] == "egress-ambiguous"


async def test_tokens_are_counted_of_what_would_leave() -> None:
    """The same cut, so that the count is that of the request."""
    body = turned("anthropic_messages", "canary-of-the-attic")
    async with staged(change=minimal("strict")) as stage:
        assert (await stage.post("/v1/messages/count_tokens", body)).status == 200
        assert (await stage.post("/v1/messages", body)).status == 200
        counted, asked = (request.body for request in stage.upstream.requests[-2:])
        assert counted == asked
        assert b"canary-of" not in counted
