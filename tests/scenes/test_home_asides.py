"""Requests beside a conversation that home has answered in: titles and topics that clients ask for,
sub-agents, other clients. None of them carries out what home has said, and none frees it."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from policies.authored import HOME_LEFT_OUT
from proxy.config import ClientSettings, Config
from proxy.demo.files import nsec
from tests.scenes.bodies import BODIES, PATHS
from tests.scenes.hearth import Home, at_home, words

CANARY = "Canary from home: the vault stands behind the third door."
NAMED = {"x-claude-code-session-id": "11111111-2222-3333-4444-555555555555"}
OTHER = {"x-claude-code-session-id": "22222222-2222-3333-4444-555555555555"}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def asking(dialect: str, *messages: dict[str, Any], system: str = "") -> dict[str, Any]:
    """A request without tools, as clients make them on the side."""
    key = "input" if dialect == "openai_responses" else "messages"
    body: dict[str, Any] = {"model": "small", key: [*messages], "stream": False}
    if dialect == "anthropic_messages":
        return {**body, "max_tokens": 9, **({"system": system} if system else {})}
    body[key] = [*([{"role": "system", "content": system}] if system else []), *messages]
    return body


ASIDES = {
    "a title": ("Write a title of a few words.", "<session>\nRead it.\n</session>"),
    "a topic": ("Is this a new topic? Answer in JSON.", "Thanks."),
    "a summary": ("Summarise the conversation.", "Read it. Done. Thanks."),
    "a sub-agent": ("You are an agent for searching files.", "Find out where the stairs lead."),
}


FOUND = f"key = {nsec()}"


def main(dialect: str, result: str = "") -> dict[str, Any]:
    """The conversation itself; without a `result` its next turn, in which it holds what home has
    said and what has been found before."""
    if result:
        return {**BODIES[dialect](result), "stream": False}
    body = {**BODIES[dialect](FOUND, after=True), "stream": False}
    key = "input" if dialect == "openai_responses" else "messages"
    body[key][-2] = {**body[key][-2], "content": CANARY}
    return body


async def blocked(stage: Home, dialect: str, headers: dict[str, str]) -> None:
    answer = await stage.post(PATHS[dialect], main(dialect, FOUND), headers)
    assert (answer.headers["x-transom-leg"], CANARY.encode() in answer.body) == ("local", True)


async def leg(stage: Home, dialect: str, body: dict[str, Any], headers: dict[str, str]) -> str:
    answer = await stage.post(PATHS[dialect], body, headers)
    assert answer.status == 200
    assert CANARY.encode() not in b"".join(stage.upstream.received)
    return f"{answer.headers['x-transom-leg']} {answer.headers.get('x-transom-notice', '')}".strip()


@pytest.mark.parametrize("aside", ASIDES)
@pytest.mark.parametrize("dialect", PATHS)
async def test_one_in_a_named_session_stays_and_so_does_the_session(
    dialect: str, aside: str
) -> None:
    """It may tell what home has said in other words, and nobody can see whether it does. Another
    session goes on as ever, and a release frees this one."""
    system, text = ASIDES[aside]
    body = asking(dialect, user(text), system=system)
    async with at_home(words(CANARY)) as stage:
        assert await leg(stage, dialect, body, NAMED) == "cloud"
        await blocked(stage, dialect, NAMED)
        session = stage.events("request")[-1]["session"]
        for _ in range(2):
            assert await leg(stage, dialect, body, NAMED) == "local home-only"
        assert await leg(stage, dialect, main(dialect), NAMED) == "local home-only"
        assert len(stage.upstream.requests) == 1
        another = asking(dialect, user(f"{text} So?"), system=system)
        assert await leg(stage, dialect, another, OTHER) == "cloud"
        assert await stage.node.parts.hearth.marks.release(session) > 0
        assert await leg(stage, dialect, body, NAMED) == "cloud"


@pytest.mark.parametrize("aside", ASIDES)
@pytest.mark.parametrize("dialect", PATHS)
async def test_one_that_no_header_names_neither_frees_nor_holds_the_conversation(
    dialect: str, aside: str
) -> None:
    """It leaves unless it repeats what home has said. The conversation comes back with its next
    turn all the same, without that."""
    system, text = ASIDES[aside]
    async with at_home(words(CANARY)) as stage:
        await blocked(stage, dialect, {})
        for said, where in ((text, "cloud"), (f"{text}\n{CANARY}", "local home-only")):
            body = asking(dialect, user(said), system=system)
            assert await leg(stage, dialect, body, {}) == where
        assert await leg(stage, dialect, main(dialect), {}) == "cloud"
        assert HOME_LEFT_OUT.encode() in stage.upstream.requests[-1].body


@pytest.mark.parametrize("dialect", PATHS)
async def test_one_that_begins_as_the_conversation_does_changes_nothing(dialect: str) -> None:
    """It holds what the user has said there, and a cloud has read, and nothing else."""
    body = asking(dialect, user("Read it."), system="Write a title of a few words.")
    async with at_home(words(CANARY)) as stage:
        await blocked(stage, dialect, NAMED)
        assert await leg(stage, dialect, body, NAMED) == "cloud"
        assert await leg(stage, dialect, main(dialect, FOUND), NAMED) == "local egress-blocked"
        assert await leg(stage, dialect, main(dialect), NAMED) == "cloud"
        assert HOME_LEFT_OUT.encode() in stage.upstream.requests[-1].body


@pytest.mark.parametrize("dialect", PATHS)
async def test_one_that_comes_first_holds_the_conversation(dialect: str) -> None:
    """A title of what the user has said, secret and all: both of them stay."""
    body = asking(dialect, user(f"Keep {nsec()}."), system="Write a title of a few words.")
    async with at_home(words(CANARY)) as stage:
        assert await leg(stage, dialect, body, NAMED) == "local egress-blocked"
        assert await leg(stage, dialect, main(dialect), NAMED) == "local home-only"
        assert stage.upstream.accepted == 0


def two(config: Config) -> Config:
    """Two clients, each with a token of its own."""
    hashed = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("ann", "bob")}
    clients = tuple(ClientSettings(name, digest) for name, digest in hashed.items())
    return replace(config, clients=clients)


@pytest.mark.parametrize("dialect", PATHS)
async def test_clients_that_name_their_sessions_alike_share_none(dialect: str) -> None:
    """What home has answered one of them holds nothing of the other's, nor does a release free
    what is the other's."""
    ann, bob = ({**NAMED, "x-transom-token": name} for name in ("ann", "bob"))
    aside = asking(dialect, user("Something else."))
    async with at_home(words(CANARY), change=two) as stage:
        await blocked(stage, dialect, ann)
        assert await leg(stage, dialect, aside, ann) == "local home-only"
        assert await leg(stage, dialect, aside, bob) == "cloud"
        assert await leg(stage, dialect, main(dialect, "nothing special"), bob) == "cloud"
        await blocked(stage, dialect, bob)
        sessions = [each["session"] for each in stage.events("request")]
        assert sessions[0] != sessions[-1]
        assert await stage.node.parts.hearth.marks.release(sessions[0]) > 0
        assert await leg(stage, dialect, aside, ann) == "cloud"
        assert await leg(stage, dialect, aside, bob) == "local home-only"
