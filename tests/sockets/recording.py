"""A recorder of sockets under the whole suite: whatever the tests start connects on this machine
only, and a node to its configured upstreams only. What does not fails the test in which it happens.

A plugin of pytest. Names are looked up on this machine only, too. Audit hooks cannot be taken out
again, so there is one for each process. Processes that a test starts have their own
(`sitecustomize`), which writes into a file that is read after each test.
"""

import ast
import ipaddress
import os
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

import pytest

from tests.sockets.sitecustomize import WATCHED, _of

HERE = Path(__file__).parent
PRODUCT = str(HERE.parents[1] / "proxy") + os.sep
LOOPBACK = ("127.0.0.1", "::1")
PORTS = {"http": 80, "https": 443}

Peers = frozenset[tuple[str, int]]


@dataclass(frozen=True)
class Connect:
    """That something was reached for. `peers`: where the node that did it may connect to; None
    where it was no node."""

    test: str
    address: object
    peers: Peers | None = None
    by: str = ""

    @property
    def wrong(self) -> bool:
        """It leads elsewhere."""
        if not is_here(self.address):
            return True
        inet = self.peers is not None and isinstance(self.address, tuple)
        return inet and self.address[:2] not in self.peers

    def __str__(self) -> str:
        who = "a node" if self.peers is not None else self.by or "this process"
        return f"{self.test or 'between tests'}: {who} connects to {self.address}"


def is_here(address: object) -> bool:
    """Whether an address, or a name, is this machine's."""
    match address:
        case (str(host), *_):
            return is_here(host)
        case "" | "localhost" | None:
            return True
        case str() | bytes() as host:
            text = os.fsdecode(host)
            try:
                return ipaddress.ip_address(text.partition("%")[0]).is_loopback
            except ValueError:
                return text.startswith(("/", "\0"))  # a socket in the file system
        case _:
            return False


def peers_of(urls: Sequence[str]) -> Peers:
    """Addresses and ports behind the URLs of upstreams."""
    found = set()
    for url in map(urlsplit, urls):
        port = url.port or PORTS[url.scheme]
        hosts = LOOPBACK if url.hostname == "localhost" else (url.hostname or "",)
        found |= {(host, port) for host in hosts}
    return frozenset(found)


@dataclass
class Recorder:
    """`connects` since they were last looked at, and how many of nodes there were at all."""

    connects: list[Connect] = field(default_factory=list)
    nodes: int = 0
    file: Path | None = None
    read: int = 0

    def hook(self, event: str, given: tuple[object, ...]) -> None:
        if event in WATCHED:
            peers = configured(sys._getframe()) if event == "socket.connect" else None
            self.nodes += peers is not None
            self.connects.append(Connect(_test(), _of(event, given), peers))

    def children(self, test: str) -> Iterator[Connect]:
        """What processes have written down since; `test` started them."""
        if self.file is None or self.file.stat().st_size == self.read:
            return
        text = self.file.read_bytes()[self.read :]
        self.read += len(text)
        for line in text.decode().splitlines():
            _, address, started, configuration = ast.literal_eval(line)
            yield Connect(test, address, served(configuration), " ".join(started[:6]))

    def wrong(self, test: str) -> list[Connect]:
        """Those that lead elsewhere, each told once; all others are forgotten."""
        found, self.connects = [*self.connects, *self.children(test)], []
        return [connect for connect in found if connect.wrong]


RECORDER = Recorder()


def _test() -> str:
    return os.environ.get("PYTEST_CURRENT_TEST", "").partition(" ")[0]


def configured(frame: FrameType | None) -> Peers | None:
    """The upstreams of the node on whose errand `frame` is; None for what is no node's."""
    while frame is not None:
        if frame.f_code.co_filename.startswith(PRODUCT):
            house = getattr(frame.f_locals.get("self"), "house", None)
            if (config := getattr(house, "config", None)) is not None:
                return peers_of([upstream.base_url for upstream in config.upstreams])
        frame = frame.f_back
    return None


def served(configuration: str) -> Peers | None:
    """The same for a process that serves by that text; None where it is empty."""
    upstreams = tomllib.loads(configuration).get("upstream", [])
    return peers_of([upstream["base_url"] for upstream in upstreams]) or None


@contextmanager
def overheard() -> Iterator[list[Connect]]:
    """What is reached for within the block is the test's own affair; the list is filled at the
    end of it."""
    before, RECORDER.connects = RECORDER.connects, []
    heard: list[Connect] = []
    try:
        yield heard
    finally:
        heard += [*RECORDER.connects, *RECORDER.children(_test())]
        RECORDER.connects = before


def pytest_configure(config: pytest.Config) -> None:
    if RECORDER.file is None:
        handle, name = tempfile.mkstemp(prefix="connects-")
        os.close(handle)
        RECORDER.file = Path(name)
        os.environ["CONNECTS"] = name
        paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(paths)
        sys.addaudithook(RECORDER.hook)


def pytest_unconfigure(config: pytest.Config) -> None:
    if RECORDER.file is not None:
        RECORDER.file.unlink(missing_ok=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        if wrong := RECORDER.wrong(item.nodeid):
            pytest.fail("\n".join(map(str, dict.fromkeys(wrong))), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    if wrong := RECORDER.wrong(""):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        sys.stderr.write("".join(f"\n{connect}\n" for connect in wrong))
    return (yield)
