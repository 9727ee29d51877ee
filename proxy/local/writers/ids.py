"""Ids of calls in an answer: those of the local server where they can be kept, else our own.

Owns which ones can. It must not know a dialect but by the prefix that its ids have.
"""

import re
from typing import Final

# What every dialect takes: Anthropic allows no other characters, OpenAI no more of them.
_LEGAL: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")


class Ids:
    """Ids for the answer to the request `asked`. `key`: letters and digits, of this answer alone;
    `prefix`: what ids of calls begin with."""

    def __init__(self, prefix: str, key: str, asked: bytes) -> None:
        self._own = f"{prefix}_{key}"
        self._asked = asked
        self._given: set[str] = set()

    def of(self, server: str) -> str:
        """An id that stands nowhere else in the conversation. `server`: the one that came."""
        mine = f"{self._own}_{len(self._given)}"
        # Servers that count from 0 in each answer give the ids of earlier turns again.
        taken = not _LEGAL.fullmatch(server) or server in self._given
        chosen = mine if taken or f'"{server}"'.encode() in self._asked else server
        self._given.add(chosen)
        return chosen
