"""The control socket: one line of JSON in, one out, for the user who runs the node and for root.

Owns the Unix socket in the state folder, who may speak to it, and the asking side. It must not
know what a verb does. Imports no HTTP library, so that verbs of the command line stay quick.
"""

import asyncio
import fcntl
import json
import os
import socket
import stat
import struct
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

Facts = Mapping[str, object]
Verb = Callable[[Facts], Awaitable[Facts]]
"""The whole request → the answer; both are JSON objects."""

NAME: Final = "transom.sock"
_LINE: Final = 64 * 1024
_SECONDS: Final = 5.0


class NoControl(Exception):
    """The control socket cannot be served here; the message says why, in our words."""


class NoNode(Exception):
    """No node answers on the control socket; the message says why, in our words."""


@dataclass(slots=True)
class Control:
    """The serving side. Only one node per state folder has it; a lock beside it decides, so that
    a crash leaves nothing in the way and two starts at once cannot take it from each other."""

    path: Path
    verbs: Mapping[str, Verb]
    _lock: int
    _server: asyncio.Server | None = field(default=None)

    @classmethod
    async def open(cls, folder: Path, verbs: Mapping[str, Verb]) -> "Control":
        """Serve `verbs` on the socket in `folder`, which must exist. Raises `NoControl`, above all
        when another node has it; a node works without."""
        path = folder / NAME
        lock = _lock(folder / f"{NAME}.lock")
        try:
            _clear(path)
            control = cls(path, verbs, lock)
            control._server = await asyncio.start_unix_server(
                control._serve, sock=_bound(path), limit=_LINE
            )
        except OSError as problem:
            os.close(lock)
            raise NoControl(f"{path}: {problem.strerror or 'the path is too long'}") from None
        except NoControl:
            os.close(lock)
            raise
        return control

    async def close(self) -> None:
        """Stop serving and take the socket away."""
        if self._server is not None:
            self._server.close()
            self.path.unlink(missing_ok=True)
            os.close(self._lock)
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_SECONDS):
                line = await reader.readline()
            answer = await self._answer(writer.get_extra_info("socket"), line)
            writer.write(json.dumps(answer).encode() + b"\n")
            async with asyncio.timeout(_SECONDS):
                await writer.drain()
        except (TimeoutError, ConnectionError, ValueError):
            pass  # nobody is there to be told
        finally:
            writer.close()

    async def _answer(self, peer: socket.socket, line: bytes) -> Facts:
        # SECURITY: file modes alone are not enough, some systems ignore them on sockets.
        if peer_uid(peer) not in (os.geteuid(), 0):
            return {"error": "another user runs this node"}
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            request = None
        verb = self.verbs.get(str(request.get("do"))) if isinstance(request, dict) else None
        if verb is None:
            return {"error": f"one JSON object per line, with do = {' | '.join(self.verbs)}"}
        return await verb(request)


def ask(folder: Path, do: str, seconds: float = _SECONDS, **facts: object) -> Facts:
    """Ask the node whose state is in `folder`. Raises `NoNode`."""
    line = json.dumps({"do": do, **facts}).encode() + b"\n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as talk:
        talk.settimeout(seconds)
        try:
            talk.connect(str(folder / NAME))
            talk.sendall(line)
            with talk.makefile("rb") as reader:
                answer = json.loads(reader.readline())
        except (OSError, ValueError):
            raise NoNode(f"no node answers at {folder / NAME}") from None
    if not isinstance(answer, dict):
        raise NoNode(f"what answers at {folder / NAME} is no node")
    return answer


def peer_uid(peer: socket.socket) -> int | None:
    """The user at the other end of a Unix socket; None where the system does not tell."""
    try:
        if hasattr(socket, "SO_PEERCRED"):
            cred = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            return int(struct.unpack("3i", cred)[1])
        if sys.platform == "darwin" or "bsd" in sys.platform:
            # struct xucred of <sys/ucred.h> by LOCAL_PEERCRED: version, uid, …
            cred = peer.getsockopt(0, 1, 76)
            return int(struct.unpack_from("=II", cred)[1])
    except (OSError, struct.error):
        return None
    return None


def _lock(path: Path) -> int:
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as problem:
        raise NoControl(f"{path}: {problem.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise NoControl(f"another node serves {path.parent / NAME}") from None
    return lock


def _clear(path: Path) -> None:
    """Take away a socket that nobody answers on; leave everything else where it is."""
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(kind):
        raise NoControl(f"{path} is in the way and is no socket; move it")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
        else:
            raise NoControl(f"another node serves {path}")


def _bound(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        made.setblocking(False)
        made.bind(str(path))
    except OSError:
        made.close()
        raise
    finally:
        os.umask(mask)
    return made
