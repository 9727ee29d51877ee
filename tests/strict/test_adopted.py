"""What a model has read elsewhere: histories that begin, or go on for a while, past Transom."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.strict.anthropic import Claude
from tests.strict.claude_code import ClaudeCode
from tests.strict.house import House, housed
from tests.strict.pairs import CLIENTS, SEALING_CLIENTS, Pair, Upstream, all_framed, fine
from tests.strict.reading import bare_results, result_texts, sealed
from tests.strict.responses import Codices
from tests.strict.sessions import Session
from tests.strict.witness import Witness


def past(house: House, session: Session, upstream: Upstream, *, past: bool) -> None:
    """Let the client talk to the upstream itself, or through the node again. What is bound to
    frames does not fit a history without them; an account may have that dropped, not refused."""
    session.post = house.past if past else house.through
    if isinstance(session, ClaudeCode):
        session.drops = past
    if isinstance(upstream, Codices):
        upstream.removes = past


@SEALING_CLIENTS
async def test_sealed_history_leaves_as_it_came_until_the_operator_speaks(
    pair: Pair, tmp_path: Path
) -> None:
    """Ten turns past Transom, the eleventh through it from its second request on: what thinking is
    bound to leaves as it came, without policy text. With the next turn everything is framed and the
    old thinking is left out, and that reads the same ever after."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path) as house:
        session = pair.client(house.past)
        for turn in range(10):
            await session.turn(f"Question {turn}", 2, 1)
        session.ask("Question 10", 1, 1, 1)
        assert await session.step()
        session.post = house.through
        sent, seals = result_texts(session.body()), sealed(session.body())
        assert await session.step()
        arrived = house.newest
        assert result_texts(arrived)[:-1] == sent[:-1]
        assert bare_results({**arrived, **_end(arrived)}) == []
        assert sealed(arrived) == seals
        assert "data envelope" not in str(arrived)
        assert house.notices[-1] == "adopted"
        assert await session.step()
        await house.open()
        assert not await session.step()
        fine(house, upstream)

        house.witness = Witness()
        seals = sealed(session.body())
        await session.turn("Question 11", 2, 1)
        all_framed(house)
        assert not set(sealed(house.newest)) & set(seals)
        assert "data envelope" in str(house.newest)
        await house.open()
        for turn in (12, 13):
            await session.turn(f"Question {turn}", 1, 1)
            await house.open()
        fine(house, upstream)
        assert len(sealed(house.newest)) >= 8
        all_framed(house)


def _end(body: dict[str, list[object]]) -> dict[str, list[object]]:
    """The last message or item alone."""
    key = "messages" if "messages" in body else "input"
    return {key: body[key][-1:]}


@CLIENTS
async def test_history_is_framed_with_the_first_prompt_through_transom(
    pair: Pair, tmp_path: Path
) -> None:
    """Ten turns past Transom, the next begins through it: all of it is framed, none of the old
    thinking is sent, and it stays so."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path) as house:
        session = pair.client(house.past)
        for turn in range(10):
            await session.turn(f"Question {turn}", 2, 1)
        session.post = house.through
        seals = sealed(session.body())
        for turn in range(10, 13):
            await session.turn(f"Question {turn}", 1, 2)
            all_framed(house)
            assert not set(sealed(house.newest)) & set(seals)
            await house.open()
        fine(house, upstream)


@CLIENTS
async def test_unsealed_history_is_framed_at_once(pair: Pair, tmp_path: Path) -> None:
    """Where no thinking is bound to it, a history from elsewhere is framed in the middle of a loop,
    and reads the same ever after."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path) as house:
        session = pair.client(house.past)
        await session.turn("Question 0", 2, 1)
        session.ask("Question 1", 1, 1, 1)
        assert await session.step()
        for item in session.history:
            if isinstance(item.get("content"), list):
                blocks = item["content"]
                item["content"] = [b for b in blocks if "thinking" not in b["type"]]
        session.history = [item for item in session.history if item.get("type") != "reasoning"]
        session.marks = [0]
        session.post = house.through
        while await session.step():
            all_framed(house)
        await house.open()
        await session.turn("Question 2", 1)
        fine(house, upstream)
        all_framed(house)


@CLIENTS
async def test_two_turns_past_transom_in_between_are_framed_afterwards(
    pair: Pair, tmp_path: Path
) -> None:
    """Turns 1 to 4 through Transom, 5 and 6 past it, 7 on through it again: all of it framed."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path) as house:
        session = pair.client(house.through)
        for turn in range(1, 10):
            past(house, session, upstream, past=turn in (5, 6))
            await session.turn(f"Question {turn}", 2, 1)
            if turn > 6:
                all_framed(house)
                await house.open()
            if turn in (4, 7):
                fine(house, upstream)
                house.witness = Witness()
        fine(house, upstream)


LOST = ["one unit", "all units", "all but units", "everything"]


def lose(path: Path, lost: str) -> None:
    """Delete rows of the ledger; the key check in `meta` stays."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        named = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = {name for (name,) in named} - {"meta"}
        assert "frames" in tables
        assert tables > {"frames"}, "there is no row per conversation"
        match lost:
            case "one unit":
                one = "SELECT digest FROM frames LIMIT 1"
                database.execute(f"DELETE FROM frames WHERE digest IN ({one})")
                return
            case "all units":
                tables = {"frames"}
            case "all but units":
                tables -= {"frames"}
        for table in tables:
            database.execute(f"DELETE FROM {table}")


@CLIENTS
@pytest.mark.parametrize("lost", LOST)
async def test_lost_rows_are_made_good_with_the_next_prompt(
    pair: Pair, lost: str, tmp_path: Path
) -> None:
    """Rows of the ledger are gone: the next turn is accepted, everything is framed again, and from
    then on reads the same."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path) as house:
        session = pair.client(house.through)
        for turn in range(2):
            await session.turn(f"Question {turn}", 2, 1)
        await house.close()
        lose(tmp_path / "transom.db", lost)
        await house.open()
        house.witness = Witness()
        for turn in range(2, 4):
            await session.turn(f"Question {turn}", 1, 1)
            all_framed(house)
            await house.open()
        fine(house, upstream)


@SEALING_CLIENTS
@pytest.mark.parametrize("lost", LOST[:3])
async def test_rows_lost_while_calls_are_open_do_no_harm(
    pair: Pair, lost: str, tmp_path: Path
) -> None:
    """As long as something is remembered of the conversation, thinking that is bound to what was
    lost is not sent, and the loop goes on."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path) as house:
        session = pair.client(house.through)
        await session.turn("Question 0", 2, 1)
        session.ask("Question 1", 1, 1, 1)
        assert await session.step()
        assert await session.step()
        await house.close()
        lose(tmp_path / "transom.db", lost)
        await house.open()
        house.witness = Witness()
        while await session.step():
            pass
        fine(house, upstream)


@CLIENTS
async def test_return_while_calls_are_open_is_accepted(pair: Pair, tmp_path: Path) -> None:
    """Three turns through Transom, the fourth past it and back through it in the middle: accepted,
    and framed from the next prompt on."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path) as house:
        session = pair.client(house.through)
        for turn in range(3):
            await session.turn(f"Question {turn}", 2, 1)
        past(house, session, upstream, past=True)
        session.ask("Question 3", 1, 1, 1)
        assert await session.step()
        assert await session.step()
        past(house, session, upstream, past=False)
        house.witness = Witness()
        while await session.step():
            pass
        fine(house, upstream)
        house.witness = Witness()
        for turn in (4, 5):
            await session.turn(f"Question {turn}", 2, 1)
            all_framed(house)
        fine(house, upstream)


@CLIENTS
async def test_adopted_history_may_be_forked_rewound_and_asked_again(
    pair: Pair, tmp_path: Path
) -> None:
    """From every request since a history was adopted a branch goes off, the first goes back and
    another way, and one more begins with the very same prompt: all accepted, all framed."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path) as house:
        session = pair.client(house.past)
        await session.turn("Question 0", 2, 1)
        session.ask("Question 1", 1, 1)
        assert await session.step()
        session.post, session.snapshots = house.through, []
        while await session.step():
            pass
        await session.turn("Question 2", 2, 1)
        await session.turn("Question 3", 1)
        for number, snapshot in enumerate(list(session.snapshots)):
            house.witness = Witness()
            branch = snapshot.fork(f"branch {number}")
            while await branch.step():
                pass
            assert not house.witness.broken, house.witness.broken
            house.witness = Witness()
            for turn in range(2):
                await branch.turn(f"Something else {turn} of {number}", 1)
                all_framed(house)
            fine(house, upstream)
        house.witness = Witness()
        session.rewind(3)
        await session.turn("Question 1, but otherwise", 1)
        all_framed(house)
        again = pair.client(house.through)
        again.label, again.found = "again", 100
        await again.turn("Question 0", 2, 1)
        all_framed(house)
        assert not upstream.refused


async def test_adopted_history_may_be_repacked(tmp_path: Path) -> None:
    """A history from elsewhere whose client merges messages, renews tokens, takes new session ids
    and meets a new process with every turn."""
    upstream = Claude()
    async with housed(upstream, tmp_path) as house:
        session = ClaudeCode(house.past, renews=True)
        for turn in range(3):
            await session.turn(f"Question {turn}", 2, 1)
        session.post = house.through
        for turn in range(3, 8):
            session.merges = turn in (4, 5, 7)
            await session.turn(f"Question {turn}", 2, 1)
            session.resume()
            await house.open()
            all_framed(house)
        fine(house, upstream)
