"""Secrets are read from where the configuration points, only from closed files, and never shown."""

import os
from pathlib import Path

import pytest

from proxy.config.key_files import LARGEST, read_secret
from proxy.config.shapes import Secret

KEY = "canary-" + "q7Zk29xW"


def put(path: Path, content: bytes = KEY.encode() + b"\n", mode: int = 0o600) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_a_secret_comes_from_a_file_or_a_variable(tmp_path: Path) -> None:
    """Absolute, relative to the configuration, below the home folder, or in the environment."""
    path = put(tmp_path / "key")
    assert read_secret(Secret(file=str(path)), Path("/none"), {}) == KEY
    assert read_secret(Secret(file="key"), tmp_path, {}) == KEY
    assert read_secret(Secret(file="~/key"), Path("/none"), {"HOME": str(tmp_path)}) == KEY
    assert read_secret(Secret(env="VENDOR"), tmp_path, {"VENDOR": KEY}) == KEY


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_a_key_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    """Group and world bits of any kind are named, with the mode that is right."""
    path = put(tmp_path / "key", mode=mode)
    with pytest.raises(ValueError, match=rf"mode {mode:04o}\); make it 0600") as caught:
        read_secret(Secret(file=str(path)), tmp_path, {})
    assert KEY not in str(caught.value)


def test_credentials_of_the_service_may_show_a_group_bit(tmp_path: Path) -> None:
    """The service manager opens them by an ACL; the world still may not read them."""
    environ = {"CREDENTIALS_DIRECTORY": str(tmp_path / "cred")}
    (tmp_path / "cred").mkdir()
    path = put(tmp_path / "cred" / "key", mode=0o440)
    secret = Secret(file="$CREDENTIALS_DIRECTORY/key")
    assert read_secret(secret, Path("/none"), environ) == KEY
    path.chmod(0o444)
    with pytest.raises(ValueError, match="mode 0444"):
        read_secret(secret, Path("/none"), environ)
    outside = put(tmp_path / "key", mode=0o440)
    climbing = Secret(file=f"$CREDENTIALS_DIRECTORY/../{outside.name}")
    with pytest.raises(ValueError, match="mode 0440"):
        read_secret(climbing, Path("/none"), environ)


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"a b", b"a\nb", b"a\r\nX-Evil: 1", b"\xff\xfe", b"a\x00", b"a\tb"]
)
def test_what_could_not_stand_in_a_header_is_refused(tmp_path: Path, content: bytes) -> None:
    """A key is one line of printable ASCII: a line end would start another header."""
    with pytest.raises(ValueError, match="not one line of printable ASCII"):
        read_secret(Secret(file=str(put(tmp_path / "key", content))), tmp_path, {})


def test_line_ends_of_both_kinds_are_taken_off(tmp_path: Path) -> None:
    """Editors put a line end after a key; it is no part of it."""
    path = put(tmp_path / "key", KEY.encode() + b"\r\n")
    assert read_secret(Secret(file=str(path)), tmp_path, {}) == KEY


def test_what_is_no_small_regular_file_is_refused(tmp_path: Path) -> None:
    """Folders, pipes (which would wait for a writer), huge and missing files are each named."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o600)
    huge = put(tmp_path / "huge", b"x" * (LARGEST + 1))
    for path, words in (
        (tmp_path, "not a regular file"),
        (pipe, "not a regular file"),
        (huge, "is larger than"),
        (tmp_path / "none", "cannot be read: No such file"),
    ):
        with pytest.raises(ValueError, match=words):
            read_secret(Secret(file=str(path)), tmp_path, {})


def test_a_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    """An empty variable counts as not set."""
    with pytest.raises(ValueError, match="the environment variable VENDOR is not set"):
        read_secret(Secret(env="VENDOR"), tmp_path, {"VENDOR": ""})
