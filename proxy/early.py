"""What a start does beside the rest of it: other processes compile the rules of the screen.

Owns these processes and what they hand over. It must not import more of the node than the screen:
the gain is that the rest is read meanwhile. No thread does it: two that take memory all the time
wait for each other where all threads share one pool, and so they must for the node to stay small.
"""

import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import msgspec

from policies.screening import Screen
from policies.screening.screen import Shipped, compiled, pack


class _Other(NamedTuple):
    """Another process, and where it hands over what it has compiled."""

    child: int
    pipe: int


class Early:
    """Begins when it is made, before any thread starts. Where no process can be had, or one fails,
    what it would have compiled is compiled when it is asked for."""

    def __init__(self) -> None:
        self._others: list[_Other] = []
        self._rules: Shipped | None = None
        if hasattr(os, "fork") and threading.active_count() == 1:
            with suppress(OSError):  # no room for another process
                # What takes longest begins first.
                for first in (True, False):
                    self._others.append(self._begun(first=first))

    def screen(self, deny: Mapping[str, bytes]) -> Screen:
        """`Screen.build` once the rules are compiled; who asks waits. Raises what that raises."""
        if self._rules is None:
            handed: dict[str, bytes] = {}
            while self._others:
                handed |= _handed(*self._others.pop())
            self._rules = compiled(handed)
        return Screen.build(deny, self._rules)

    def _begun(self, *, first: bool) -> _Other:
        read, write = os.pipe()
        try:
            child = os.fork()
        except OSError:
            os.close(read)
            os.close(write)
            raise
        if child == 0:
            # Else it would wait for ever where nobody else reads.
            for pipe in (read, *(other.pipe for other in self._others)):
                os.close(pipe)
            _compile(write, first=first)
        os.close(write)
        return _Other(child, read)


def _handed(child: int, pipe: int) -> dict[str, bytes]:
    """What another process compiled; nothing where it ended before it was done."""
    with os.fdopen(pipe, "rb") as file:
        data = file.read()
    with suppress(ChildProcessError):  # whoever started us may have them all reaped
        os.waitpid(child, 0)
    try:
        return msgspec.msgpack.decode(data, type=dict[str, bytes])
    except msgspec.DecodeError:
        return {}


def _compile(write: int, *, first: bool) -> None:
    """All that the other process ever does. It ends here whatever happens, and quietly."""
    try:
        with os.fdopen(write, "wb") as pipe:
            pipe.write(msgspec.msgpack.encode(pack(first=first)))
    finally:
        os._exit(0)
