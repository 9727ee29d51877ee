"""Forgetting, in rounds beside everything else."""

import asyncio
import io

import pytest

from proxy import logs
from proxy.state.base import StateError
from proxy.state.memory import MemoryStore
from proxy.sweeper import Sweeper


class Counting(MemoryStore):
    """Tells of every call; what goes is scripted."""

    def __init__(self, *gone: int | Exception) -> None:
        super().__init__()
        self.gone = list(gone)
        self.asked: list[float] = []
        self.done = asyncio.Event()

    async def expire(self, keep: float) -> int:
        self.asked.append(keep)
        if not self.gone:
            self.done.set()
            return 0
        if isinstance(first := self.gone.pop(0), Exception):
            raise first
        return first


async def test_a_round_goes_on_until_nothing_goes() -> None:
    """Bit by bit, by the time that is set when each bit is asked for."""
    store = Counting(1000, 7)
    keeps = iter([10.0, 20.0, 30.0])
    sweeper = Sweeper(store, lambda: next(keeps))
    sweeper.start()
    await asyncio.wait_for(store.done.wait(), 5)
    await sweeper.close()
    assert store.asked == [10.0, 20.0, 30.0]


async def test_a_state_that_fails_is_tried_again_later() -> None:
    """Forgetting later loses nothing; it is told, and the rounds go on."""
    log = io.StringIO()
    logs.set_up(log, json=True)
    store = Counting(StateError("the state failed: OperationalError"))
    sweeper = Sweeper(store, lambda: 1.0, interval=0.01)
    sweeper.start()
    await asyncio.wait_for(store.done.wait(), 5)
    await sweeper.close()
    assert "state-not-swept" in log.getvalue()


async def test_closing_ends_it_at_any_moment() -> None:
    """Also before it was started, and twice."""
    sweeper = Sweeper(Counting(), lambda: 1.0)
    await sweeper.close()
    sweeper.start()
    await sweeper.close()
    await sweeper.close()
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize("keep", [45 * 86_400.0, 3600.0])
async def test_a_node_forgets_by_its_configuration(keep: float) -> None:
    """`ledger.keep` reaches the ledger, at the start and on reload."""
    from dataclasses import replace

    from tests.scenes.staging import staged

    async with staged(change=lambda config: replace(config, ledger_keep=keep)) as stage:
        assert stage.node.parts.ledger.keep == keep
        await stage.node.reload(replace(stage.node.config, ledger_keep=7200.0))
        assert stage.node.parts.ledger.keep == 7200.0
