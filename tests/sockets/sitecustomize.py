"""In each process that a test starts: writes down where it connects to.

Python imports this by itself where its folder is on the path. One line each, in the file that
`CONNECTS` names: what was called, with what, how the process was started, and of a node that
serves the text of its configuration, which may be gone when the line is read.
"""

import os
import sys

WATCHED = ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname")


def _watch(path: str) -> None:
    def write_down(event: str, given: tuple[object, ...]) -> None:
        if event in WATCHED:
            told = event, _of(event, given), sys.orig_argv, _configuration()
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(file, f"{told!r}\n".encode())
            os.close(file)

    sys.addaudithook(write_down)


def _configuration() -> str:
    started = sys.orig_argv
    if "serve" not in started or "-c" not in started[:-1]:
        return ""
    from pathlib import Path  # where a node serves it is there in any case

    return Path(started[started.index("-c") + 1]).read_text("utf-8")


def _of(event: str, given: tuple[object, ...]) -> object:
    """The address, or the name that is looked up."""
    return given[1] if event in ("socket.connect", "socket.sendto") else given[0]


if os.environ.get("CONNECTS"):
    _watch(os.environ["CONNECTS"])
