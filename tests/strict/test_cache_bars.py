"""Frames do not cost the prompt cache: hit shares with and without Transom, in one run."""

from pathlib import Path

import pytest

from tests.strict.cache import share
from tests.strict.claude_code import ClaudeCode
from tests.strict.house import House, housed
from tests.strict.pairs import ALL_CLIENTS, CLIENTS, Pair, Upstream
from tests.strict.responses import Codices
from tests.strict.sabotage import forget_nonces

BAR = 0.99
"""Share of cached tokens with frames, as a part of that without (issue 4)."""


async def played(house: House, pair: Pair, *, framed: bool) -> float:
    """The hit share of a session of ten turns on an upstream of its own."""
    upstream = pair.upstream()
    lenient(upstream)
    house.upstream.script = upstream
    session = pair.client(house.through if framed else house.past)
    session.size = 2500
    if isinstance(session, ClaudeCode):
        session.drops = True
    for turn in range(10):
        await session.turn(f"Question {turn}", 2, 1)
    assert upstream.refused == []
    assert len(upstream.hits) == 30
    return share(upstream.hits)


def lenient(upstream: Upstream) -> None:
    """What does not fit its prefix is dropped, so that a broken build can be measured."""
    if isinstance(upstream, Codices):
        upstream.removes = True


@ALL_CLIENTS
async def test_frames_keep_the_prompt_cache(pair: Pair, tmp_path: Path) -> None:
    """With frames at least 99 % of the share of cached tokens without."""
    async with housed(pair.upstream(), tmp_path) as house:
        baseline = await played(house, pair, framed=False)
        framed = await played(house, pair, framed=True)
    print(f"{framed:.4f} of {baseline:.4f}: {framed / baseline:.4f}")
    assert baseline > 0.8
    assert framed >= BAR * baseline


@CLIENTS
async def test_fresh_nonces_would_lose_the_prompt_cache(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: a build that draws anew on every request scores below 20 %."""
    forget_nonces(monkeypatch)
    async with housed(pair.upstream(), tmp_path) as house:
        framed = await played(house, pair, framed=True)
    print(f"{framed:.4f}")
    assert framed < 0.2
