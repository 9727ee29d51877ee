"""The unit: read by systemd where it is installed, and played by hand as far as that goes."""

import ctypes
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from proxy.cli import cli
from proxy.config.sources import SYSTEM_FILE, state_folder
from proxy.server import DRAIN_SECONDS
from tests.packaging.installing import ROOT, Installed, environment
from tests.packaging.test_wheel import address

UNIT = ROOT / "deploy" / "transom.service"
LINES = [
    tuple(line.split("=", 1))
    for line in UNIT.read_text("utf-8").splitlines()
    if "=" in line and not line.startswith("#")
]


def of(name: str) -> list[str]:
    return [value for each, value in LINES if each == name]


def test_systemd_finds_no_fault_in_it(tmp_path: Path) -> None:
    """`systemd-analyze verify`, with a command that is there in the place of the installed one."""
    if (analyze := shutil.which("systemd-analyze")) is None:
        pytest.skip("systemd is not installed; its own reading of the unit was left out")
    text = UNIT.read_text("utf-8").replace("/opt/transom/bin/transom", sys.executable)
    copy = tmp_path / "transom.service"
    copy.write_text(text)
    done = subprocess.run(
        [analyze, "verify", str(copy)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    copy.write_text(f"{text}\nUnheardOf=1\n".replace("[Install]", "[Service]\nTypo=1\n[Install]"))
    done = subprocess.run(
        [analyze, "verify", str(copy)], capture_output=True, text=True, check=False
    )
    assert "Typo" in done.stderr, "it would have complained"


def test_the_service_has_a_user_of_its_own_and_closed_folders() -> None:
    """Nobody else runs under it, and nobody else can read what it reads and writes."""
    assert of("DynamicUser") == ["yes"]
    assert of("StateDirectory") == ["transom"]
    assert of("StateDirectoryMode") == ["0700"]
    assert of("UMask") == ["0077"]
    assert of("LoadCredential") == [f"config.toml:{SYSTEM_FILE}"]
    assert not of("User")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NoNewPrivileges", "yes"), ("ProtectSystem", "strict"), ("ProtectHome", "yes"),
        ("PrivateTmp", "yes"), ("PrivateDevices", "yes"), ("CapabilityBoundingSet", ""),
        ("AmbientCapabilities", ""), ("MemoryDenyWriteExecute", "yes"),
        ("RestrictAddressFamilies", "AF_INET AF_INET6 AF_UNIX"), ("RestrictNamespaces", "yes"),
        ("RestrictSUIDSGID", "yes"), ("LockPersonality", "yes"), ("ProtectClock", "yes"),
        ("ProtectKernelModules", "yes"), ("ProtectKernelTunables", "yes"),
        ("ProtectKernelLogs", "yes"), ("ProtectControlGroups", "yes"), ("ProtectProc", "invisible"),
        ("SystemCallArchitectures", "native"),
    ],
)  # fmt: skip
def test_each_confinement_is_there(name: str, value: str) -> None:
    """A line that is lost would not be missed by anybody."""
    assert of(name) == [value]


def test_system_calls_are_confined() -> None:
    """First what services need, then less what changes the machine."""
    assert of("SystemCallFilter") == ["@system-service", "~@privileged @resources"]


def test_it_starts_and_stops_as_the_command_does() -> None:
    """Absolute path, a verb that exists, more time than the drain, no restart on a bad setting."""
    (start,) = of("ExecStart")
    command, verb = start.split()
    assert Path(command).is_absolute()
    assert verb in cli.commands
    assert of("Type") == ["notify"]
    assert int(of("TimeoutStopSec")[0]) > DRAIN_SECONDS + 10
    assert of("RestartPreventExitStatus") == ["2"]
    assert "PYTHONSAFEPATH=1" in of("Environment")


def as_the_service(home: Path) -> dict[str, str]:
    """The environment that the unit gives, with its specifiers filled in."""
    folders = {"%d": str(home / "credentials"), "%S": str(home / "lib")}
    given = dict(line.split("=", 1) for line in of("Environment"))
    filled = {
        name: re.sub("%[dS]", lambda hit: folders[hit[0]], value) for name, value in given.items()
    }
    return {**environment(home), **filled, "CREDENTIALS_DIRECTORY": folders["%d"]}


def confined() -> Callable[[], None] | None:
    """What `MemoryDenyWriteExecute` does, for a child; None where the kernel cannot (PR_SET_MDWE
    of prctl(2), Linux 6.3)."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    set_it, get_it, refuse_gain = 65, 66, 1
    if libc.prctl(get_it, 0, 0, 0, 0) < 0:
        return None

    def confine() -> None:
        os.umask(0o022)
        if libc.prctl(set_it, refuse_gain, 0, 0, 0):
            os._exit(99)

    return confine


def test_a_node_lives_in_it(own: Installed, tmp_path: Path) -> None:
    """With the unit's environment and without memory that is both writable and executable: it
    finds its configuration and its state, answers root's question, and leaves nothing that others
    could read, although the umask that it inherits would let them."""
    if (confine := confined()) is None:
        pytest.skip("this kernel has no PR_SET_MDWE; the node was not played under it")
    known = as_the_service(tmp_path)
    (tmp_path / "credentials").mkdir(mode=0o500)
    (tmp_path / "credentials").chmod(0o700)
    config = Path(known["TRANSOM_CONFIG"])
    config.write_text("version = 1\n[listen]\nport = 0\n")
    state = state_folder(known)
    state.mkdir(parents=True, mode=0o700)
    log = tmp_path / "log"
    with log.open("wb") as out:
        node = subprocess.Popen(
            [own.transom, "serve"], stderr=out, cwd="/", env=known, preexec_fn=confine
        )
    try:
        address(log, node)
        asked = own.run("health", home=tmp_path, XDG_STATE_HOME=known["XDG_STATE_HOME"])
        assert asked.stderr == "healthy\n"
        made = [path for path in state.rglob("*") if not path.is_symlink()]
        assert {path.name for path in made} >= {"transom.db", "transom.db.key", "transom.sock"}
        assert [path.name for path in made if stat.S_IMODE(path.stat().st_mode) & 0o077] == []
    finally:
        node.send_signal(signal.SIGTERM)
        assert node.wait(20) == 0
    assert f"configuration: {config}" in log.read_text()
