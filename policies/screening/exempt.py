"""Positions whose content a model provider made and sealed, and what fields say of their content.

Owns the list of exempt positions. It must not know what is looked for.
"""

import re
from collections.abc import Mapping, Sequence

from policies.conversation import Address, Strand

_SEALED = re.compile(r"[A-Za-z0-9+/_=-]*")
_ENCRYPTED = "encrypted_"
_BLOCKS = frozenset(
    {"web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result",
     "bash_code_execution_tool_result", "text_editor_code_execution_tool_result",
     "tool_search_tool_result", "advisor_tool_result", "compaction"}
)  # fmt: skip
"""Blocks of an assistant's message that the vendor's own tools wrote."""
_ITEMS = frozenset({"reasoning", "compaction", "compaction_summary", "web_search_call"})
"""Items of a Responses input that the vendor made."""
SKIPPED = frozenset(
    {"type", "role", "id", "tool_use_id", "call_id", "tool_call_id", "name", "media_type", "model",
     "status", "detail", "object", "index"}
)  # fmt: skip
"""Fields of schema words and ids."""


class Fields:
    """The strings of one piece by their address, to look at what stands beside a string."""

    def __init__(self, strands: Sequence[Strand]) -> None:
        self._texts: Mapping[Address, str] = {
            strand.address: strand.text for strand in strands if not strand.is_key
        }

    def sealed(self, strand: Strand) -> bool:
        """Exactly: an assistant's `thinking.signature` and `redacted_thinking.data`, `encrypted_*`
        of blocks and items that the vendor made, and of what an assistant's text cites.

        SECURITY: the position alone is not enough; what stands there must be one sealed run.
        """
        address = strand.address
        if strand.is_key or not _SEALED.fullmatch(strand.text):
            return False
        match address:
            case ("messages", int(), "content", int(), *way):
                if self._texts.get((*address[:2], "role"), "").lower() != "assistant":
                    return False
                return _made(self._texts.get((*address[:4], "type"), ""), way)
            case ("input", int(), str(key)):
                kind = self._texts.get((*address[:2], "type"), "")
                return kind in _ITEMS and key.startswith(_ENCRYPTED)
            case _:
                return False

    def media(self, strand: Strand) -> str:
        """The media type that the field beside `data` claims, where there is one."""
        if strand.address and strand.address[-1] == "data":
            return self._texts.get((*strand.address[:-1], "media_type"), "")
        return ""


def _made(kind: str, way: Sequence[str | int]) -> bool:
    """Whether a vendor sealed what stands on that way in an assistant's block of that kind."""
    match kind, way:
        case ("thinking", ["signature"]) | ("redacted_thinking", ["data"]):
            return True
        case ("text", ["citations", int(), str(key)]):
            return key.startswith(_ENCRYPTED)
        case (_, [*_, str(key)]):
            # SECURITY: arguments of a call are an assistant's too, and it is free to name them.
            return kind in _BLOCKS and key.startswith(_ENCRYPTED)
        case _:
            return False


def is_content(strand: Strand) -> bool:
    """Free text, which may be one part of something that was split; not a schema word or an id."""
    return not strand.is_key and bool(strand.address) and strand.address[-1] not in SKIPPED
