"""A service manager hears when a node is ready and when it ends."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxy.notify import READY, STOPPING, notify


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """A socket as systemd has it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(str(tmp_path / "notify"))
        made.settimeout(20)
        yield made


def test_the_manager_hears_what_is_said(manager: socket.socket) -> None:
    """One datagram, as sd_notify(3) has it."""
    notify(READY, {"NOTIFY_SOCKET": manager.getsockname()})
    assert manager.recv(100) == b"READY=1"


@pytest.mark.skipif(sys.platform != "linux", reason="abstract addresses are Linux's")
def test_an_abstract_address_is_understood() -> None:
    """systemd may use one; it is written with an @."""
    name = f"transom-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.bind(f"\0{name}")
        made.settimeout(5)
        notify(STOPPING, {"NOTIFY_SOCKET": f"@{name}"})
        assert made.recv(100) == b"STOPPING=1"


@pytest.mark.parametrize("address", ["", "relative", "vsock:2:1234", "/nobody/listens/here"])
def test_nobody_to_tell_is_no_trouble(address: str) -> None:
    """Started by hand, or under a manager that does not listen."""
    notify(READY, {"NOTIFY_SOCKET": address} if address else {})


def test_a_node_says_that_it_is_ready_when_it_accepts(
    manager: socket.socket, tmp_path: Path
) -> None:
    """READY comes when a connection succeeds, not before; STOPPING when it was told to end."""
    config = tmp_path / "c.toml"
    config.write_text("version = 1\n[listen]\nport = 0\n[state]\nurl = 'memory:'\n")
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "NOTIFY_SOCKET": manager.getsockname(),
    }
    with (tmp_path / "log").open("wb") as log:
        node = subprocess.Popen(
            [sys.executable, "-m", "proxy", "serve", "-c", str(config)],
            stderr=log,
            env=environ,
            cwd=Path(__file__).parents[2],
        )
        try:
            assert manager.recv(100) == b"READY=1"
            lines = (tmp_path / "log").read_text().splitlines()
            (url,) = [line for line in lines if line.startswith("listening ")]
            host, _, port = url.removeprefix("listening http://").rpartition(":")
            with socket.create_connection((host, int(port)), 5):
                pass
        finally:
            node.send_signal(signal.SIGTERM)
            assert node.wait(20) == 0
    assert manager.recv(100) == b"STOPPING=1"
