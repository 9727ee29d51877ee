"""Which session a request belongs to, by the headers in which clients say so.

Owns the list of those headers. A credential names no session, and nothing here reads a body.
"""

from collections.abc import Callable, Sequence
from typing import Final

CLIENTS_OWN: Final = (
    "x-claude-code-session-id",  # Claude Code; its sub-agents share it
    "session-id",  # Codex; opencode towards OpenAI
    "session_id",  # pi
    "x-session-id",  # opencode
    "thread-id",  # Codex
)
"""Header names, lower-case, in the order in which they are believed."""


def name_of(headers: Sequence[tuple[str, str]], configured: str = "") -> str:
    """What names the session: the header that the owner configured, else the clients' own, else
    nothing. At most 256 characters of it."""
    values = {name.lower(): value for name, value in reversed(headers)}
    for name in (configured.lower(), *CLIENTS_OWN):
        if name and values.get(name):
            return values[name][:256]
    return ""


def labelled(
    headers: Sequence[tuple[str, str]], configured: str, digest: Callable[[str], bytes]
) -> str:
    """The session as it may be logged: 12 hex digits of `digest`, a keyed one; else empty."""
    name = name_of(headers, configured)
    return digest(name).hex()[:12] if name else ""
