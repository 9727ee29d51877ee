"""A database that cannot be used is found before a start would find it."""

from pathlib import Path

import pytest

from proxy.config import Config
from proxy.doctor import Check
from proxy.doctor.database import examine
from proxy.state import open_store


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """Of a node that has run once."""
    path = tmp_path / "transom.db"
    await open_store(f"sqlite://{path}").close()
    return path


async def looked(path: Path, *, runs: bool = False, **environ: str) -> Check:
    return await examine(Config(state_url=f"sqlite://{path}"), environ, runs=runs)


async def test_one_that_opens_is_fine(path: Path) -> None:
    """With the key beside it, or the one that a variable names."""
    assert (await looked(path)).state == "fine"
    away = path.with_name("key")
    path.with_name("transom.db.key").rename(away)
    assert (await looked(path, TRANSOM_STATE_KEY_FILE=str(away))).state == "fine"


async def test_one_that_does_not_open_is_wrong(path: Path) -> None:
    """Another key, none, or something else than a database; in the words of the start."""
    key = path.with_name("transom.db.key")
    right = key.read_bytes()
    key.write_bytes(bytes(32))
    assert (await looked(path)).state == "wrong"
    key.unlink()
    assert "is missing beside an existing database" in (await looked(path)).says
    key.write_bytes(right)
    key.chmod(0o600)
    path.write_text("no database")
    found = await looked(path)
    assert (found.state, "is damaged or no SQLite" in found.says) == ("wrong", True)
    assert (await looked(path, runs=True)).state == "skipped"


async def test_none_is_made(tmp_path: Path) -> None:
    """Before the first start, or with state in memory, there is nothing to look at."""
    found = await looked(tmp_path / "none" / "transom.db")
    assert found.state == "skipped"
    assert [*tmp_path.iterdir()] == []
    assert (await examine(Config(), {}, runs=False)).state == "skipped"
