"""What a body leans on that no screen can read: state that an upstream holds, content without text.

Owns which of that is ambiguous. It must not know a dialect, nor how ids come to be vouched for.
"""

from collections.abc import Container
from typing import Final

from policies.conversation import Address, Conversation
from policies.decision import Finding
from policies.screening import AMBIGUOUS, place

HELD: Final = "held-state"
OPAQUE: Final = "opaque-content"


def held(conversation: Conversation, vouched: Container[str]) -> tuple[Finding, ...]:
    """State held upstream, by which content leaves that is not in the body. What is `vouched` for
    is not: an id that this upstream gave in an answer that came through here (CONTRACT)."""
    if not conversation.held and not conversation.leans:
        return ()
    ids: dict[str, list[str]] = {name: [] for name in conversation.held}
    for name, given in conversation.leans:
        ids.setdefault(name, []).append(given)
    # SECURITY: what names no id is vouched for by nobody.
    return tuple(
        Finding(HELD, place((name,)), AMBIGUOUS)
        for name, given in ids.items()
        if not given or any(not each or each not in vouched for each in given)
    )


def opaque(conversation: Conversation) -> tuple[Finding, ...]:
    """Content that has no text to be read: documents, pictures, sound. Not what a model's vendor
    has sealed: that came from there."""
    thoughts = {way for message in conversation.messages for way in message.thoughts}
    return tuple(
        Finding(OPAQUE, place(address), AMBIGUOUS)
        for address in conversation.opaque
        if address not in thoughts and not _sealed(address)
    )


def _sealed(address: Address) -> bool:
    last = address[-1] if address else ""
    return isinstance(last, str) and last.startswith("encrypted_")
