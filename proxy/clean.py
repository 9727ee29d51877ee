"""Digests of pieces that the screen has found clean. In memory only, bounded, first in first out.

Owns the memory; it must not know what a piece is. It starts empty whenever the rules change.
"""

from collections import OrderedDict
from collections.abc import Iterable

ENTRIES = 65_536  # 32-byte digests: some 10 MB with the overhead of the interpreter


class CleanDigests:
    """A bounded set, valid for one version of the rules."""

    def __init__(self, entries: int = ENTRIES) -> None:
        self._entries = entries
        self._version = b""
        self._digests: OrderedDict[bytes, None] = OrderedDict()

    def under(self, version: bytes) -> "CleanDigests":
        """Itself, emptied first if what it holds was found under another version of the rules."""
        if version != self._version:
            self._version = version
            self._digests = OrderedDict()
        return self

    def __contains__(self, digest: object) -> bool:
        return digest in self._digests

    def add(self, digests: Iterable[bytes], version: bytes) -> None:
        """Remember `digests`, found clean under `version`; ignored if the rules changed since."""
        if version != self._version:
            return
        for digest in digests:
            self._digests[digest] = None
            self._digests.move_to_end(digest)
        while len(self._digests) > self._entries:
            self._digests.popitem(last=False)
