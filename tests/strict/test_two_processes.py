"""Two nodes on one state file: the first to write a row decides for both."""

import asyncio
from pathlib import Path
from urllib.parse import urlsplit

from proxy.demo.evidence import framed
from proxy.demo.upstream import Recorded, Reply, ScriptedUpstream
from tests.scenes import nodes
from tests.strict.house import post
from tests.strict.plot import material
from tests.strict.reading import result_texts
from tests.strict.results import PATHS, Body, history

AT_ONCE = 50
"""Requests of each dialect, half of them to each process."""


def fine(recorded: Recorded) -> Reply:
    return Reply.of({"ok": True})


def asked(dialect: str) -> Body:
    """A first request with three results, in one message or in three."""
    return history(dialect, [[material(number, 400) for number in range(3)]])


async def test_fifty_equal_first_requests_to_two_processes_get_one_nonce(tmp_path: Path) -> None:
    """Two `transom serve` on one database get 50 times the same new history at once, in each
    dialect: at the upstream's socket all 50 are the same bytes, and so they are a turn later, from
    processes that were started anew."""
    state = f'[state]\nurl = "sqlite://{tmp_path}/shared.db"\n'
    async with ScriptedUpstream(fine) as upstream:
        config = nodes.upstream(upstream.url) + state
        homes = (tmp_path / "one", tmp_path / "two")
        with nodes.served(homes[0], config) as one, nodes.served(homes[1], config) as two:
            ports = [urlsplit(node.url).port or 0 for node in (one, two)]
            for dialect, path in PATHS.items():
                asks = (
                    post(ports[number % 2], path, asked(dialect), {}) for number in range(AT_ONCE)
                )
                answers = await asyncio.gather(*asks)
                assert {answer.status for answer in answers} == {200}
            served = [node.written()["stderr"].count(b'"request":"req_') for node in (one, two)]
            assert min(served) >= AT_ONCE * len(PATHS) // 2
        first = {one.path: one.body for one in upstream.requests}
        assert len(upstream.requests) == AT_ONCE * len(PATHS)
        assert {(one.path, one.body) for one in upstream.requests} == set(first.items())
        with nodes.served(homes[1], config) as again:
            port = urlsplit(again.url).port or 0
            for dialect, path in PATHS.items():
                await post(port, path, asked(dialect), {})
        assert {one.path: one.body for one in upstream.requests[-len(PATHS) :]} == first
        for path, body in first.items():
            frames = [framed(text) for text in result_texts(_json(body))]
            assert len([frame for frame in frames if frame]) == 3
            alone = {frame.nonce for frame in frames if frame}
            assert len(alone) == (1 if path == PATHS["anthropic_messages"] else 3)


def _json(body: bytes) -> Body:
    return Recorded("POST", "/", (), body).json()
