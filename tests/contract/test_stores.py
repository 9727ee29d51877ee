"""What every store must do, whatever it is made of."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from policies.decision import FrameRow
from proxy.state import StateError, Store, open_store

ROW = FrameRow("0" * 32, "read", intro=True)
OTHER = FrameRow("1" * 32, "mail.read", intro=False)


def digest(number: int) -> bytes:
    return number.to_bytes(32, "big")


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    urls = {"memory": "memory:", "sqlite": f"sqlite://{tmp_path}/state/transom.db"}
    opened = open_store(urls[request.param], clock=lambda: 1_700_000_000.9)
    yield opened
    await opened.close()


async def test_the_key_is_32_bytes_and_stays(store: Store) -> None:
    """The key of a store does not change while it is open."""
    assert len(store.key) == 32
    assert store.key == store.key
    assert len(set(store.key)) > 4


async def test_what_was_never_claimed_is_unknown(store: Store) -> None:
    """An unknown digest is absent; asking for nothing gives nothing."""
    assert dict(await store.frames([digest(1)])) == {}
    assert dict(await store.frames([])) == {}
    assert dict(await store.claim_frames([])) == {}


async def test_a_claimed_row_comes_back_whole(store: Store) -> None:
    """Nonce, field and intro are what was claimed, for each digest its own."""
    claims = [(digest(1), ROW), (digest(2), OTHER)]
    assert dict(await store.claim_frames(claims)) == dict(claims)
    assert dict(await store.frames([digest(2), digest(3), digest(1)])) == dict(claims)


async def test_the_first_write_wins(store: Store) -> None:
    """A later claim changes nothing and is told which row holds."""
    await store.claim_frames([(digest(1), ROW)])
    assert dict(await store.claim_frames([(digest(1), OTHER), (digest(2), OTHER)])) == {
        digest(1): ROW,
        digest(2): OTHER,
    }
    assert dict(await store.frames([digest(1)])) == {digest(1): ROW}


async def test_within_one_claim_the_first_wins_too(store: Store) -> None:
    """Two rows for one digest in one claim: the first holds for both."""
    claimed = await store.claim_frames([(digest(1), ROW), (digest(1), OTHER)])
    assert dict(claimed) == {digest(1): ROW}


async def test_parallel_claims_of_one_digest_agree(store: Store) -> None:
    """Everybody who claims at the same time gets the same row."""
    rows = [FrameRow(f"{number:032x}", "read", intro=False) for number in range(40)]
    answers = await asyncio.gather(*(store.claim_frames([(digest(7), row)]) for row in rows))
    assert len({answer[digest(7)] for answer in answers}) == 1


async def test_thousands_of_rows_in_one_call(store: Store) -> None:
    """A long conversation is one claim and one read."""
    claims = [(digest(n), FrameRow(f"{n:032x}", "read", intro=False)) for n in range(2500)]
    assert dict(await store.claim_frames(claims)) == dict(claims)
    assert dict(await store.frames([one for one, _ in claims])) == dict(claims)


async def test_a_closed_store_says_so(store: Store) -> None:
    """After closing, twice if need be, reading and writing are typed errors."""
    await store.claim_frames([(digest(1), ROW)])
    await store.close()
    await store.close()
    with pytest.raises(StateError, match="closed"):
        await store.frames([digest(1)])
    with pytest.raises(StateError, match="closed"):
        await store.claim_frames([(digest(1), ROW)])
