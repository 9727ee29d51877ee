"""The processes of a run: started with a clean environment, watched in /proc, ended by their id."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_LISTENING = re.compile(r"^listening (http://\S+)$", re.MULTILINE)

Ready = Callable[[str], str]
"""What a child has written so far → its URL, empty while it does not listen."""


@dataclass(frozen=True)
class Server:
    """A child that listens. `started`: seconds from its start until it does."""

    name: str
    url: str
    pid: int
    started: float

    def cpu(self) -> float:
        """Seconds of CPU that it has used: to the microsecond where the kernel counts so, else in
        steps of 10 ms. NaN where /proc is not there."""
        try:
            tasks = Path(f"/proc/{self.pid}/task").iterdir()
            return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9
        except (OSError, IndexError):
            return self._ticks()

    def _ticks(self) -> float:
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return float("nan")
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self, field: str = "VmRSS") -> float:
        """Resident memory in MB, `VmHWM` for its peak. NaN where /proc is not there."""
        try:
            status = Path(f"/proc/{self.pid}/status").read_text()
        except OSError:
            return float("nan")
        found = re.search(rf"^{field}:\s+(\d+) kB", status, re.MULTILINE)
        return int(found[1]) / 1000 if found else float("nan")

    def files(self) -> int:
        """How many files and sockets it has open, but for those of its state, which open when they
        are needed; 0 where /proc is not there."""
        folder = Path(f"/proc/{self.pid}/fd")
        return sum(".db" not in _led(each) for each in folder.iterdir()) if folder.exists() else 0

    def threads(self) -> int:
        """How many threads it has; 0 where /proc is not there."""
        folder = Path(f"/proc/{self.pid}/task")
        return sum(1 for _ in folder.iterdir()) if folder.exists() else 0


def _led(file: Path) -> str:
    """What an open file is."""
    try:
        return str(file.readlink())
    except FileNotFoundError:  # closed meanwhile, and not to be counted
        return ".db"


@contextmanager
def server(name: str, command: Sequence[str], folder: Path) -> Iterator[Server]:
    """Run `python -m …` until the block ends; it says where it listens."""
    with child(name, [sys.executable, "-m", *command], folder, announced) as one:
        yield one


def announced(written: str) -> str:
    """The URL that the line `listening URL` names."""
    found = _LISTENING.search(written)
    return found[1] if found else ""


@contextmanager
def child(name: str, command: Sequence[str], folder: Path, ready: Ready) -> Iterator[Server]:
    """Run `command` until the block ends. `SystemExit` with its words if it does not listen."""
    log = folder / f"{name}-{time.monotonic_ns()}.log"
    environ = {k: v for k, v in os.environ.items() if not k.startswith("TRANSOM_")}
    # As after an installation: modules are read as byte code, which the first start writes.
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    environ["XDG_STATE_HOME"] = str(folder / f"{name}-state")
    begun = time.monotonic()
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, stderr=stderr, env=environ)
    try:
        url = _url(process, log, ready)
        yield Server(name, url, process.pid, time.monotonic() - begun)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _url(process: subprocess.Popen[bytes], log: Path, ready: Ready) -> str:
    end = time.monotonic() + 15
    while time.monotonic() < end and process.poll() is None:
        if url := ready(log.read_text()):
            return url
        time.sleep(0.005)
    raise SystemExit(f"{process.args!r} does not listen:\n{log.read_text()}")
