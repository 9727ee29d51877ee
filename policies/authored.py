"""Registry of every text that Transom may place in a conversation.

Owns the list; the proof lets no other text pass. Marker lines and intro are not here: they hold a
nonce, and `policies.envelope` makes them. It must not know where a text is placed.
"""

from collections.abc import Mapping
from types import MappingProxyType

from policies.envelope.policy_text import POLICY_TEXT

__all__ = ["AUTHORED", "POLICY_TEXT"]

AUTHORED: Mapping[str, str] = MappingProxyType({"policy": POLICY_TEXT})
"""Name → text."""
