"""What home was asked and said, and a cloud that listens for it at every other way out."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proxy.config import Config, Fallback
from proxy.demo.files import nsec
from proxy.demo.upstream import Fault, Recorded, Reply, Script
from proxy.dialects.finals import LINES
from proxy.dialects.streams import sse
from tests.scenes.hearth import Home, at_home, lines, ollama, words
from tests.scenes.talk import request

SECRET = nsec()
CANARY = "Canary from home: the vault stands behind the third door."
NAMED = {"x-claude-code-session-id": "11111111-2222-3333-4444-555555555555"}
OTHER = {"x-claude-code-session-id": "22222222-2222-3333-4444-555555555555"}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def body(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": [*messages], **more}


BLOCKED = body(user(f"Keep {SECRET} and tell me where the vault stands."))


def kept(folder: Path, *changes: Callable[[Config], Config]) -> Callable[[Config], Config]:
    """A change: the state is in a file, which another node may share."""

    def change(config: Config) -> Config:
        for each in changes:
            config = each(config)
        return replace(config, state_url=f"sqlite://{folder}/transom.db")

    return change


def heard(stage: Home) -> bytes:
    return b"".join(stage.upstream.received)


def silent(stage: Home) -> None:
    """The cloud has heard nothing of it."""
    assert CANARY.encode() not in heard(stage)
    assert SECRET.encode() not in heard(stage)


async def told(stage: Home, headers: dict[str, str] = NAMED) -> None:
    """The canary, told by home."""
    answer = await stage.post("/v1/messages", BLOCKED, headers)
    assert answer.headers["x-transom-leg"] == "local"
    assert CANARY.encode() in answer.body


ASIDE: dict[str, tuple[str, dict[str, Any]]] = {
    "count": ("/v1/messages/count_tokens", {"model": "m", "messages": [user(CANARY)]}),
    "input": ("/v1/responses/input_tokens", {"model": "m", "input": CANARY}),
    "completion": ("/v1/completions", {"model": "m", "prompt": f"Go on:\n{CANARY}"}),
    "embedding": ("/v1/embeddings", {"model": "m", "input": [CANARY]}),
    "generate": ("/api/generate", {"model": "m", "prompt": CANARY}),
    "embed": ("/api/embed", {"model": "m", "input": [CANARY]}),
    "system": ("/v1/messages", body(user("Go on."), system=f"So far:\n{CANARY}")),
    "tool": (
        "/v1/messages",
        body(user("Go."), tools=[{"name": "a", "description": CANARY, "input_schema": {}}]),
    ),
    "instructions": ("/v1/responses", {"model": "m", "input": "Go.", "instructions": CANARY}),
    "unknown": ("/v1/messages", body(user("Go."), metadata={"user_id": CANARY})),
}


@pytest.mark.parametrize("headers", [NAMED, OTHER], ids=["its session", "another"])
@pytest.mark.parametrize("aside", ASIDE)
async def test_no_other_endpoint_tells_it(aside: str, headers: dict[str, str]) -> None:
    """Counts, completions, embeddings, other dialects, other places of a body: each is refused or
    stays at home."""
    path, asked = ASIDE[aside]
    async with at_home(words(CANARY)) as stage:
        await told(stage)
        await stage.post(path, asked, headers)
        silent(stage)
        assert stage.upstream.accepted == 0


async def test_while_it_is_told_nothing_of_its_session_leaves() -> None:
    """Two requests at once, one blocked and one clean: what is under way stays what it was, and
    what comes while home still speaks stays."""
    gate = asyncio.Event()
    async with at_home(Reply.stream((*lines({"content": CANARY})[:1], gate), LINES)) as stage:
        clean = await stage.post("/v1/messages", body(user("Hello.")), NAMED)
        assert clean.headers["x-transom-leg"] == "cloud"
        first = asyncio.create_task(stage.post("/v1/messages", {**BLOCKED, "stream": True}, NAMED))
        async with asyncio.timeout(5):
            while not stage.asked:
                await asyncio.sleep(0.005)
        stage.home.script = ollama(words("Other words of home, which nobody has to keep."))
        second = await stage.post("/v1/messages", body(user(f"It says {CANARY}")), NAMED)
        assert second.headers["x-transom-leg"] == "local"
        gate.set()
        assert CANARY.encode() in (await first).body
        silent(stage)


@pytest.mark.parametrize("speaks", ["ollama", "anthropic"])
async def test_what_is_out_of_an_answer_leaves_nowhere_while_the_rest_is_told(speaks: str) -> None:
    """No session is named, and another conversation repeats what home has said so far: it stays,
    and so does, once all is said, what was repeated before it was."""
    gate, more = asyncio.Event(), asyncio.Event()
    later = "And the key to it lies under the fourth step."
    halting = server(Reply.stream(steps(speaks, CANARY, gate, later, more), form(speaks)), speaks)
    async with at_home(script=halting, speaks=(speaks,)) as stage:
        port = stage.node.parts.listener.port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request(port, "/v1/messages", {**BLOCKED, "stream": True}))
        await asyncio.wait_for(reader.readuntil(CANARY[-9:].encode()), 5)
        stage.home.script = server(Fault.RESET, speaks)
        answer = await stage.post("/v1/messages", body(user(f"It says:\n{CANARY}")), OTHER)
        assert answer.headers.get("x-transom-notice") == "home-unavailable"
        silent(stage)
        guess = body(user(f"I guess:\n{later}"))
        assert (await stage.post("/v1/messages", guess)).headers["x-transom-leg"] == "cloud"
        gate.set()
        await asyncio.wait_for(reader.readuntil(later[-9:].encode()), 5)
        more.set()
        await asyncio.wait_for(reader.readuntil(b"message_stop"), 5)
        for said in (CANARY, later):
            guess = body(user(f"I guess:\n{said}"))
            answer = await stage.post("/v1/messages", guess)
            assert answer.headers.get("x-transom-notice") == "home-unavailable"
        assert stage.upstream.accepted == 1
        assert not stage.node.parts.hearth.marks._saying
        writer.transport.abort()


async def test_what_repeats_home_beside_a_secret_is_held_as_a_whole() -> None:
    """Of what stays for the secret it is asked as well whether it repeats home: what else that
    conversation says stays, and another one of its client, which does not repeat it, leaves."""
    before = user("Hello."), {"role": "assistant", "content": "Hello."}
    async with at_home(words(CANARY)) as stage:
        await told(stage)
        repeated = body(*before, user(f"Beside {SECRET} it says:\n{CANARY}"))
        answer = await stage.post("/v1/messages", repeated, OTHER)
        assert answer.headers["x-transom-notice"] == "egress-blocked"
        clean = await stage.post("/v1/messages", body(*before, user("And now?")), OTHER)
        assert clean.headers.get("x-transom-notice") == "home-only"
        assert stage.upstream.accepted == 0
        other = await stage.post("/v1/messages", body(user("What is it?")))
        assert other.headers["x-transom-leg"] == "cloud"
        silent(stage)


async def test_home_is_asked_what_repeats_it_as_if_nobody_had_been() -> None:
    """Nothing of it was sent, so nothing is remembered of how a cloud would have been shown it: a
    result that a model has read elsewhere is told to the owner, and framed at home."""
    call = {"type": "tool_use", "id": "t", "name": "a", "input": {}}
    thought = {"type": "thinking", "thinking": "I look.", "signature": "c2ln"}
    said = [
        user("Read it."),
        {"role": "assistant", "content": [thought, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "It"}]},
        {"role": "assistant", "content": "Done."},
        user(f"It says:\n{CANARY}"),
    ]
    async with at_home(words(CANARY)) as stage:
        await told(stage)
        answer = await stage.post("/v1/messages", body(*said), OTHER)
        assert answer.headers["x-transom-notice"] == "home-only"
        silent(stage)
        (shown,) = [each for each in stage.asked[-1]["messages"] if each["role"] == "tool"]
        assert "[[TRANSOM_DATA nonce=" in shown["content"]
        assert "adopted" in [each.get("notice") for each in stage.events("notice")]


def form(speaks: str) -> str:
    return LINES if speaks == "ollama" else "text/event-stream"


def server(reply: Reply | Fault, speaks: str) -> Script:
    """A home that says `reply`, whichever way it is asked."""

    def script(recorded: Recorded) -> Reply | Fault:
        return reply if recorded.path == "/v1/messages" else Reply.of({"error": "no"}, 404)

    return ollama(reply) if speaks == "ollama" else script


def steps(speaks: str, *said: str | asyncio.Event) -> list[bytes | asyncio.Event]:
    """An answer of these lines, which waits where it is told to."""
    found: list[bytes | asyncio.Event] = []
    for each in said:
        if isinstance(each, asyncio.Event):
            found.append(each)
        elif speaks == "ollama":
            found.append(lines({"content": f"{each}\n"})[0])
        else:
            delta = {"type": "text_delta", "text": f"{each}\n"}
            found.append(sse(json.dumps({"type": "content_block_delta", "delta": delta})))
    last = sse(json.dumps({"type": "message_stop"}), "message_stop")
    return [*found, lines()[0] if speaks == "ollama" else last]


async def test_a_clean_request_under_way_is_not_kept() -> None:
    """It was on its way to the cloud before anything was told, and its answer comes from there."""
    gate = asyncio.Event()

    def slow(recorded: Recorded) -> Reply:
        return Reply.stream((gate, b'{"ok":true}'), "application/json")

    async with at_home(words(CANARY), cloud=slow) as stage:
        clean = asyncio.create_task(stage.post("/v1/messages", body(user("Hello.")), NAMED))
        await stage.upstream.arrived(1)
        await told(stage)
        gate.set()
        assert (await clean).headers["x-transom-leg"] == "cloud"
        silent(stage)


async def test_a_reload_without_a_home_releases_nothing() -> None:
    """Who can answer is one thing, what must not leave another: it is refused then."""
    async with at_home(words(CANARY)) as stage:
        await told(stage)
        await stage.node.reload(replace(stage.node.config, fallback=Fallback("nobody")))
        for asked in (body(user("And now?")), body(user(f"So far:\n{CANARY}"))):
            answer = await stage.post("/v1/messages", asked, NAMED)
            assert (answer.status, answer.headers["x-transom-notice"]) == (400, "home-only")
        assert stage.upstream.accepted == 0


@pytest.mark.parametrize("on_hit", ["observe", "refuse"])
async def test_what_is_done_about_findings_releases_nothing(on_hit: Any) -> None:
    """The owner decides otherwise about what is found from now on, not about what was said."""
    async with at_home(words(CANARY)) as stage:
        await told(stage)
        config = stage.node.config
        egress = replace(config.policies.egress, on_hit=on_hit)
        await stage.node.reload(replace(config, policies=replace(config.policies, egress=egress)))
        answer = await stage.post("/v1/messages", body(user(f"So far:\n{CANARY}")), OTHER)
        assert answer.headers["x-transom-notice"] == "home-only"
        assert stage.upstream.accepted == 0


async def test_an_answer_that_broke_off_is_kept_as_far_as_it_came() -> None:
    """The server dies in the middle; half of the answer is known to the client."""
    half = Reply.stream((*lines({"content": f"{CANARY}\n"})[:1], Fault.CLOSE), LINES)
    async with at_home(half) as stage:
        answer = await stage.post("/v1/messages", {**BLOCKED, "stream": True}, NAMED)
        assert CANARY.encode() in answer.body
        await stage.node.parts.hearth.home.close()
        stage.home.script = ollama(words("Other words of home, which nobody has to keep."))
        later = await stage.post("/v1/messages", body(user(f"It said:\n{CANARY}")), OTHER)
        assert later.headers["x-transom-notice"] == "home-only"
        assert stage.upstream.accepted == 0


def preferring(stage: Home, prefer: Any) -> Config:
    config = stage.node.config
    return replace(config, fallback=replace(config.fallback, prefer=prefer))


async def test_home_first_does_not_free_what_must_stay() -> None:
    """Answers that have to stay and answers that do not, from one home: those that have to, do,
    also where home was preferred meanwhile; the others keep nothing there."""
    async with at_home(words(CANARY)) as stage:
        await told(stage)
        stage.home.script = ollama(words("Other words of home, which nobody has to keep."))
        await stage.node.reload(preferring(stage, "local"))
        clean = await stage.post("/v1/messages", body(user("Hello.")), OTHER)
        assert clean.headers["x-transom-leg"] == "local"
        assert "x-transom-notice" not in clean.headers
        for prefer in ("local", "cloud"):
            await stage.node.reload(preferring(stage, prefer))
            for headers in (NAMED, OTHER):
                talk = body(user(f"So far:\n{CANARY}\nGo on."))
                answer = await stage.post("/v1/messages", talk, headers)
                assert answer.headers["x-transom-notice"] == "home-only"
        silent(stage)
        clean = await stage.post("/v1/messages", body(user("Hello again.")), {})
        assert clean.headers["x-transom-leg"] == "cloud"


async def test_two_nodes_on_one_state_keep_it_together(tmp_path: Path) -> None:
    """What one has answered, the other does not let go."""
    async with (
        at_home(words(CANARY), change=kept(tmp_path)) as one,
        at_home(words(), change=kept(tmp_path)) as two,
    ):
        clean = await two.post("/v1/messages", body(user("Hello.")), OTHER)
        assert clean.headers["x-transom-leg"] == "cloud"
        await told(one)
        for headers in (NAMED, OTHER):
            answer = await two.post("/v1/messages", body(user(f"So far:\n{CANARY}")), headers)
            assert answer.headers["x-transom-notice"] == "home-only"
        silent(two)


async def test_a_node_without_a_home_keeps_what_another_has_answered(tmp_path: Path) -> None:
    """It was there before, and has never written a mark itself: it refuses."""

    def homeless(config: Config) -> Config:
        return replace(config, fallback=Fallback("nobody"))

    async with at_home(words(CANARY), change=kept(tmp_path, homeless)) as other:
        answer = await other.post("/v1/messages", body(user("Hello.")), NAMED)
        assert answer.headers["x-transom-leg"] == "cloud"
        async with at_home(words(CANARY), change=kept(tmp_path)) as stage:
            await told(stage)
        asked = len(other.upstream.requests)
        answer = await other.post("/v1/messages", body(user(f"It said:\n{CANARY}")), NAMED)
        assert answer.headers.get("x-transom-notice") == "home-only"
        assert len(other.upstream.requests) == asked


async def test_a_client_that_left_does_not_carry_it_out() -> None:
    """It leaves while home speaks, and begins anew in the same session at once."""
    half = Reply.stream((*lines({"content": f"{CANARY}\n"})[:1], Fault.STALL), LINES)
    async with at_home(half) as stage:
        port = stage.node.parts.listener.port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request(port, "/v1/messages", {**BLOCKED, "stream": True}, NAMED))
        await asyncio.wait_for(reader.readuntil(CANARY[-9:].encode()), 5)
        writer.transport.abort()
        stage.home.script = ollama(words("Other words of home, which nobody has to keep."))
        answer = await stage.post("/v1/messages", body(user(f"It said:\n{CANARY}")), NAMED)
        assert answer.headers["x-transom-leg"] == "local"
        silent(stage)


async def test_what_a_server_asked_straight_gives_a_tool_is_kept_too() -> None:
    """The call is the client's to carry out, and its arguments come back in shapes of its own."""
    call = {"type": "tool_use", "id": "toolu_9", "name": "write", "input": {"text": CANARY}}
    said = Reply.of({"type": "message", "role": "assistant", "model": "m", "content": [call]})

    def server(recorded: Recorded) -> Reply:
        return said if recorded.path == "/v1/messages" else Reply.of({"error": "no"}, 404)

    async with at_home(script=server, speaks=("anthropic",)) as stage:
        await told(stage)
        await stage.node.parts.hearth.home.close()
        answer = await stage.post("/v1/messages", body(user(f"In a file:\n{CANARY}")), OTHER)
        assert answer.headers["x-transom-notice"] == "home-only"
        silent(stage)
