"""What a start does beside the rest of it: another process compiles the rules of the screen.

Owns that process and what it hands over. It must not import more of the node than the screen: the
gain is that the rest is read meanwhile. No thread does it: two that take memory all the time wait
for each other where all threads share one pool, and so they must for the node to stay small.
"""

import os
import threading
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from policies.screening import Screen
from policies.screening.screen import Shipped, compiled, pack


class Early:
    """Begins when it is made, before any thread starts. Where no process can be had, or it fails,
    the rules are compiled when they are asked for."""

    def __init__(self) -> None:
        self._child, self._pipe = 0, -1
        self._rules: Shipped | None = None
        if hasattr(os, "fork") and threading.active_count() == 1:
            self._begin()

    def screen(self, deny: Mapping[str, bytes]) -> Screen:
        """`Screen.build` once the rules are compiled; who asks waits. Raises what that raises."""
        if self._rules is None:
            self._rules = compiled(self._handed())
        return Screen.build(deny, self._rules)

    def _begin(self) -> None:
        read, write = os.pipe()
        try:
            self._child = os.fork()
        except OSError:  # no room for another process
            os.close(read)
            os.close(write)
            return
        if self._child == 0:
            os.close(read)  # else it would wait for ever where nobody else reads
            _compile(write)
        os.close(write)
        self._pipe = read

    def _handed(self) -> dict[str, bytes]:
        """What the other process compiled; nothing where it ended before it was done."""
        if not self._child:
            return {}
        with os.fdopen(self._pipe, "rb") as pipe:
            data = pipe.read()
        with suppress(ChildProcessError):  # whoever started us may have them all reaped
            os.waitpid(self._child, 0)
        self._child = 0
        try:
            return msgspec.msgpack.decode(data, type=dict[str, bytes])
        except msgspec.DecodeError:
            return {}


def _compile(write: int) -> None:
    """All that the other process ever does. It ends here whatever happens, and quietly."""
    try:
        with os.fdopen(write, "wb") as pipe:
            pipe.write(msgspec.msgpack.encode(pack()))
    finally:
        os._exit(0)
