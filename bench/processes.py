"""The processes of a run: started with a clean environment, watched in /proc, ended by their id."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_LISTENING = re.compile(r"^listening (http://\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Server:
    """A child that listens. `started`: seconds from its start to the line that says so."""

    name: str
    url: str
    pid: int
    started: float

    def cpu(self) -> float:
        """Seconds of CPU that it has used; resolution 10 ms. NaN where /proc is not there."""
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
        """How many files and sockets it has open; 0 where /proc is not there."""
        folder = Path(f"/proc/{self.pid}/fd")
        return sum(1 for _ in folder.iterdir()) if folder.exists() else 0

    def threads(self) -> int:
        """How many threads it has; 0 where /proc is not there."""
        folder = Path(f"/proc/{self.pid}/task")
        return sum(1 for _ in folder.iterdir()) if folder.exists() else 0


@contextmanager
def server(name: str, command: Sequence[str], folder: Path) -> Iterator[Server]:
    """Run `python -m …` until the block ends."""
    log = folder / f"{name}-{time.monotonic_ns()}.log"
    environ = {k: v for k, v in os.environ.items() if not k.startswith("TRANSOM_")}
    environ["XDG_STATE_HOME"] = str(folder / f"{name}-state")
    begun = time.monotonic()
    with log.open("wb") as stderr:
        child = subprocess.Popen([sys.executable, "-m", *command], stderr=stderr, env=environ)
    try:
        url = _url(child, log)
        yield Server(name, url, child.pid, time.monotonic() - begun)
    finally:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def _url(child: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + 15
    while time.monotonic() < end and child.poll() is None:
        if found := _LISTENING.search(log.read_text()):
            return found[1]
        time.sleep(0.005)
    raise SystemExit(f"{child.args!r} does not listen:\n{log.read_text()}")
