"""The recorder of sockets hears what the tests, nodes and their processes reach for."""

import asyncio
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from policies.decision import Leg
from proxy.config import UpstreamSettings
from proxy.demo.upstream import ScriptedUpstream
from proxy.upstream import Outbound
from tests.scenes.bodies import BODIES, PATHS
from tests.scenes.nodes import served, upstream
from tests.scenes.staging import FAMILIES, echo, staged
from tests.sockets.recording import RECORDER, is_here, overheard, peers_of

DIALECT = "openai_chat"
ELSEWHERE = ("192.0.2.1", 443)  # an address of nobody, for documents
ROOT = Path(__file__).parents[2]


async def test_it_hears_a_node_at_its_upstream() -> None:
    """And of a whole answer only that: the test is the other one that connects."""
    with overheard() as heard:
        async with staged() as stage:
            await stage.post(PATHS[DIALECT], BODIES[DIALECT]("x"))
            port = stage.upstream.port
    assert [one.address for one in heard if one.peers] == [("127.0.0.1", port)]
    assert not any(one.wrong for one in heard)


async def test_a_node_that_connects_elsewhere_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is on this machine, and no upstream of the node."""
    real = Outbound.send_cloud

    async def astray(self: Outbound, upstream: object, **more: object) -> object:
        return await real(self, elsewhere, **more)  # type: ignore[arg-type]

    async with ScriptedUpstream(echo) as other, staged() as stage:
        elsewhere = UpstreamSettings("other", Leg.CLOUD, other.url, FAMILIES, "caller")
        monkeypatch.setattr(Outbound, "send_cloud", astray)
        with overheard() as heard:
            await stage.post(PATHS[DIALECT], BODIES[DIALECT]("x"))
        assert [one.address for one in heard if one.wrong] == [("127.0.0.1", other.port)]


async def test_a_process_of_its_own_is_heard(tmp_path: Path) -> None:
    """A served node is held to the upstreams of its file."""
    with overheard() as heard:
        async with ScriptedUpstream(echo) as scripted:
            port = scripted.port
            with served(tmp_path, upstream(scripted.url)) as node:
                await asyncio.to_thread(node.post, PATHS[DIALECT], BODIES[DIALECT]("x"))
    theirs = [one for one in heard if "serve" in one.by]
    assert [one.address for one in theirs if one.address != "127.0.0.1"] == [("127.0.0.1", port)]
    assert not any(one.wrong for one in heard)
    strange = replace(theirs[0], address=("127.0.0.1", 9))
    assert strange.wrong


@pytest.mark.parametrize(
    ("address", "here"),
    [
        (("127.0.0.1", 1), True),
        (("::1", 1, 0, 0), True),
        ("/run/a.sock", True),
        (b"\0abstract", True),
        ("localhost", True),
        (None, True),
        (("10.0.0.1", 1), False),
        (("127.0.0.1.example", 1), False),
        ("example.com", False),
        (("fe80::1%eth0", 1), False),
        (7, False),
    ],
)
def test_what_is_here(address: object, here: bool) -> None:
    """This machine, and nothing beside it."""
    assert is_here(address) is here


def test_peers_of_upstreams() -> None:
    """Ports may be those of the scheme; a name of this machine is both of its addresses."""
    assert peers_of(["https://a.example/x", "http://localhost:9"]) == {
        ("a.example", 443),
        ("127.0.0.1", 9),
        ("::1", 9),
    }


OUTSIDE = """
import socket, subprocess, sys

def test_reaches_out():
    sys.audit("socket.connect", None, {address!r})

def test_has_others_reach_out():
    code = "import sys; sys.audit('socket.connect', None, {address!r})"
    subprocess.run([sys.executable, "-c", code], check=True)

def test_asks_for_a_name():
    sys.audit("socket.getaddrinfo", "collector.example", 443, 0, 0, 0)

def test_stays_here():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
"""


def test_a_run_in_which_anything_leaves_fails(tmp_path: Path) -> None:
    """It names the test and the address; nothing was sent for it. What stays here is no fault."""
    path = tmp_path / "test_outside.py"
    path.write_text(OUTSIDE.format(address=ELSEWHERE))
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-rN", "-p", "tests.sockets.recording", str(path)]
    with overheard():
        done = subprocess.run(
            [*command, "-p", "no:cacheprovider"],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.count("connects to ('192.0.2.1', 443)") == 2, done.stdout
    assert "test_asks_for_a_name: this process connects to collector.example" in done.stdout
    assert "4 passed, 3 errors" in done.stdout


def test_this_very_run_is_under_it() -> None:
    """Else all that the others show is about nothing."""
    before = RECORDER.connects[:]
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
    assert RECORDER.connects[len(before) :]
