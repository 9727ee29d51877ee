"""Long sessions through a real node: strict upstreams accept every request, in every dialect."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from proxy.demo.evidence import framed
from tests.strict.anthropic import Claude
from tests.strict.chat import Chats
from tests.strict.claude_code import ClaudeCode
from tests.strict.house import housed
from tests.strict.pairs import ALL_CLIENTS, CLIENTS, ROUNDS, Pair, all_framed, fine
from tests.strict.reading import result_texts
from tests.strict.sabotage import forget_nonces


@ALL_CLIENTS
async def test_thirty_turns_are_accepted(pair: Pair, tmp_path: Path) -> None:
    """Thirty turns with none to three rounds of one to three calls: the upstream accepts every
    request, every result arrives framed, and no history ever reads differently."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path) as house:
        session = pair.client(house.through)
        for turn in range(30):
            await session.turn(f"Question {turn}", *ROUNDS[turn % 5])
        fine(house, upstream)
        assert house.witness.compared > 1000
        assert len(upstream.accepted) == session.requests > 60
        assert len(result_texts(house.newest)) >= 48
        all_framed(house)
        assert set(house.notices) == {""}


@CLIENTS
async def test_restart_in_the_middle_of_a_loop_changes_nothing(pair: Pair, tmp_path: Path) -> None:
    """A new process on the same state goes on where the old one stopped, with calls open."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path) as house:
        session = pair.client(house.through)
        for turn in range(3):
            session.ask(f"Question {turn}", 2, 1, 1)
            assert await session.step()
            await house.open()
            assert await session.step()
            assert await session.step()
            await house.open()
            assert not await session.step()
        fine(house, upstream)
        all_framed(house)


@CLIENTS
async def test_resume_under_a_new_session_id_changes_nothing(pair: Pair, tmp_path: Path) -> None:
    """The session id is no part of what a conversation is known by."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path) as house:
        session = pair.client(house.through)
        for turn in range(3):
            await session.turn(f"Question {turn}", 2, 1)
            session.resume()
            await house.open()
        fine(house, upstream)
        all_framed(house)


@CLIENTS
async def test_fork_at_every_message_is_accepted(pair: Pair, tmp_path: Path) -> None:
    """From every request of a session another one branches off, and later the first goes on."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path) as house:
        session = pair.client(house.through)
        for turn in range(2):
            await session.turn(f"Question {turn}", 2, 1)
        for number, snapshot in enumerate(list(session.snapshots)):
            branch = snapshot.fork(f"branch {number}")
            await branch.step()
            while await branch.step():
                pass
            await branch.turn(f"Something else {number}", 1)
        await session.turn("And now?", 2)
        fine(house, upstream)
        all_framed(house)


@CLIENTS
async def test_rewind_is_accepted(pair: Pair, tmp_path: Path) -> None:
    """Turns are taken back and others played instead, twice to the same place."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path) as house:
        session = pair.client(house.through)
        for turn in range(5):
            await session.turn(f"Question {turn}", 2, 1)
        for turns, question in ((2, "Once more"), (1, "And again"), (1, "Once more"), (4, "Anew")):
            session.rewind(turns)
            await session.turn(question, 1, 2)
        fine(house, upstream)
        all_framed(house)


@CLIENTS
async def test_sessions_side_by_side_do_not_touch_each_other(pair: Pair, tmp_path: Path) -> None:
    """Four sessions at once with the same questions and results: each has nonces of its own."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path) as house:
        sessions = [pair.client(house.through) for _ in range(4)]
        for number, session in enumerate(sessions):
            session.label, session.found = f"session {number}", 100 * number

        async def play(number: int) -> None:
            for turn in range(3):
                await sessions[number].turn(f"Question {turn} of {number}", 2, 1)

        await asyncio.gather(*map(play, range(4)))
        fine(house, upstream)
        nonces = set()
        for session in sessions:
            await session.turn("And now?")
            frames = [framed(text) for text in result_texts(house.newest)]
            nonces |= {frame.nonce for frame in frames if frame}
            all_framed(house)
        alone = len(nonces) / 4
        assert alone == int(alone) >= 6


async def test_oauth_token_renewed_each_turn_changes_nothing(tmp_path: Path) -> None:
    """A credential is no part of what a unit is known by."""
    upstream = Claude()
    async with housed(upstream, tmp_path) as house:
        session = ClaudeCode(house.through, renews=True)
        for turn in range(5):
            await session.turn(f"Question {turn}", 2, 1)
        fine(house, upstream)
        tokens = {one.header("authorization") for one in house.upstream.requests}
        assert len(tokens) == 5
        all_framed(house)


async def test_user_messages_merged_later_change_nothing(tmp_path: Path) -> None:
    """Two user messages in a row come as one from some turn on, the first ones included, and as two
    again: no part of what anything is known by."""
    upstream = Claude()
    async with housed(upstream, tmp_path) as house:
        session = ClaudeCode(house.through)
        for turn in range(6):
            session.merges = turn in (1, 2, 5)
            await session.turn(f"Question {turn}", 2, 1)
            await house.open()
        fine(house, upstream)
        all_framed(house)


async def test_sub_agents_under_one_session_id_are_accepted(tmp_path: Path) -> None:
    """Four sub-agents at once between the calls of their parent, all with the parent's session."""
    upstream = Claude()
    async with housed(upstream, tmp_path) as house:
        parent = ClaudeCode(house.through)
        for turn in range(3):
            parent.ask(f"Question {turn}", 2, 1)
            agents = [parent.subagent(f"agent-{turn}-{number}") for number in range(4)]
            assert await parent.step()
            await asyncio.gather(*(agent.turn("Look around", 2, 1) for agent in agents))
            assert await parent.step()
            assert not await parent.step()
        fine(house, upstream)
        assert {one.header("x-claude-code-session-id") for one in house.upstream.requests} == {
            parent.session
        }


async def test_tokens_are_counted_over_what_would_be_sent(tmp_path: Path) -> None:
    """`count_tokens` before, between and after requests is accepted, and reads as the request."""
    upstream = Claude()
    async with housed(upstream, tmp_path) as house:
        session = ClaudeCode(house.through)
        for turn in range(3):
            session.ask(f"Question {turn}", 2, 1)
            for _ in range(3):
                path = "/v1/messages/count_tokens?beta=true"
                counted = await house.through(path, session.body(), session.headers())
                assert counted.json()["input_tokens"] > 0
                await session.step()
        fine(house, upstream)
        all_framed(house)


@CLIENTS
async def test_fresh_nonces_are_noticed(
    pair: Pair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative control: with nonces drawn anew on every request the witness sees histories that
    read differently, and an upstream that seals its answers refuses."""
    forget_nonces(monkeypatch)
    upstream = pair.upstream()
    async with housed(upstream, tmp_path) as house:
        session = pair.client(house.through)
        with suppress(AssertionError):
            await session.turn("Question", 2, 1)
        assert house.witness.broken
        assert {fault.rule for fault in upstream.refused} == (
            set() if isinstance(upstream, Chats) else {"binding"}
        )
