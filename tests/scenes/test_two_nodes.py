"""Two nodes on one state, as two processes under load: a session has one rate, whoever is asked."""

import asyncio
import itertools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proxy.demo.upstream import ScriptedUpstream
from tests.scenes.bodies import BODIES, PATHS
from tests.scenes.nodes import Served, served, upstream
from tests.scenes.staging import echo

DIALECT = "openai_chat"
HARD, WANTED, CALLERS = 40, 90, 6
SESSION = {"x-claude-code-session-id": "one"}
LIMITS = f'[state]\nurl = "sqlite://{{state}}"\n[limits]\nrequests = ["{HARD}/30d", "{HARD}/30d"]\n'


def hurried(nodes: list[Served]) -> list[tuple[int, int]]:
    """Which node said what, of requests that are all of one session and all different."""

    def ask(number: int) -> tuple[int, int]:
        which = number % len(nodes)
        body = BODIES[DIALECT](f"result {number}")
        status, headers, _ = nodes[which].post(PATHS[DIALECT], body, SESSION)
        assert status == 200 or headers["x-transom-notice"] == "rate-hard"
        return which, status

    with ThreadPoolExecutor(CALLERS) as callers:
        return [*callers.map(ask, itertools.islice(itertools.count(), WANTED))]


async def test_two_nodes_under_load_let_exactly_the_hard_rate_through(tmp_path: Path) -> None:
    """Neither more nor less leaves, both have let some of it through, and others are not slowed."""
    limits = LIMITS.format(state=tmp_path / "transom.db")

    def play(url: str) -> tuple[list[tuple[int, int]], int]:
        config = upstream(url) + limits
        with served(tmp_path / "a", config) as one, served(tmp_path / "b", config) as other:
            said = hurried([one, other])
            fresh, _, _ = other.post(
                PATHS[DIALECT], BODIES[DIALECT]("x"), {"x-claude-code-session-id": "two"}
            )
        return said, fresh

    async with ScriptedUpstream(echo) as scripted:
        said, fresh = await asyncio.to_thread(play, scripted.url)
        arrived = len(scripted.requests)
    assert Counter(status for _, status in said) == {200: HARD, 429: WANTED - HARD}
    assert {which for which, status in said if status == 200} == {0, 1}
    assert (fresh, arrived) == (200, HARD + 1)
