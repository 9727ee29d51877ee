"""What home has answered never reaches a cloud, whatever becomes of what kept it home."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from policies.authored import HOME_LEFT_OUT
from proxy.config import Config, RouteSettings
from proxy.demo.files import nsec
from proxy.demo.upstream import Fault, Reply
from proxy.dialects.finals import LINES
from proxy.state.base import StateError
from tests.scenes import bodies
from tests.scenes.hearth import Home, at_home, lines, ollama, says, words
from tests.scenes.talk import request
from tests.strict.plot import pixel

SECRET = nsec()
CANARY = "Canary from home: the vault stands behind the third door."
MODES = ("strict", "dialogue", "off")
NAMED = {"x-claude-code-session-id": "11111111-2222-3333-4444-555555555555"}


def mode(name: str) -> Callable[[Config], Config]:
    def change(config: Config) -> Config:
        policies = config.policies
        cut = replace(policies.minimality, mode=name)
        return replace(config, policies=replace(policies, minimality=cut))

    return change


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def model(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def body(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": [*messages]}


BLOCKED = (user(f"Keep {SECRET} and tell me where the vault stands."),)


async def first(stage: Home, headers: dict[str, str]) -> None:
    """A request that is answered at home, with the canary."""
    answer = await stage.post("/v1/messages", body(*BLOCKED), headers)
    assert answer.headers["x-transom-leg"] == "local"
    assert CANARY.encode() in answer.body


LATER = {
    "a new turn": (user("Keep it."), model(CANARY), user("And now?")),
    "the same beginning, rewound": (*BLOCKED, model("Never mind."), user("And now?")),
    "a summary, made at home": (user(f"Summary of what was:\n\n{CANARY}\n\nGo on."),),
    "a summary, wrapped": (user(f"<summary>\n  {CANARY}  \n</summary>"), model("Yes."), user("Go")),
    "a summary in a list": (
        {"role": "user", "content": [{"type": "text", "text": f"So far:\n{CANARY}"}]},
        model("Yes."),
        user("Go on."),
    ),
}

GOES = {("strict", "the same beginning, rewound")}
"""What of it a mode shows without anything that home has answered or was asked."""


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("later", LATER)
async def test_what_home_answered_never_reaches_the_cloud(
    later: str, name: str, named: bool
) -> None:
    """The secret leaves the view; the answer that was given because of it stays home all the same,
    whether the client names its session or not. Where it can be left out the rest may go."""
    headers = NAMED if named else {}
    async with at_home(words(CANARY), change=mode(name)) as stage:
        await first(stage, headers)
        answer = await stage.post("/v1/messages", body(*LATER[later]), headers)
        assert answer.status == 200
        goes = (name, later) in GOES
        assert answer.headers["x-transom-leg"] == ("cloud" if goes else "local")
        assert CANARY.encode() not in b"".join(stage.upstream.received)
        assert b"Never mind." not in b"".join(stage.upstream.received)
        assert stage.upstream.accepted == goes


async def test_a_session_stays_until_it_is_released(tmp_path: Path) -> None:
    """Also across a restart. Then it goes to the cloud again, and nothing else does."""

    def kept(config: Config) -> Config:
        return replace(config, state_url=f"sqlite://{tmp_path}/transom.db")

    later = body(user("Something else."))
    async with at_home(words(CANARY), change=kept) as stage:
        await first(stage, NAMED)
        session = stage.events("request")[0]["session"]
    async with at_home(words(CANARY), change=kept) as stage:
        answer = await stage.post("/v1/messages", later, NAMED)
        assert answer.headers["x-transom-notice"] == "home-only"
        assert stage.upstream.accepted == 0
        assert await stage.node.parts.hearth.marks.release(session) > 0
        answer = await stage.post("/v1/messages", later, NAMED)
        assert answer.headers["x-transom-leg"] == "cloud"
        answer = await stage.post("/v1/messages", body(*BLOCKED), NAMED)
        assert answer.headers["x-transom-notice"] == "egress-blocked"
        assert SECRET.encode() not in b"".join(stage.upstream.received)


async def test_other_talks_go_on_as_ever() -> None:
    """Another session about the same things, in words that anybody would use, is not held."""
    async with at_home(words(f"{CANARY}\nDone.\nreturn self._value")) as stage:
        await first(stage, NAMED)
        other = {"x-claude-code-session-id": "22222222-2222-3333-4444-555555555555"}
        talk = body(user("Look:\nreturn self._value"), model("Done.\nDone."), user("Go on."))
        answer = await stage.post("/v1/messages", talk, other)
        assert answer.headers["x-transom-leg"] == "cloud"
        assert stage.upstream.accepted == 1


async def test_the_request_s_own_lines_are_not_the_answer_s() -> None:
    """A model that repeats what it was asked does not keep the question home for ever."""
    question = "Please say where exactly in this large house the vault stands."
    async with at_home(words(f"{question}\nI do not know.")) as stage:
        talk = body(user(f"{question}\nKeep {SECRET}."))
        assert (await stage.post("/v1/messages", talk)).headers["x-transom-leg"] == "local"
        answer = await stage.post("/v1/messages", body(user(question)))
        assert answer.headers["x-transom-leg"] == "cloud"


async def test_marks_that_cannot_be_read_keep_everything_home() -> None:
    """In doubt it stays: home answers, and without one the request is refused."""

    async def fails(*_: object) -> frozenset[bytes]:
        raise StateError("no")

    async with at_home(words(CANARY)) as stage:
        stage.node.parts.store.marks = fails  # type: ignore[assignment, method-assign]
        stage.node.parts.store.marked = fails  # type: ignore[method-assign]
        answer = await stage.post("/v1/messages", body(user("Hello.")))
        assert answer.headers.get("x-transom-notice") == "home-only"
        assert stage.upstream.accepted == 0


async def test_an_answer_that_nobody_heard_to_its_end_is_kept_too() -> None:
    """The client leaves in the middle; what was said until then does not leave later."""
    half = Reply.stream((*lines({"content": f"{CANARY}\n"})[:1], Fault.STALL), LINES)
    async with at_home(half) as stage:
        port = stage.node.parts.listener.port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request(port, "/v1/messages", {**body(*BLOCKED), "stream": True}))
        await asyncio.wait_for(reader.readuntil(CANARY[-9:].encode()), 5)
        writer.transport.abort()
        async with asyncio.timeout(5):
            while stage.node.parts.hearth.home.busy:
                await asyncio.sleep(0.01)
        await stage.node.parts.hearth.home.close()
        stage.home.script = ollama(words())
        answer = await stage.post("/v1/messages", body(user(f"It said:\n{CANARY}")))
        assert answer.headers["x-transom-notice"] == "home-only"
        assert stage.upstream.accepted == 0


def looping(rounds: int) -> dict[str, Any]:
    """A turn of so many rounds."""
    talk = [user("Go on.")]
    for number in range(rounds):
        name = f"toolu_{number}"
        call = {"type": "tool_use", "id": name, "name": "read", "input": {"n": number}}
        result = {"type": "tool_result", "tool_use_id": name, "content": f"Found {number}."}
        talk += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return {**body(*talk), "tools": [{"name": "read", "input_schema": {"type": "object"}}]}


@pytest.mark.parametrize("prefer", ["cloud", "local"])
async def test_what_stays_at_home_is_bounded_and_counted_like_all_else(prefer: str) -> None:
    """A loop ends there too, without a model; what home is asked stands in frames; each request
    counts once, whatever kept it home."""

    def short(config: Config) -> Config:
        policies = config.policies
        limits = replace(policies.limits, max_turns=4)
        return replace(config, policies=replace(policies, limits=limits))

    async with at_home(words(CANARY), change=short, prefer=prefer) as stage:
        await stage.post("/v1/messages", body(*BLOCKED), NAMED)
        answer = await stage.post("/v1/messages", looping(2), NAMED)
        assert answer.headers["x-transom-leg"] == "local"
        results = [each for each in stage.asked[-1]["messages"] if each["role"] == "tool"]
        assert all(each["content"].startswith("[Data envelope") for each in results)
        assert len(results) == 2
        await stage.post("/v1/messages", looping(4), NAMED)
        assert "tools" not in stage.asked[-1]
        asked = len(stage.asked)
        answer = await stage.post("/v1/messages", looping(5), NAMED)
        assert (answer.status, answer.headers["x-transom-notice"]) == (200, "turn-limit")
        assert "x-transom-leg" not in answer.headers
        assert (len(stage.asked), stage.upstream.accepted) == (asked, 0)
        await stage.node.parts.owner.recorder.flush()
        counters = await stage.node.parts.store.counters()
    assert counters["requests"] == 4
    assert counters["frames"] == 4
    assert stage.events("request")[1]["frames"] == 2


async def test_home_first_keeps_what_it_answers_in_a_talk_that_must_stay() -> None:
    """Home would have been asked anyway; what it says in such a talk stays all the same."""
    data = {"type": "base64", "media_type": "image/png", "data": pixel()}
    picture = {"role": "user", "content": [{"type": "image", "source": data}]}
    async with at_home(words("Nothing to say about it."), prefer="local") as stage:
        answer = await stage.post("/v1/messages", body(*BLOCKED, model("So."), picture), NAMED)
        assert answer.headers["x-transom-notice"] == "egress-blocked"
        stage.home.script = ollama(words(CANARY))
        answer = await stage.post("/v1/messages", body(user("Where is it?")), NAMED)
        assert answer.headers["x-transom-notice"] == "home-only"
        answer = await stage.post("/v1/messages", body(user(CANARY), model("So."), picture))
        assert answer.headers["x-transom-leg"] == "local"
        assert stage.upstream.accepted == 0


async def test_what_calls_are_given_holds_nobody_who_names_it_too() -> None:
    """A path that home has read stands in any list of files; a text that home has written is an
    answer like any other."""
    path = "src/harbour/tides.py"
    function = {"name": "write", "arguments": {"path": path, "content": f"# tides\n{CANARY}\n"}}
    called = says({"content": "", "tool_calls": [{"function": function}]})
    tool = {"name": "write", "input_schema": {"type": "object"}}
    async with at_home(called) as stage:
        await stage.post("/v1/messages", {**body(*BLOCKED), "tools": [tool]}, NAMED)
        listing = body(user(f"Files:\nsrc/harbour/cranes.py\n{path}\nREADME.md"))
        answer = await stage.post("/v1/messages", listing)
        assert answer.headers["x-transom-leg"] == "cloud"
        answer = await stage.post("/v1/messages", body(user(f"Written:\n{CANARY}")))
        assert answer.headers["x-transom-notice"] == "home-only"


@pytest.mark.parametrize("name", ["strict", "dialogue"])
async def test_what_home_has_written_is_not_read_by_a_cloud(name: str) -> None:
    """A session has come back, and the cloud has a look at what home has left behind."""
    call = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a"}}
    found = {"type": "tool_result", "tool_use_id": "t1", "content": f"1:\n{CANARY}\n"}
    secret = {**found, "content": f"It says {SECRET}."}
    talk = [user("Read it."), {"role": "assistant", "content": [call]}]
    talk.append({"role": "user", "content": [secret]})
    async with at_home(words(CANARY), change=mode(name)) as stage:
        assert (await stage.post("/v1/messages", body(*talk), NAMED)).status == 200
        talk += [model(CANARY), user("And now?")]
        answer = await stage.post("/v1/messages", body(*talk), NAMED)
        assert answer.headers["x-transom-leg"] == "cloud"
        call = {**call, "id": "t2"}
        talk += [{"role": "assistant", "content": [call]}]
        read = [*talk, {"role": "user", "content": [{**found, "tool_use_id": "t2"}]}]
        answer = await stage.post("/v1/messages", body(*read), NAMED)
        assert answer.headers.get("x-transom-notice") == "home-only"
        assert stage.upstream.accepted == 1
        read = [
            *talk,
            {"role": "user", "content": [{**secret, "content": "x", "tool_use_id": "t2"}]},
        ]
        answer = await stage.post("/v1/messages", body(*read), NAMED)
        assert answer.headers["x-transom-leg"] == "cloud"
        assert CANARY.encode() not in b"".join(stage.upstream.received)


ROUTES = {
    "home is preferred": RouteSettings("near", "", "", "away", prefer="local"),
    "home is named": RouteSettings("near", "", "", "home"),
}


@pytest.mark.parametrize("why", ROUTES)
async def test_what_home_says_by_choice_stays_where_it_was_told_the_rest(why: str) -> None:
    """It has read what home had said, and may repeat it, so its answer is left out as well."""

    def near(config: Config) -> Config:
        return mode("dialogue")(replace(config, routes=(ROUTES[why],)))

    talk = bodies.ollama_chat(f"It says {SECRET}.")
    talk["stream"], messages = False, talk["messages"]
    async with at_home(words(CANARY), change=near) as stage:
        for asked, leg in (("far", "local"), ("near", "local"), ("far", "cloud"), ("far", "cloud")):
            answer = await stage.post("/api/chat", {**talk, "model": asked})
            assert answer.headers["x-transom-leg"] == leg
            said = CANARY if leg == "local" else "What the cloud has said."
            messages += [model(said), user("And now?")]
        sent = stage.upstream.requests[-1].json()["messages"]
        assert [one["content"] for one in sent if one["role"] == "assistant"] == [
            HOME_LEFT_OUT,
            HOME_LEFT_OUT,
            "What the cloud has said.",
        ]
        assert CANARY.encode() not in b"".join(stage.upstream.received)
