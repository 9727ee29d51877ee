"""What home answers in place of a cloud is written down once, and told wherever the owner looks."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from proxy.demo.files import nsec
from proxy.demo.upstream import Fault, ScriptedUpstream
from proxy.desk import Desk
from proxy.state.base import StateError
from proxy.state.sqlite import SqliteStore
from tests.scenes import bodies
from tests.scenes.hearth import MODEL, SAID, Home, at_home, ollama, words
from tests.scenes.nodes import Served, environment, served
from tests.scenes.staging import echo

PATHS = bodies.PATHS
SESSION = {"x-claude-code-session-id": "one"}
PLACES = {
    "anthropic_messages": "messages[2].content[0].content",
    "openai_chat": "messages[2].content",
    "openai_responses": "input[2].output",
    "ollama_chat": "messages[2].content",
}


def secret(dialect: str, *, stream: bool = False) -> dict[str, Any]:
    body: dict[str, Any] = bodies.BODIES[dialect](f"key = {nsec()}")
    return {**body, "stream": stream}


def desk(stage: Home) -> Desk:
    parts = stage.node.parts
    return Desk(parts.store, parts.owner.recorder)


async def rows(stage: Home) -> list[dict[str, Any]]:
    """The audit, as the owner's verb has it."""
    answer: Any = await desk(stage).blocked({})
    return list(answer["rows"])


async def counters(stage: Home) -> Mapping[str, int]:
    answer: Any = await desk(stage).counters({})
    return dict(answer["counters"])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("dialect", PATHS)
async def test_an_answer_from_home_has_one_row_one_counter_and_its_lines(
    dialect: str, stream: bool
) -> None:
    """Posted three times: one row with the leg that was asked and the one that was taken, one
    notice, each counter once; a line in the log for each, which says how often."""
    async with at_home() as stage:
        for _ in range(3):
            answer = await stage.post(PATHS[dialect], secret(dialect, stream=stream), SESSION)
            assert (answer.status, answer.headers["x-transom-leg"]) == (200, "local")
        (row,) = await rows(stage)
        counted = await counters(stage)
        (notice,) = await stage.node.parts.store.notices()
        assert stage.upstream.accepted == 0
        lines = stage.events("egress_diverted")
    assert (row["event"], row["times"]) == ("diverted", 3)
    assert (row["leg_asked"], row["leg_taken"]) == ("cloud", "local")
    assert (row["notice"], row["kinds"]) == ("egress-blocked", ["nostr_key"])
    assert row["places"] == [PLACES[dialect]]
    assert (row["dialect"], row["endpoint"], row["upstream"]) == (dialect, PATHS[dialect], "away")
    assert row["bytes_in"] == len(json.dumps(secret(dialect, stream=stream)))
    assert (row["session"], row["model"]) == (notice.session, bodies.MODEL)
    assert notice.code == "egress-blocked"
    assert (counted["diverted"], counted["egress-blocked"]) == (1, 1)
    assert [line.get("times", 1) for line in lines] == [1, 2, 3]
    assert {line["notice"] for line in lines} == {"egress-blocked"}


async def test_a_home_that_fails_has_a_row_of_its_own_about_what_was_asked() -> None:
    """The cloud was asked for and home was gone to; then nobody answered."""
    async with at_home(Fault.RESET) as stage:
        answer = await stage.post("/v1/messages", secret("anthropic_messages"), SESSION)
        assert answer.headers["x-transom-notice"] == "home-unavailable"
        found = [(r["event"], r["leg_asked"], r["leg_taken"]) for r in await rows(stage)]
    assert found == [("diverted", "cloud", "local"), ("refused", "cloud", "")]


async def test_it_goes_home_though_nobody_can_write_that_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing leaves by it. That the row is late is told, and it is there once it can be."""
    async with at_home() as stage:

        async def fails(*_: object) -> None:
            raise StateError("no")

        with monkeypatch.context() as breaks:
            breaks.setattr(stage.node.parts.store, "record", fails)
            answer = await stage.post("/v1/messages", secret("anthropic_messages"), SESSION)
        assert (answer.status, SAID.encode() in answer.body) == (200, True)
        problems = [line.get("problem") for line in stage.events("notice")]
        assert "audit-not-written" in problems
        assert [(row["event"], row["times"]) for row in await rows(stage)] == [("diverted", 1)]
        assert (await counters(stage))["diverted"] == 1


def config(cloud: str, home: str) -> str:
    return (
        f'[[upstream]]\nname = "away"\nleg = "cloud"\nbase_url = "{cloud}"\n'
        'dialects = ["anthropic", "openai", "ollama"]\nauth = "caller"\n'
        f'[[upstream]]\nname = "home"\nleg = "local"\nbase_url = "{home}"\n'
        f'dialects = ["ollama"]\nauth = "none"\nmodel = "{MODEL}"\n'
    )


def verb(node: Served, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "proxy", *words],
        capture_output=True, check=True, text=True, env=environment(node.home),
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    return done.stdout


async def test_the_owner_finds_it_with_every_verb(tmp_path: Path) -> None:
    """`blocked`, `status` and `notices` of a served node, for people and as JSON."""

    def play(cloud: str, home: str) -> dict[str, str]:
        with served(tmp_path, config(cloud, home)) as node:
            for _ in range(2):
                status, headers, _ = node.post("/v1/messages", secret("anthropic_messages"))
                assert (status, headers["x-transom-leg"]) == (200, "local")
            asked = ("blocked", "status", "notices", "blocked --json", "status --json")
            return {words: verb(node, *words.split()) for words in asked}

    async with ScriptedUpstream(echo) as cloud, ScriptedUpstream(ollama(words())) as home:
        said = await asyncio.to_thread(play, cloud.url, home.url)
        assert cloud.accepted == 0
    (line,) = said["blocked"].splitlines()
    assert " 2x diverted " in line
    assert "cloud>local egress-blocked nostr_key" in line
    assert {"1 diverted", "1 egress-blocked"} <= {
        line.strip() for line in said["status"].splitlines()
    }
    assert "[egress-blocked]" in said["notices"]
    row = json.loads(said["blocked --json"])
    assert (row["event"], row["leg_asked"], row["leg_taken"]) == ("diverted", "cloud", "local")
    assert json.loads(said["status --json"])["counters"]["diverted"] == 1


@pytest.mark.parametrize("at_home", [True, False], ids=["diverted", "blocked"])
async def test_it_is_there_when_the_node_dies_and_counted_once_by_those_after_it(
    tmp_path: Path, at_home: bool
) -> None:
    """Killed the moment that the client has its answer. The same comes again to two more nodes of
    that state: as many times, and no other event."""

    def play(cloud: str, home: str) -> None:
        both = config(cloud, home)
        file = both if at_home else both[: both.rindex("[[upstream]]")]
        with served(tmp_path, file, ends=-signal.SIGKILL) as node:
            node.post("/v1/messages", secret("anthropic_messages"), SESSION)
            node.process.send_signal(signal.SIGKILL)
            node.process.wait()
        for _ in range(2):
            with served(tmp_path, file) as node:
                node.post("/v1/messages", secret("anthropic_messages"), SESSION)

    async with ScriptedUpstream(echo) as cloud, ScriptedUpstream(ollama(words())) as home:
        await asyncio.to_thread(play, cloud.url, home.url)
    store = SqliteStore(tmp_path / "state" / "transom" / "transom.db")
    (row,) = await store.audit()
    counted = await store.counters()
    await store.close()
    assert (json.loads(row.value)["event"], row.times) == (
        "diverted" if at_home else "blocked",
        3,
    )
    assert counted["egress-blocked"] == 1
    assert counted.get("diverted", 0) == at_home
