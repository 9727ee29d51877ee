"""Which state a url names."""

import subprocess
import sys
from pathlib import Path

import pytest

from policies.decision import FrameRow
from proxy.state import StateRefused, open_store
from proxy.state.memory import MemoryStore


@pytest.mark.parametrize(
    "url",
    ["", "memory", "sqlite:", "sqlite://", "sqlite://relative.db", "sqlite:///a/", "postgres:///a"],
)
def test_any_other_url_is_refused_with_the_right_form(url: str) -> None:
    """The error shows what a url looks like."""
    with pytest.raises(StateRefused, match=r"sqlite:///var/lib/transom/transom\.db"):
        open_store(url)


def test_memory_loads_no_sqlite() -> None:
    """A node without a database file does not pay for one."""
    script = (
        "import sys, proxy.state as s; s.open_store('memory:'); print('sqlite3' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert answer.stdout == b"False\n"


async def test_memory_forgets_the_oldest_beyond_its_limit() -> None:
    """The table in memory is bounded; the newest rows stay."""
    store = MemoryStore(most=10)
    rows = {bytes([n]): FrameRow(f"{n:032x}", "read", intro=False) for n in range(25)}
    for claim in rows.items():
        await store.claim([claim])
    assert list((await store.read(list(rows))).frames) == [bytes([n]) for n in range(15, 25)]


async def test_every_memory_store_has_its_own_key(tmp_path: Path) -> None:
    """Nothing that one process keyed can be found by another."""
    assert open_store("memory:").key != open_store("memory:").key
