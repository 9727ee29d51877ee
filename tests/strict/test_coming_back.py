"""What home has answered never reaches a cloud, and a session comes back from home all the same.

Scripted clients of every dialect, with cloud upstreams that refuse what the real ones would, and a
model at home that puts a canary into all that it says.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from policies.authored import HOME_LEFT_OUT
from policies.decision import Leg
from proxy.config import Config, Fallback, UpstreamSettings
from proxy.demo.files import nsec
from proxy.demo.upstream import Recorded, Reply, ScriptedUpstream
from proxy.lazyjson import read
from tests.scenes.hearth import MODEL, ollama, says
from tests.scenes.staging import Heard
from tests.strict.house import House, housed
from tests.strict.pairs import CLIENTS, Pair, Upstream
from tests.strict.sessions import Session
from tests.strict.turns import showing

CUTS = [(mode, strategy) for mode in ("strict", "dialogue") for strategy in ("drop", "elide")]
ALL_CUTS = pytest.mark.parametrize(("mode", "strategy"), CUTS)
MODES = pytest.mark.parametrize("mode", ["strict", "dialogue", "off"])
SECRET = nsec()
SAID = "The canary that was said stands behind the third door.\nIt sings at night, they say."
MORNING = "as of this morning."


def at_home(recorded: Recorded) -> Reply:
    """A call where the secret was found, else an answer; with thoughts in both."""
    body = json.loads(recorded.body)
    thought = {"content": "", "thinking": "The canary that was thought of."}
    if SECRET not in body["messages"][-1]["content"]:
        return says(thought, {"content": SAID})
    tool = next(one for one in body["tools"] if "read" in one["function"]["name"].lower())
    (given, *_) = tool["function"]["parameters"]["properties"]
    call = {"name": tool["function"]["name"], "arguments": {given: "the-canary-that-was-given.txt"}}
    words = "Let me look for the canary that was said."
    return says(thought, {"content": words, "tool_calls": [{"function": call}]})


@dataclass
class Scene:
    """A client, its cloud and its home. `name` is that of the session where the client has none."""

    house: House
    session: Session
    cloud: Upstream
    change: Callable[[Config], Config]
    name: str = "one"

    def fork(self, label: str, session: Session | None = None) -> Session:
        """The same history under another name."""
        self.name = label
        return (session or self.session).fork(label)

    async def post(self, path: str, body: dict[str, Any], headers: Mapping[str, str]) -> Heard:
        return await self.house.through(path, body, {"x-session-id": self.name, **headers})

    @property
    def received(self) -> bytes:
        return b"".join(self.house.upstream.received)

    def finds(self, what: str) -> None:
        """The newest result says that as well."""
        text = json.dumps(self.session.history[-1])
        assert MORNING in text
        self.session.history[-1] = json.loads(text.replace(MORNING, f"{MORNING} {what}"))

    async def home_answers(self) -> None:
        """A turn at the cloud, and one that a secret takes home in the middle of it."""
        await self.session.turn("Question 0", 2, 1)
        self.session.ask("Question 1", 1, 1, 1)
        assert await self.session.step()
        self.finds(f"The key is {SECRET}.")
        assert await self.session.step()
        self.finds("Here is the canary that was found.")
        assert not await self.session.step()
        assert self.house.notices[-2:] == ["egress-blocked", "home-only"]
        assert b"canary" in json.dumps(self.session.history).encode()

    def nothing_left(self) -> None:
        """Neither the secret nor anything of what home has said is in one byte that arrived."""
        assert not self.cloud.refused, self.cloud.refused
        assert SECRET.encode() not in self.received
        assert b"canary" not in self.received


@asynccontextmanager
async def scene(
    pair: Pair, folder: Path, mode: str, strategy: str = "drop"
) -> AsyncIterator[Scene]:
    cloud = pair.upstream()
    async with ScriptedUpstream(ollama(at_home)) as home:

        def change(config: Config) -> Config:
            hearth = UpstreamSettings("home", Leg.LOCAL, home.url, ("ollama",), "none", None, MODEL)
            upstreams = (*config.upstreams, hearth)
            changed = replace(config, upstreams=upstreams, fallback=Fallback("home"))
            return showing(mode, strategy)(changed)

        async with housed(cloud, folder, change) as house:
            house.witness.saw = lambda *bodies: None  # type: ignore[method-assign]
            at = Scene(house, pair.client(house.through), cloud, change)
            at.session.post = at.post
            yield at


@CLIENTS
@ALL_CUTS
async def test_a_session_comes_back_with_the_next_turn(
    pair: Pair, mode: str, strategy: str, tmp_path: Path
) -> None:
    """To the cloud, which is told that something is left out; in the same bytes when it is posted
    again, from a new process, and as long as the history lasts."""
    async with scene(pair, tmp_path, mode, strategy) as at:
        session, house = at.session, at.house
        await at.home_answers()
        session.ask("Question 2", 2, 1)
        body, headers = session.body(), session.headers()
        while await session.step():
            await house.open(at.change)
        assert house.notices[-3:] == ["", "", ""]
        told = b"[dropped history" if mode == "strict" else HOME_LEFT_OUT.encode()
        asked = house.upstream.requests[-3:]
        assert all(each.body.count(told) == 1 for each in asked)
        await house.through(session.path, body, headers)
        assert text_of(house.upstream.requests[-1].body) == text_of(asked[0].body)
        await session.turn("Question 3", 1)
        assert set(house.notices[-2:]) == {""}
        if mode == "dialogue":
            first, again = (text_of(each.body) for each in (asked[0], house.upstream.requests[-1]))
            until = first.index(told) + len(told)
            assert first[:until] == again[:until]
        at.nothing_left()


def text_of(body: bytes) -> bytes:
    """The messages, byte for byte."""
    root = read(body).root
    return (root.get("messages") or root.child("input")).raw


async def goes_on(at: Scene) -> None:
    """A new turn."""
    await at.session.turn("Question 2", 2, 1)


async def rewound(at: Scene) -> None:
    """The turn that home has answered is taken back, and typed again; then the first one is."""
    at.session.rewind(1)
    await at.session.turn("Question 1", 1, 1)
    at.session.rewind(2)
    await at.session.turn("Another question 0", 1)


async def rewound_to_home(at: Scene) -> None:
    """A turn after it is taken back."""
    await at.session.turn("Question 2", 1)
    at.session.rewind(1)
    await at.session.turn("Another question 2", 1)


async def compacted(at: Scene) -> None:
    """Home's words, in its own or in others, stand where the history was."""
    for label, summary in (("one", SAID), ("one", "In short: canary."), ("one, anew", SAID)):
        fresh = at.fork(label)
        fresh.history, fresh.marks = fresh.history[: lead(at.session)], []
        await fresh.turn(f"This is what was:\n\n{summary}\n\nGo on.")
        await fresh.turn("And then?", 1)
        assert at.house.notices[-1] == "home-only"


async def shared(at: Scene) -> None:
    """Another conversation under the same session id, as sub-agents have one, whose task home has
    written; and what it has found stands in a result of the first."""
    other = at.fork(at.session.label)
    other.history, other.marks = other.history[: lead(at.session)], []
    await other.turn("Find out about the canary", 1)
    assert at.house.notices[-1] == "home-only"
    await at.session.turn("Question 2", 1)
    assert at.house.notices[-1] == "home-only"


async def forked(at: Scene) -> None:
    """The same history under another session id, and a part of it."""
    for number, snapshot in enumerate([*at.session.snapshots[3:], at.session]):
        branch = at.fork(f"branch {number}", snapshot)
        while await branch.step():
            pass
        await branch.turn(f"Something else {number}", 1)


async def repacked(at: Scene) -> None:
    """What home has said comes in other pieces, or behind another question."""
    for change in (in_lists, in_strings, moved, squeezed, joined):
        branch = at.fork("repacked")
        branch.history = change(branch.history, branch.marks[1])
        await branch.turn("Question 2", 1)


LATER = [goes_on, rewound, rewound_to_home, compacted, shared, forked, repacked]


@pytest.mark.parametrize("later", LATER)
@MODES
@CLIENTS
async def test_what_home_answered_never_reaches_the_cloud(
    pair: Pair, mode: str, later: Callable[[Scene], Any], tmp_path: Path
) -> None:
    """Its words, what it gave to a tool, what that found, what it thought: whatever becomes of the
    history."""
    async with scene(pair, tmp_path, mode) as at:
        await at.home_answers()
        arrived = at.house.upstream.accepted
        await later(at)
        at.nothing_left()
        if mode == "off" and later is goes_on:
            assert at.house.upstream.accepted == arrived


def lead(session: Session) -> int:
    """How many messages stand before the first prompt."""
    return session.marks[0] + sum(
        one["role"] in ("system", "developer") for one in session.history[:2]
    )


def in_lists(history: list[Any], _: int) -> list[Any]:
    """Each text is a part of a list, with blanks around it."""

    def one(message: Any) -> Any:
        if not isinstance(message.get("content"), str) or message["role"] == "tool":
            return message
        return {**message, "content": [{"type": "text", "text": f"{message['content']}\n"}]}

    return [*map(one, history)]


def in_strings(history: list[Any], _: int) -> list[Any]:
    """What is a text alone is a string."""

    def one(message: Any) -> Any:
        match message.get("content"):
            case [{"text": str(text)}] if message.get("role") == "assistant":
                return {**message, "content": f" {text}"}
            case _:
                return message

    return [*map(one, history)]


def moved(history: list[Any], mark: int) -> list[Any]:
    """The last thing that home has said stands where a cloud has answered."""
    return [*history[: mark - 1], history[-1], *history[mark:-1]]


def squeezed(history: list[Any], mark: int) -> list[Any]:
    """The question that home has answered is gone, so that its answer follows that of a cloud."""
    return [*history[:mark], history[-1]]


def joined(history: list[Any], mark: int) -> list[Any]:
    """Likewise, and both are one text."""
    text = json.dumps(f"Well.\n{SAID}")
    last = json.loads(json.dumps(history[-1]).replace(json.dumps(SAID), text))
    assert last != history[-1]
    return [*history[: mark - 1], last]
