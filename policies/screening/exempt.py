"""Positions whose content a model provider made and sealed, and what fields say of their content.

Owns the list of exempt positions. It must not know what is looked for.
"""

import re
from collections.abc import Mapping, Sequence

from policies.conversation import Address, Strand

_SEALED = re.compile(r"[A-Za-z0-9+/_=-]*")
_RESPONSES_ITEMS = frozenset({"reasoning", "compaction", "compaction_summary", "web_search_call"})
_SKIPPED = frozenset(
    {"type", "role", "id", "tool_use_id", "call_id", "tool_call_id", "name", "media_type", "model",
     "status", "detail", "object", "index"}
)  # fmt: skip


class Fields:
    """The strings of one piece by their address, to look at what stands beside a string."""

    def __init__(self, strands: Sequence[Strand]) -> None:
        self._texts: Mapping[Address, str] = {
            strand.address: strand.text for strand in strands if not strand.is_key
        }

    def sealed(self, strand: Strand) -> bool:
        """Exactly: an assistant's `thinking.signature` and `redacted_thinking.data`, `encrypted_*`
        of items that the vendor made, `encrypted_content` of a Responses reasoning item.

        SECURITY: the position alone is not enough; what stands there must be one sealed run.
        """
        address = strand.address
        key = address[-1] if address else ""
        if strand.is_key or not isinstance(key, str) or not _SEALED.fullmatch(strand.text):
            return False
        kind = self._texts.get((*address[:-1], "type"), "")
        if (*address[:2], "role") not in self._texts:
            return key.startswith("encrypted_") and (
                self._texts.get((*address[:2], "type"), "") in _RESPONSES_ITEMS
            )
        if self._texts[*address[:2], "role"].lower() != "assistant":
            return False
        return key.startswith("encrypted_") or (kind, key) in (
            ("thinking", "signature"),
            ("redacted_thinking", "data"),
        )

    def media(self, strand: Strand) -> str:
        """The media type that the field beside `data` claims, where there is one."""
        if strand.address and strand.address[-1] == "data":
            return self._texts.get((*strand.address[:-1], "media_type"), "")
        return ""


def is_content(strand: Strand) -> bool:
    """Free text, which may be one part of something that was split; not a schema word or an id."""
    return not strand.is_key and bool(strand.address) and strand.address[-1] not in _SKIPPED
