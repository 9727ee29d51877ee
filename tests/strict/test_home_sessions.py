"""Sessions go home and come back: strict upstreams take the turns that were answered at home."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from proxy.demo.files import nsec
from proxy.demo.upstream import ScriptedUpstream
from tests.strict.homely import SAID, THOUGHT, at_home, native, speaking, without
from tests.strict.house import Change, House, housed
from tests.strict.pairs import PAIRS, Pair, fine
from tests.strict.turns import showing

SECRET = nsec()
WAYS = [
    pytest.param(pair, straight, id=f"{name}-{'straight' if straight else 'translated'}")
    for name, pair in PAIRS.items()
    for straight in (False, True)
    if not (straight and name == "ollama")
]


@asynccontextmanager
async def going_home(
    pair: Pair, folder: Path, mode: str, *, straight: bool
) -> AsyncIterator[tuple[House, Any, Change]]:
    """A house with a home, the strict cloud, and the settings for a restart."""
    upstream = pair.upstream()
    async with ScriptedUpstream(speaking() if straight else native()) as home:
        change = at_home(home, straight=straight, change=showing(mode))
        async with housed(upstream, folder, change) as house:
            yield house, upstream, change


def sessions(house: House) -> set[str]:
    """The sessions of all requests that stayed at home."""
    lines = [json.loads(line) for line in house.log.getvalue().splitlines()]
    return {line["session"] for line in lines if line["event"] == "egress_diverted"}


async def released(house: House) -> None:
    """The owner lets them go again."""
    assert house.node is not None
    counts = [await house.node.parts.hearth.marks.release(one) for one in sessions(house)]
    assert counts
    assert all(counts)


@pytest.mark.parametrize("mode", ["off", "dialogue"])
@pytest.mark.parametrize(("pair", "straight"), WAYS)
async def test_sessions_go_home_and_come_back(
    pair: Pair, straight: bool, mode: str, tmp_path: Path
) -> None:
    """A turn in the cloud; one with a secret, and the next one, at home with tools; then the owner
    releases the session and takes the secret out: the cloud takes what home has answered, without
    a thought of home, and reads the same on every later turn, after a restart too."""
    async with going_home(pair, tmp_path, mode, straight=straight) as (
        house,
        upstream,
        change,
    ):
        if mode != "off":
            house.witness.saw = lambda *bodies: None  # type: ignore[method-assign]
        session = pair.client(house.through)
        await session.turn("Question 1", 2, 1)
        before = len(upstream.accepted)
        await session.turn(f"Keep {SECRET}.", 1)
        assert house.notices[-2:] == ["egress-blocked", "home-only"]
        await session.turn("And now?", 1)
        assert len(upstream.accepted) == before
        assert SECRET.encode() not in b"".join(house.upstream.received)
        assert THOUGHT.encode() not in b"".join(house.upstream.received)
        await released(house)
        session.history = without(session.history, SECRET)
        for turn in range(3):
            await session.turn(f"Question {turn + 4}", 2, 1)
            await house.open(change)
        assert len(upstream.accepted) > before + 6
        assert not upstream.refused, upstream.refused
        if mode == "off":
            fine(house, upstream)
        arrived = b"".join(house.upstream.received)
        assert SAID.encode() in arrived
        assert THOUGHT.encode() not in arrived
        assert SECRET.encode() not in arrived
