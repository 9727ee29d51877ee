"""Ids of state that upstreams hold, as their answers through this node gave them. In memory only.

Owns what counts as such an id and how long it is remembered. A request that leans on another id is
ambiguous (DESIGN 3.5): nobody here has read what it stands for. It must not decide that.
"""

import re
from typing import Final

from proxy.memory import Memory

ENTRIES: Final = 16_384
"""Ids at most; older ones are forgotten, and what leans on them is ambiguous again."""
_LONGEST: Final = 256
# A quotation mark inside of a JSON string has a backslash before it, so that no text of a model and
# no tool result in it can name an id here.
_ID: Final = re.compile(
    rb'"(?:id|file_id|container_id)"[ \t\r\n]{0,8}:[ \t\r\n]{0,8}"([!-~]{1,200}?)"'
)

_NAME: Final = b'id"'  # how each of these names ends; to look for it takes next to nothing


class Relayed:
    """What was given, by upstream."""

    def __init__(self, entries: int = ENTRIES) -> None:
        self._ids: Memory[tuple[str, str], bool] = Memory(entries)

    def by(self, upstream: str) -> "Given":
        """The ids that `upstream` gave."""
        return Given(self._ids, upstream)


class Given:
    """The ids of one upstream."""

    def __init__(self, ids: Memory[tuple[str, str], bool], upstream: str) -> None:
        self._ids = ids
        self._upstream = upstream

    def __contains__(self, given: object) -> bool:
        return isinstance(given, str) and self._ids.get((self._upstream, given)) is not None

    def add(self, given: str) -> None:
        """Remember an id of an answer."""
        self._ids.put((self._upstream, given), True, 1)


class Listener:
    """Reads a copy of one answer and remembers the ids in it."""

    prompt = True

    def __init__(self, given: Given) -> None:
        self._given = given
        self._tail = b""

    def chunk(self, data: bytes) -> None:
        """The next bytes of the answer."""
        text = self._tail + data
        for match in _ID.finditer(text) if _NAME in text else ():
            if text[match.start() - 1 : match.start()] != b"\\":
                self._given.add(match[1].decode("ascii"))
        self._tail = text[-_LONGEST:]

    def end(self) -> None:
        """No more will come."""
