"""Which session a request belongs to, by the headers in which clients say so.

Owns the list of those headers. A credential names no session. Sub-agents of Claude Code share its
header and differ in their conversation; fields like `metadata.user_id` and `prompt_cache_key`, in
which clients repeat the name, are not read.
"""

from collections.abc import Sequence
from typing import Final

from policies.conversation import Conversation
from proxy.identity import session_id

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
    key: bytes,
    client: str,
    named: str,
    conversation: Conversation | None = None,
) -> str:
    """The session as it may be logged: 12 hex digits of its identity under `key`, or nothing where
    no header has `named` it and the conversation is not known."""
    return session_id(key, client, named, conversation).hex()[:12]
