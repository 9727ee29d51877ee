"""The secrets directory on a real file system: read, followed, and closed when unreadable."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from policies.conversation import Strand
from policies.screening import Screen
from proxy.errors import Refused
from proxy.secrets_dir import LARGEST, MOST, SecretsDir

SECRET = "Zq7xW2pL9rTf"
OTHER = "b8Hn5vKe3sYd"


def denied(directory: SecretsDir, text: str = SECRET) -> bool:
    strand = Strand(("messages", 0, "content"), f"it is {text}")
    return bool(directory.current().findings([strand]))


@pytest.fixture
async def follow():
    """Makes followed directories and closes them."""
    made: list[SecretsDir] = []

    async def start(path: Path | str, interval: float = 0.05) -> SecretsDir:
        made.append(SecretsDir(str(path), interval=interval))
        await made[-1].start()
        return made[-1]

    yield start
    for directory in made:
        await directory.close()


async def until(condition, seconds: float = 2.0) -> float:
    """Wait for a condition; how long that took. Two seconds are what the contract allows."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds
        await asyncio.sleep(0.02)
    return time.monotonic() - begun


def readable(directory: SecretsDir) -> bool:
    try:
        directory.current()
    except Refused as refused:
        return refused.code != "secrets-unreadable"
    return True


async def test_no_directory_leaves_the_rules(follow):
    """Without a directory the screen has no deny corpus, and nothing is followed."""
    directory = await follow("")
    assert directory.current().version == Screen.build().version
    assert not denied(directory)


async def test_files_are_denied(follow, tmp_path):
    """Every file below the directory, hidden ones and subfolders too."""
    (tmp_path / "sub" / ".deep").mkdir(parents=True)
    (tmp_path / "sub" / ".deep" / ".token").write_text(f"{SECRET}\n")
    (tmp_path / "plain").write_text(OTHER)
    directory = await follow(tmp_path)
    assert denied(directory)
    assert denied(directory, OTHER)
    assert directory.skipped == ()


async def test_changes_count_within_two_seconds(follow, tmp_path):
    """At the interval that serves: a new file, a changed one of the same size, a removed one."""
    directory = SecretsDir(str(tmp_path))
    await directory.start()
    try:
        (tmp_path / "new").write_text(SECRET)
        await until(lambda: denied(directory))
        (tmp_path / "new").write_text(OTHER)
        await until(lambda: denied(directory, OTHER) and not denied(directory))
        (tmp_path / "new").unlink()
        await until(lambda: not denied(directory, OTHER))
    finally:
        await directory.close()


async def test_an_unchanged_directory_is_not_read_again(tmp_path):
    """The look compares; only a difference is read and compiled."""
    built: list[int] = []

    def build(files):
        built.append(len(files))
        return Screen.build(files)

    (tmp_path / "f").write_text(SECRET)
    directory = SecretsDir(str(tmp_path), interval=0.01, build=build)
    await directory.start()
    await asyncio.sleep(0.2)
    await directory.close()
    assert built == [1]
    assert denied(directory)


async def test_a_missing_directory_closes_the_cloud(follow, tmp_path):
    """Configured and not there: refused until it is; gone again: refused again."""
    path = tmp_path / "secrets"
    directory = await follow(path)
    assert not readable(directory)
    path.mkdir()
    (path / "f").write_text(SECRET)
    await until(lambda: readable(directory))
    assert denied(directory)
    (path / "f").unlink()
    path.rmdir()
    await until(lambda: not readable(directory))


async def test_a_file_is_no_directory(follow, tmp_path):
    """A path to a file is a mistake in the configuration, and as closed as any."""
    (tmp_path / "f").write_text(SECRET)
    assert not readable(await follow(tmp_path / "f"))


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads everything")
async def test_an_unreadable_file_closes_the_cloud(follow, tmp_path):
    """A file that exists and cannot be read could hold anything."""
    (tmp_path / "f").write_text(SECRET)
    (tmp_path / "f").chmod(0)
    assert not readable(await follow(tmp_path))


async def test_an_unreadable_folder_closes_the_cloud(follow, tmp_path, monkeypatch):
    """A folder that cannot be listed could hold anything too."""
    (tmp_path / "sub").mkdir()
    original = os.scandir

    def scandir(path):
        if str(path).endswith("sub"):
            raise PermissionError
        return original(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert not readable(await follow(tmp_path))


async def test_a_failing_read_closes_the_cloud(follow, tmp_path, monkeypatch):
    """The same by way of an error from the system, whoever runs the tests."""
    (tmp_path / "f").write_text(SECRET)
    directory = await follow(tmp_path)
    assert denied(directory)

    original = Path.open

    def fail(self, mode="", *args, **kwargs):
        if mode != "rb":
            return original(self, mode, *args, **kwargs)
        raise PermissionError

    def stat(self, **kwargs):
        raise PermissionError

    monkeypatch.setattr(Path, "stat", stat)
    await until(lambda: not readable(directory))
    monkeypatch.undo()
    await until(lambda: readable(directory))
    monkeypatch.setattr(Path, "open", fail)
    (tmp_path / "g").write_text(OTHER)
    await until(lambda: not readable(directory))


async def test_large_files_are_skipped_and_counted(follow, tmp_path):
    """A megabyte is read, a byte more is not."""
    (tmp_path / "large").write_bytes(b"x" * (LARGEST + 1))
    (tmp_path / "fits").write_bytes(SECRET.encode() + b"\n" * (LARGEST - len(SECRET)))
    directory = await follow(tmp_path)
    assert directory.skipped == ("large",)
    assert denied(directory)


async def test_a_file_that_grows_while_it_is_read_closes_the_cloud(follow, tmp_path, monkeypatch):
    """What was listed as small and is large now was not read to its end."""
    (tmp_path / "f").write_bytes(b"x" * (LARGEST + 1))
    monkeypatch.setattr("proxy.secrets_dir._entry", lambda relative, path: (relative, 0, 0, 1, 1))
    assert not readable(await follow(tmp_path))


async def test_too_many_files_close_the_cloud(follow, tmp_path):
    """Half a corpus would be a false promise."""
    for number in range(MOST + 1):
        (tmp_path / str(number)).touch()
    assert not readable(await follow(tmp_path))


async def test_links(follow, tmp_path):
    """Links inside count, as in mounted secrets; those that lead outside or nowhere are skipped."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    (inside / "..data").mkdir(parents=True)
    (inside / "..data" / "token").write_text(SECRET)
    outside.mkdir()
    (outside / "f").write_text(OTHER)
    (inside / "token").symlink_to(inside / "..data" / "token")
    (inside / "folder").symlink_to(inside / "..data")
    (inside / "elsewhere").symlink_to(outside / "f")
    (inside / "elsewhere-folder").symlink_to(outside)
    (inside / "nowhere").symlink_to(inside / "gone")
    (inside / "round").symlink_to(inside / "round")
    os.mkfifo(inside / "pipe")
    directory = await follow(inside)
    assert denied(directory)
    assert not denied(directory, OTHER)
    assert directory.skipped == ("elsewhere", "nowhere", "pipe", "round", "elsewhere-folder")


async def test_a_follower_that_died_closes_the_cloud(tmp_path):
    """An error that nobody foresaw must not leave an old corpus in force for ever."""
    calls: list[int] = []

    def build(files):
        calls.append(1)
        if len(calls) > 1:
            raise RuntimeError
        return Screen.build(files)

    directory = SecretsDir(str(tmp_path), interval=0.01, build=build)
    await directory.start()
    assert readable(directory)
    (tmp_path / "f").write_text(SECRET)
    await until(lambda: not readable(directory))
    await directory.close()


async def test_the_last_screen_outlives_the_follower(tmp_path):
    """Requests under way keep what they began with."""
    (tmp_path / "f").write_text(SECRET)
    directory = SecretsDir(str(tmp_path))
    await directory.start()
    await directory.close()
    await directory.close()
    assert denied(directory)


async def test_files_that_are_not_looked_for_are_told_once(tmp_path):
    """Too short, too large, or no secret at all: how many, once for each change, and no name."""
    told: list[int] = []
    (tmp_path / "good").write_text(SECRET)
    (tmp_path / "short").write_text("true\n")
    directory = SecretsDir(str(tmp_path), interval=0.02, tell=told.append)
    await directory.start()
    try:
        assert (told, directory.skipped) == ([1], ("short",))
        (tmp_path / "large").write_bytes(bytes(LARGEST + 1))
        await until(lambda: len(told) == 2)
        assert sorted(directory.skipped) == ["large", "short"]
        (tmp_path / "short").write_text(OTHER)
        (tmp_path / "large").unlink()
        await until(lambda: directory.skipped == ())
        await asyncio.sleep(0.1)
        assert told == [1, 2]
    finally:
        await directory.close()
