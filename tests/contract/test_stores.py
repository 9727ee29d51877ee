"""What every store must do, whatever it is made of."""

import asyncio

import pytest

from policies.decision import FrameRow
from proxy.state import StateError, Store
from tests.contract.standing import Clock

ROW = FrameRow("0" * 32, "read", intro=True)
OTHER = FrameRow("1" * 32, "mail.read", intro=False)
DAY = 86_400.0


def digest(number: int) -> bytes:
    return number.to_bytes(32, "big")


async def test_the_key_is_32_bytes_and_stays(store: Store) -> None:
    """The key of a store does not change while it is open."""
    assert len(store.key) == 32
    assert store.key == store.key
    assert len(set(store.key)) > 4


async def test_what_was_never_claimed_is_unknown(store: Store) -> None:
    """An unknown digest is absent; asking for nothing gives nothing."""
    assert dict((await store.read([digest(1)])).frames) == {}
    assert dict((await store.read([])).frames) == {}
    assert dict((await store.claim([])).frames) == {}


async def test_a_claimed_row_comes_back_whole(store: Store) -> None:
    """Nonce, field and intro are what was claimed, for each digest its own."""
    claims = [(digest(1), ROW), (digest(2), OTHER)]
    assert dict((await store.claim(claims)).frames) == dict(claims)
    assert dict((await store.read([digest(2), digest(3), digest(1)])).frames) == dict(claims)


async def test_the_first_write_wins(store: Store) -> None:
    """A later claim changes nothing and is told which row holds."""
    await store.claim([(digest(1), ROW)])
    assert dict((await store.claim([(digest(1), OTHER), (digest(2), OTHER)])).frames) == {
        digest(1): ROW,
        digest(2): OTHER,
    }
    assert dict((await store.read([digest(1)])).frames) == {digest(1): ROW}


async def test_within_one_claim_the_first_wins_too(store: Store) -> None:
    """Two rows for one digest in one claim: the first holds for both."""
    claimed = (await store.claim([(digest(1), ROW), (digest(1), OTHER)])).frames
    assert dict(claimed) == {digest(1): ROW}


async def test_parallel_claims_of_one_digest_agree(store: Store) -> None:
    """Everybody who claims at the same time gets the same row."""
    rows = [FrameRow(f"{number:032x}", "read", intro=False) for number in range(40)]
    answers = await asyncio.gather(*(store.claim([(digest(7), row)]) for row in rows))
    assert len({answer.frames[digest(7)] for answer in answers}) == 1


async def test_notes_are_kept_beside_frames(store: Store) -> None:
    """A note is text under a digest; frames and notes do not see each other's digests."""
    claimed = await store.claim([(digest(1), ROW)], [(digest(1), "pins"), (digest(2), "raw")])
    assert dict(claimed.frames) == {digest(1): ROW}
    assert dict(claimed.notes) == {digest(1): "pins", digest(2): "raw"}
    found = await store.read([digest(1), digest(2)], [digest(2), digest(3)])
    assert (dict(found.frames), dict(found.notes)) == ({digest(1): ROW}, {digest(2): "raw"})


async def test_what_was_found_is_in_no_representation(store: Store) -> None:
    """Neither nonces nor notes, which may be texts that a model was told."""
    found = await store.claim([(digest(1), ROW)], [(digest(1), "pins")])
    assert repr(found) == "<1 rows, 1 notes>"


async def test_nothing_is_written_where_a_note_says_something_else(store: Store) -> None:
    """Who has decided by what does not hold leaves no trace, and is told what there is."""
    await store.claim([(digest(1), ROW)], [(digest(1), "pins")])
    lost = await store.claim(
        [(digest(1), OTHER), (digest(2), OTHER)], [(digest(3), "turn"), (digest(1), "other")]
    )
    assert (dict(lost.frames), dict(lost.notes)) == ({digest(1): ROW}, {digest(1): "pins"})
    found = await store.read([digest(2)], [digest(3)])
    assert (dict(found.frames), dict(found.notes)) == ({}, {})
    same = await store.claim([(digest(2), OTHER)], [(digest(3), "turn"), (digest(1), "pins")])
    assert dict(same.frames) == {digest(2): OTHER}
    assert dict(same.notes) == {digest(1): "pins", digest(3): "turn"}


async def test_a_row_comes_back_with_its_cut_and_its_encoding(store: Store) -> None:
    """How much of a text is kept, also none of it, and how it is encoded, is part of a row."""
    claims = [
        (digest(1), FrameRow("2" * 32, "mail", intro=False, kept=20_000, encode="json")),
        (digest(2), FrameRow("3" * 32, "mail", intro=True, kept=0)),
    ]
    assert dict((await store.claim(claims)).frames) == dict(claims)
    assert dict((await store.read([digest(1), digest(2)])).frames) == dict(claims)


async def test_what_was_not_seen_for_long_is_forgotten(store: Store, clock: Clock) -> None:
    """Rows whose last use is longer ago than asked for go; the number of the gone is told."""
    await store.claim([(digest(1), ROW)], [(digest(1), "old")])
    clock.now += 50 * DAY
    await store.claim([(digest(2), OTHER)], [(digest(2), "new")])
    assert await store.expire(45 * DAY) == 2
    assert await store.expire(45 * DAY) == 0
    found = await store.read([digest(1), digest(2)], [digest(1), digest(2)])
    assert (dict(found.frames), dict(found.notes)) == ({digest(2): OTHER}, {digest(2): "new"})


async def test_what_is_read_counts_as_seen(store: Store, clock: Clock) -> None:
    """Reading refreshes rows that were seen longer ago than asked for, and no others."""
    await store.claim([(digest(1), ROW), (digest(2), OTHER)], [(digest(1), "pins")])
    clock.now += DAY + 2
    await store.read([digest(1)], [digest(1)], refresh=DAY)
    await store.read([digest(2)])
    await store.claim([])  # behind the refreshing, which nobody waits for
    assert await store.expire(DAY) == 1
    found = await store.read([digest(1), digest(2)], [digest(1)])
    assert (dict(found.frames), dict(found.notes)) == ({digest(1): ROW}, {digest(1): "pins"})


async def test_what_is_claimed_again_counts_as_seen(store: Store, clock: Clock) -> None:
    """Whoever claims what was there already uses it, so it lives on."""
    await store.claim([(digest(1), ROW), (digest(2), OTHER)], [(digest(1), "a"), (digest(2), "b")])
    clock.now += DAY + 2
    claimed = await store.claim([(digest(1), OTHER)], [(digest(1), "a")])
    assert dict(claimed.frames) == {digest(1): ROW}
    assert await store.expire(DAY) == 2
    found = await store.read([digest(1), digest(2)], [digest(1), digest(2)])
    assert (dict(found.frames), dict(found.notes)) == ({digest(1): ROW}, {digest(1): "a"})


async def test_a_row_that_was_just_seen_is_not_written_again(store: Store, clock: Clock) -> None:
    """Within the time asked for a read leaves the day of the last use alone."""
    await store.claim([(digest(1), ROW)])
    clock.now += DAY / 2
    await store.read([digest(1)], refresh=DAY)
    await store.claim([])
    assert await store.expire(DAY / 4) == 1


async def test_many_rows_are_forgotten_bit_by_bit(store: Store, clock: Clock) -> None:
    """One call forgets a bounded number, so that nobody waits long behind it; repeated, all go."""
    await store.claim([(digest(n), ROW) for n in range(2500)])
    clock.now += 2 * DAY
    gone = []
    while gone[-1:] != [0]:
        gone.append(await store.expire(DAY))
    assert sum(gone) == 2500
    assert dict((await store.read([digest(7)])).frames) == {}


async def test_thousands_of_rows_in_one_call(store: Store) -> None:
    """A long conversation is one claim and one read."""
    claims = [(digest(n), FrameRow(f"{n:032x}", "read", intro=False)) for n in range(2500)]
    assert dict((await store.claim(claims)).frames) == dict(claims)
    assert dict((await store.read([one for one, _ in claims])).frames) == dict(claims)


async def test_a_closed_store_says_so(store: Store) -> None:
    """After closing, twice if need be, reading and writing are typed errors."""
    await store.claim([(digest(1), ROW)])
    await store.close()
    await store.close()
    with pytest.raises(StateError, match="closed"):
        await store.read([digest(1)])
    with pytest.raises(StateError, match="closed"):
        await store.claim([(digest(1), ROW)])
    with pytest.raises(StateError, match="closed"):
        await store.expire(DAY)
