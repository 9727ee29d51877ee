"""Long sessions of which only the turn leaves: strict upstreams accept every request."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from policies.cut import Window
from policies.turn_minimal import allowlist
from proxy.demo.evidence import framed
from proxy.ledger import Ledger
from tests.strict.anthropic import Claude
from tests.strict.claude_code import ClaudeCode
from tests.strict.house import House, housed
from tests.strict.pairs import ALL_CLIENTS, CLIENTS, ROUNDS, SEALING_CLIENTS, Pair, Upstream
from tests.strict.reading import bare_results, result_texts, sealed
from tests.strict.sessions import Session
from tests.strict.test_adopted import past
from tests.strict.turns import Turns, listed, showing

CUTS = [(mode, strategy) for mode in ("strict", "dialogue") for strategy in ("drop", "elide")]
ALL_CUTS = pytest.mark.parametrize(("mode", "strategy"), CUTS)
MODES = pytest.mark.parametrize("mode", ["strict", "dialogue"])


def fine(house: House, upstream: Upstream) -> None:
    """Nothing was refused, by the upstream or by the node, and every result is framed."""
    assert not upstream.refused, upstream.refused
    assert set(house.notices) == {""}, house.notices
    assert not bare_results({**house.newest, **_framable(house)})


def _framable(house: House) -> dict[str, list[object]]:
    """The newest messages without pairs that were emptied."""
    key = "messages" if "messages" in house.newest else "input"
    return {key: [one for one in listed(house.newest) if "left out by Transom" not in str(one)]}


def followed(house: House, pair: Pair, mode: str, strategy: str = "drop") -> tuple[Session, Turns]:
    """A client whose every request is held against what may leave."""
    house.witness.saw = lambda *bodies: None  # type: ignore[method-assign]
    turns = Turns(house, mode, strategy)
    return pair.client(turns.post), turns


@ALL_CLIENTS
async def test_thirty_turns_are_accepted_whatever_they_show(pair: Pair, tmp_path: Path) -> None:
    """Under every mode and strategy, over more than two hundred requests of which something was
    taken out: no orphan, no empty message, no result of another turn, and within a turn the same
    view throughout, restarts included."""
    removed = 0
    for number, (mode, strategy) in enumerate(CUTS):
        upstream = pair.upstream()
        folder = tmp_path / str(number)
        folder.mkdir()
        async with housed(upstream, folder, showing(mode, strategy)) as house:
            session, turns = followed(house, pair, mode, strategy)
            session.size = 600
            for turn in range(30):
                session.ask(f"Question {turn}", *ROUNDS[turn % 5])
                while await session.step():
                    if turn % 7 == 3:
                        await house.open(showing(mode, strategy))
            fine(house, upstream)
            assert len(upstream.accepted) == session.requests > 60
            assert turns.told > 20 or (mode, strategy) == ("dialogue", "elide")
            removed += turns.removed
    assert removed >= 200


@CLIENTS
@ALL_CUTS
async def test_forks_and_rewinds_are_accepted(
    pair: Pair, mode: str, strategy: str, tmp_path: Path
) -> None:
    """Another way from every request of a session, and turns that are taken back."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path, showing(mode, strategy)) as house:
        session, _ = followed(house, pair, mode, strategy)
        for turn in range(3):
            await session.turn(f"Question {turn}", 2, 1)
        for number, snapshot in enumerate(list(session.snapshots)[3::2]):
            branch = snapshot.fork(f"branch {number}")
            while await branch.step():
                pass
            await branch.turn(f"Something else {number}", 1)
        for turns, question in ((2, "Once more"), (1, "And again"), (1, "Once more")):
            session.rewind(turns)
            await session.turn(question, 1, 2)
        fine(house, upstream)


@CLIENTS
async def test_cut_moves_only_at_a_turn(pair: Pair, tmp_path: Path) -> None:
    """Another mode, while calls are open, is for the next turn; back again likewise, and what was
    thought under one of them is not sent under the other."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path, showing("off")) as house:
        session, _ = followed(house, pair, "off")
        await session.turn("Question 0", 2, 1)
        order = ["off", "strict", "dialogue", "off", "strict", "off", "off"]
        for turn, (mode, later) in enumerate(zip(order, [*order[1:], "off"], strict=True), 1):
            watched = Turns(house, mode)
            session.post = watched.post
            session.ask(f"Question {turn}", 1, 1, 1)
            assert await session.step()
            await house.open(showing(later))
            while await session.step():
                pass
            first = result_texts({"messages": session.history})[0]
            assert (first in str_of(house.newest)) is (mode == "off")
        assert not upstream.refused, upstream.refused


def str_of(body: dict[str, object]) -> str:
    """All texts of the results in a body."""
    return "\0".join(result_texts(body))


@CLIENTS
async def test_parallel_results_and_ids_of_the_turn_stay(pair: Pair, tmp_path: Path) -> None:
    """All results of calls made at once arrive, in order and under their ids."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path, showing("strict")) as house:
        session, _ = followed(house, pair, "strict")
        await session.turn("Question 0", 3, 2)
        session.ask("Question 1", 3, 3)
        while await session.step():
            pass
        rest = allowlist(session.body(), "strict").rest
        turn = {"messages": listed(session.body())[-rest:]}
        sent, came = result_texts(house.newest), result_texts(turn)
        assert len(sent) == len(came) >= 6
        for old, new in zip(came, sent, strict=True):
            frame = framed(new)
            assert frame is not None
            assert frame.content == old or "TRANSOM_DATA" in old
        assert _ids(house.newest) == _ids(turn)
        fine(house, upstream)


def _ids(body: dict[str, list[object]]) -> list[str]:
    """Ids of calls and results, in order."""
    return re.findall(r"'((?:toolu|call)_[^']+)'", str(listed(body)))


@SEALING_CLIENTS
@MODES
async def test_turn_that_began_elsewhere_is_cut_at_once(
    pair: Pair, mode: str, tmp_path: Path
) -> None:
    """A history from elsewhere, entered while calls are open: what other turns found does not
    leave for the sake of thinking that is bound to it; that is left out, identically."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path, showing(mode)) as house:
        session, turns = followed(house, pair, mode)
        session.post = house.past
        for turn in range(3):
            await session.turn(f"Question {turn}", 2, 1)
        session.ask("Question 3", 1, 1, 1, 1)
        assert await session.step()
        assert await session.step()
        session.post = turns.post
        seals = sealed(session.body())
        assert await session.step()
        assert not sealed(house.newest)
        await house.open(showing(mode))
        while await session.step():
            assert not set(sealed(house.newest)) & set(seals)
        assert sealed(house.newest)
        assert not upstream.refused
        await session.turn("Question 4", 2, 1)
        assert not upstream.refused


@CLIENTS
@MODES
async def test_turns_past_transom_in_between_do_no_harm(
    pair: Pair, mode: str, tmp_path: Path
) -> None:
    """Two turns past it, and back: the upstream accepts what is left of the history."""
    upstream = pair.upstream()
    async with housed(upstream, tmp_path, showing(mode)) as house:
        session, turns = followed(house, pair, mode)
        for turn in range(6):
            past(house, session, upstream, past=turn in (2, 3))
            if turn not in (2, 3):
                session.post = turns.post
            await session.turn(f"Question {turn}", 2, 1)
        assert not upstream.refused, upstream.refused


async def test_user_messages_merged_later_change_nothing(tmp_path: Path) -> None:
    """How a client packs its messages is no part of what a turn is known by."""
    upstream = Claude()
    async with housed(upstream, tmp_path, showing("dialogue")) as house:
        house.witness.saw = lambda *bodies: None  # type: ignore[method-assign]
        session = ClaudeCode(house.through)
        for turn in range(5):
            session.merges = turn in (1, 2, 4)
            session.ask(f"Question {turn}", 2, 1)
            assert await session.step()
            session.merges = not session.merges
            while await session.step():
                await house.open(showing("dialogue"))
        fine(house, upstream)


async def test_equal_requests_of_a_turn_are_the_same_bytes(tmp_path: Path) -> None:
    """Posted six times, before an answer and after it, and from a new process."""
    upstream = Claude()
    async with housed(upstream, tmp_path, showing("dialogue")) as house:
        house.witness.saw = lambda *bodies: None  # type: ignore[method-assign]
        session = ClaudeCode(house.through)
        await session.turn("Question 0", 2, 1)
        session.ask("Question 1", 3, 1)
        assert await session.step()
        body, headers = session.body(), session.headers()
        for number in range(6):
            if number == 3:
                await house.open(showing("dialogue"))
            await house.through(session.path, body, headers)
        assert len({one.body for one in house.upstream.requests[-6:]}) == 1


async def test_notice_is_kept_when_tools_change_within_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the first request of a turn told stays so, whatever is granted later."""
    upstream = Claude()
    asked: list[Window | None] = []
    real = Ledger.window

    async def window(*given: object, **more: object) -> Window | None:
        asked.append(await real(*given, **more))  # type: ignore[arg-type]
        return asked[-1]

    monkeypatch.setattr(Ledger, "window", window)
    async with housed(upstream, tmp_path, showing("dialogue")) as house:
        house.witness.saw = lambda *bodies: None  # type: ignore[method-assign]
        session = ClaudeCode(house.through)
        await session.turn("Question 0", 2, 1)
        session.ask("Question 1", 1, 1)
        assert await session.step()
        body = session.body()
        body["tools"] = [replace_name(tool) for tool in body["tools"]]
        await house.through(session.path, body, session.headers())
        assert asked[-1] is not None
        assert "(Read)" in asked[-1].notice
        assert asked[-1].notice in house.upstream.requests[-1].body.decode()
        assert replace(asked[-1], notice="").mode == "dialogue"


def replace_name(tool: dict[str, object]) -> dict[str, object]:
    return {**tool, "name": f"Other{tool['name']}"}
