"""Files of a node that others may read or change are found, with the command that closes them."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxy.config import Config
from proxy.doctor import Check
from proxy.doctor.files import examine


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A state folder with a database and its key, and a configuration, all closed."""
    state = tmp_path / "state" / "transom"
    state.mkdir(parents=True, mode=0o700)
    for name in ("transom.db", "transom.db.key"):
        put(state / name, "x", 0o600)
    put(tmp_path / "c.toml", "", 0o600)
    return tmp_path


def put(path: Path, text: str, mode: int) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def looked(
    house: Path, *, file: Path | None = None, secrets: str = "", **environ: str
) -> dict[str, Check]:
    config = Config(
        state_url=f"sqlite://{house / 'state' / 'transom' / 'transom.db'}", secrets_dir=secrets
    )
    known = {"HOME": str(house), "XDG_STATE_HOME": str(house / "state"), **environ}
    return {check.name: check for check in examine(config, file, known)}


def test_a_house_that_is_closed_is_fine(house: Path) -> None:
    """Nothing to complain of; no configuration and no secrets folder are no fault."""
    found = looked(house)
    assert found["configuration"] == Check("configuration", "fine", "none, the defaults hold")
    assert found["state"].state == "fine"
    assert found["secrets"].state == "skipped"
    assert looked(house, file=house / "c.toml")["configuration"].state == "fine"


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_configuration_that_others_can_change(house: Path, mode: int) -> None:
    """Who writes it decides where everything goes."""
    found = looked(house, file=put(house / "c.toml", "", mode))["configuration"]
    assert found.state == "wrong"
    assert found.says.endswith(f"run: chmod go-w {house / 'c.toml'}")


def test_a_configuration_that_others_can_read_is_fine(house: Path) -> None:
    """It holds no secret, only the places of some."""
    found = looked(house, file=put(house / "c.toml", "", 0o644))["configuration"]
    assert found.state == "fine"


def test_a_configuration_of_somebody_else(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user than this one and root could change it at any time."""
    uid = (house / "c.toml").stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
    found = looked(house, file=house / "c.toml")["configuration"]
    assert found.state == ("fine" if uid == 0 else "wrong")


@pytest.mark.parametrize("made", [True, False])
def test_a_state_folder_that_cannot_be_written(
    house: Path, monkeypatch: pytest.MonkeyPatch, made: bool
) -> None:
    """Nor made, where the folder above is closed: no node would start."""
    if not made:
        (house / "state" / "transom" / "transom.db").unlink()
        (house / "state" / "transom" / "transom.db.key").unlink()
        (house / "state" / "transom").rmdir()
    stands = house / "state" / "transom" if made else house / "state"
    monkeypatch.setattr(os, "access", lambda path, mode: path != stands)
    found = looked(house)["state"]
    assert found.state == "wrong"
    assert (
        found.says
        == f"{house / 'state' / 'transom'} cannot be written: {stands} is closed to this user"
    )


def test_a_state_folder_that_is_not_made_yet(tmp_path: Path) -> None:
    """Before the first start there is nothing to look at."""
    assert looked(tmp_path)["state"].state == "skipped"


@pytest.mark.parametrize("name", [".", "transom.db", "transom.db.key"])
def test_state_that_others_can_read(house: Path, name: str) -> None:
    """Folder, database and key: one open file is enough, and it is named."""
    path = house / "state" / "transom" / name
    path.chmod(0o755 if name == "." else 0o640)
    found = looked(house)["state"]
    assert found.state == "wrong"
    assert found.says.endswith(f"run: chmod go= {path}")


def test_several_open_files_are_counted(house: Path) -> None:
    """One line, the first by name."""
    for name in ("transom.db", "transom.db.key"):
        (house / "state" / "transom" / name).chmod(0o644)
    assert "transom.db and 1 more can be read by others" in looked(house)["state"].says


def test_a_state_key_that_lies_elsewhere_is_looked_at(house: Path) -> None:
    """The key that the environment names counts as state."""
    key = put(house / "key", "x", 0o644)
    found = looked(house, TRANSOM_STATE_KEY_FILE=str(key))["state"]
    assert found.state == "wrong"
    assert str(key) in found.says
    assert looked(house, TRANSOM_STATE_KEY_FILE=str(house / "none"))["state"].state == "fine"


def test_files_of_the_owner_beside_the_state_are_the_owners(house: Path) -> None:
    """A log that was put there, or a link, is not ours to judge."""
    folder = house / "state" / "transom"
    put(folder / "log", "x", 0o644)
    (folder / "transom.link").symlink_to(folder / "log")
    assert looked(house)["state"].state == "fine"


def test_a_database_elsewhere_is_looked_at_too(house: Path) -> None:
    """Both folders count: that of the database and that of the control socket."""
    other = house / "other"
    other.mkdir(mode=0o700)
    put(other / "mine.db", "x", 0o600)
    put(other / "mine.db.key", "x", 0o644)
    known = {"HOME": str(house), "XDG_STATE_HOME": str(house / "state")}
    config = Config(state_url=f"sqlite://{other / 'mine.db'}")
    (state,) = [check for check in examine(config, None, known) if check.name == "state"]
    assert state.says.endswith(f"run: chmod go= {other / 'mine.db.key'}")
    (other / "mine.db.key").chmod(0o600)
    (house / "state" / "transom" / "transom.sock").touch(mode=0o666)
    (state,) = [check for check in examine(config, None, known) if check.name == "state"]
    assert "transom.sock" in state.says


def test_a_state_folder_of_somebody_else(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be opened is said, not raised."""

    def closed(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", closed)
    assert looked(house)["state"].says == "cannot be looked at: Permission denied; whose is it?"


def test_state_in_memory_leaves_only_the_folder_of_the_control_socket(house: Path) -> None:
    """There is no database to look for."""
    known = {"HOME": str(house), "XDG_STATE_HOME": str(house / "state")}
    (state,) = [check for check in examine(Config(), None, known) if check.name == "state"]
    assert state.says == f"for its owner alone: {house / 'state' / 'transom'}"


@pytest.fixture
def square() -> Iterator[Path]:
    """A folder that every user can come to; those of pytest are closed."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_secrets_folder_is_judged_by_who_can_come_to_its_files(house: Path, square: Path) -> None:
    """A closed folder shuts away open files, at any depth; an open one with closed files is fine
    too."""
    folder = square / "secrets"
    folder.mkdir(mode=0o700)
    file = put(folder / "one", "x" * 20, 0o644)
    assert looked(house, secrets=str(folder))["secrets"].state == "fine"
    folder.chmod(0o755)
    found = looked(house, secrets=str(folder))["secrets"]
    assert found == Check(
        "secrets", "wrong", f"{file} is open to every user; run: chmod -R o= {folder}"
    )
    square.chmod(0o750)
    assert looked(house, secrets=str(folder))["secrets"].state == "fine"
    square.chmod(0o755)
    file.chmod(0o600)
    assert looked(house, secrets=str(folder))["secrets"].state == "fine"


def test_a_secrets_folder_that_cannot_be_read(house: Path) -> None:
    """A node would keep everything home."""
    found = looked(house, secrets=str(house / "none"))["secrets"]
    assert found.state == "wrong"
    assert "screen.secrets_dir: cannot be read" in found.says


def test_files_that_are_not_looked_for_are_mentioned(house: Path) -> None:
    """As `transom check` does."""
    folder = house / "secrets"
    folder.mkdir(mode=0o700)
    put(folder / "huge", "x" * ((1 << 20) + 1), 0o600)
    assert "1 files below screen.secrets_dir" in looked(house, secrets=str(folder))["secrets"].says
