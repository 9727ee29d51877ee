"""The control socket: who may speak, what is answered, and who owns the file."""

import asyncio
import json
import os
import socket
import stat
import struct
import subprocess
import sys

import pytest

from proxy import control
from proxy.control import NAME, Control, NoControl, NoNode, ask, peer_uid


async def health(facts):
    return {"ok": True, "heard": dict(facts)}


@pytest.fixture
async def node(tmp_path):
    made = await Control.open(tmp_path, {"health": health})
    yield made
    await made.close()


async def spoken(folder, line: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(folder / NAME))
    writer.write(line)
    answer = await reader.read()
    writer.close()
    return answer


async def test_one_line_in_one_line_out(node, tmp_path):
    """The verb gets the whole request; the asking side gets the whole answer."""
    answer = await asyncio.to_thread(ask, tmp_path, "health", more=1)
    assert answer == {"ok": True, "heard": {"do": "health", "more": 1}}
    assert (await spoken(tmp_path, b'{"do":"health"}\n')).count(b"\n") == 1


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"{}\n",
        b"[]\n",
        b"7\n",
        b'{"do":"nope"}\n',
        b'{"do":7}\n',
        b"\xff\n",
        b"{\n",
        b"[" * 60_000 + b"\n",
    ],
)
async def test_what_is_no_verb(node, tmp_path, line):
    """The answer says what is understood, and repeats nothing."""
    answer = json.loads(await spoken(tmp_path, line))
    assert answer == {"error": "one JSON object per line, with do = health"}


async def test_a_line_without_end_is_not_read_for_ever(node, tmp_path):
    """Beyond 64 kB the connection ends without an answer."""
    assert await spoken(tmp_path, b"x" * 200_000) == b""


async def test_a_silent_peer_is_not_waited_for(node, tmp_path, monkeypatch):
    """Whoever says nothing is let go."""
    monkeypatch.setattr(control, "_SECONDS", 0.1)
    assert await spoken(tmp_path, b"") == b""


async def test_only_the_user_may_speak(node, tmp_path, monkeypatch):
    """The peer's uid is checked, and an unknown one is refused; root may always."""
    for uid, allowed in ((os.geteuid() + 1, False), (None, False), (0, True), (os.geteuid(), True)):
        monkeypatch.setattr(control, "peer_uid", lambda peer, uid=uid: uid)
        answer = json.loads(await spoken(tmp_path, b'{"do":"health"}\n'))
        assert ("ok" in answer) is allowed
        assert ("error" in answer) is not allowed


async def test_the_file_is_the_users_alone(node, tmp_path):
    """Mode 0600 from the moment that it exists, whatever the umask."""
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / f"{NAME}.lock").stat().st_mode) == 0o600


async def test_closing_takes_the_file_away(tmp_path):
    """A node that has stopped answers nobody; closing twice does no harm."""
    made = await Control.open(tmp_path, {})
    await made.close()
    await made.close()
    assert not (tmp_path / NAME).exists()
    with pytest.raises(NoNode, match="no node answers"):
        ask(tmp_path, "health")


async def test_a_second_node_does_not_take_the_socket(node, tmp_path):
    """It is told, and the first still answers."""
    with pytest.raises(NoControl, match="another node"):
        await Control.open(tmp_path, {})
    assert await spoken(tmp_path, b'{"do":"health"}\n')


async def test_a_stale_socket_is_replaced(tmp_path):
    """What a crash left behind is in nobody's way."""
    with socket.socket(socket.AF_UNIX) as crashed:
        crashed.bind(str(tmp_path / NAME))
        crashed.listen()
    made = await Control.open(tmp_path, {"health": health})
    assert await spoken(tmp_path, b'{"do":"health"}\n')
    await made.close()


async def test_a_socket_that_answers_is_left_alone(tmp_path):
    """Even without a lock beside it; and the lock is not kept."""
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / NAME))
        other.listen()
        for _ in range(2):
            with pytest.raises(NoControl, match="another node"):
                await Control.open(tmp_path, {})
    assert (tmp_path / NAME).exists()


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
async def test_what_is_no_socket_is_left_alone(tmp_path, kind):
    """A file of that name is not ours to remove."""
    path = tmp_path / NAME
    match kind:
        case "file":
            path.write_text("kept")
        case "folder":
            path.mkdir()
        case _:
            path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NoControl, match="is no socket; move it"):
        await Control.open(tmp_path, {})
    assert path.is_symlink() or path.exists()


async def test_a_lock_that_is_a_link_is_not_followed(tmp_path):
    """A planted link does not make the node create a file elsewhere."""
    (tmp_path / f"{NAME}.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NoControl):
        await Control.open(tmp_path, {})
    assert not (tmp_path / "elsewhere").exists()


async def test_a_path_that_is_too_long(tmp_path):
    """Unix sockets have short names; the error says so and nothing stays locked."""
    folder = tmp_path / ("x" * 120)
    folder.mkdir()
    for _ in range(2):
        with pytest.raises(NoControl, match="too long"):
            await Control.open(folder, {})
    with pytest.raises(NoNode):
        ask(folder, "health")


async def test_a_folder_that_is_missing(tmp_path):
    """The error names the place."""
    with pytest.raises(NoControl, match="nowhere"):
        await Control.open(tmp_path / "nowhere", {})


@pytest.mark.parametrize("answer", [b"", b"7\n", b"nonsense\n"])
def test_what_answers_is_no_node(tmp_path, answer):
    """Nonsense from the other end is no answer of a node."""
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / NAME))
        other.listen()

        async def serve():
            peer, _ = await asyncio.to_thread(other.accept)
            with peer:
                peer.recv(1000)
                peer.sendall(answer)

        async def both():
            await asyncio.gather(serve(), asyncio.to_thread(failing))

        def failing():
            with pytest.raises(NoNode):
                ask(tmp_path, "health")

        asyncio.run(both())


def test_the_user_at_the_other_end():
    """The system tells who it is."""
    one, two = socket.socketpair(socket.AF_UNIX)
    with one, two:
        assert peer_uid(one) == os.geteuid()


class Peer:
    """A socket of another system."""

    def __init__(self, answer: bytes | OSError) -> None:
        self.answer = answer

    def getsockopt(self, *what):
        assert what == (0, 1, 76)
        if isinstance(self.answer, OSError):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("platform", "answer", "uid"),
    [
        ("darwin", struct.pack("=IIh", 0, 501, 1) + bytes(66), 501),
        ("freebsd14", struct.pack("=IIh", 0, 1001, 1) + bytes(66), 1001),
        ("darwin", OSError("no"), None),
        ("darwin", b"", None),
        ("win32", b"", None),
    ],
)
def test_the_user_on_other_systems(monkeypatch, platform, answer, uid):
    """BSDs tell it in another way; where nobody tells, nobody is known."""
    monkeypatch.delattr(socket, "SO_PEERCRED")
    monkeypatch.setattr(sys, "platform", platform)
    assert peer_uid(Peer(answer)) == uid


def test_asking_loads_no_http_library():
    """Verbs of the command line that only ask stay quick."""
    code = "import proxy.control, sys; print('aiohttp' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"
