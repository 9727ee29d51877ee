"""Tells the service manager that this node is ready, or about to end (the sd_notify protocol).

Owns the datagram. It must not know a node. Without a manager that asked to be told it does nothing.
Source: sd_notify(3): one datagram of `NAME=value` lines to the Unix socket in `$NOTIFY_SOCKET`; a
leading `@` stands for the zero byte of an abstract address.
"""

import contextlib
import socket
from collections.abc import Mapping
from typing import Final

READY: Final = "READY=1"
STOPPING: Final = "STOPPING=1"

_SECONDS: Final = 1.0


def notify(state: str, environ: Mapping[str, str]) -> None:
    """Send `state` to the manager that `environ` names. A manager that does not listen is no
    reason to end."""
    address = environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    where = f"\0{address[1:]}" if address.startswith("@") else address
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagram,
    ):
        datagram.settimeout(_SECONDS)
        datagram.connect(where)
        datagram.sendall(state.encode())
