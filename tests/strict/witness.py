"""A witness of the append-only promise: the same history reads the same upstream, every time.

Owns the comparison of what clients said with what arrived, for every dialect. It must not know how
anything is framed: it never looks into a text.
"""

from dataclasses import dataclass, field
from typing import Any

from tests.strict.anthropic_rules import blocks
from tests.strict.chain import linked

Body = dict[str, Any]

_LOOSE = ("id", "status", "internal_chat_message_metadata_passthrough")


def parts(body: Body) -> tuple[Any, list[Any]]:
    """What stands before the messages, and the messages, as far as a model reads them: without ids
    of items; a string is one block; neighbours of one role are one list."""
    items = body.get("messages", body.get("input", []))
    top = [body.get("tools"), blocks(body.get("system")), body.get("instructions")]
    read: list[Any] = []
    for item in items:
        if "content" in item and "type" not in item and isinstance(body.get("max_tokens"), int):
            rest = {key: item[key] for key in item if key != "content"}
            read += [[rest, block] for block in blocks(item["content"])]
        else:
            read.append({key: value for key, value in item.items() if key not in _LOOSE})
    return top, read


@dataclass
class Witness:
    """`seen`: for every history that a client has sent, what the upstream read of it. `broken`: the
    places of those that read differently another time."""

    seen: dict[bytes, bytes] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    compared: int = 0

    def saw(self, client: Body, upstream: Body) -> None:
        """A request as the client sent it and as it arrived."""
        told_top, told = parts(client)
        read_top, read = parts(upstream)
        told = _kept(told, read)
        added = len(read) - len(told)
        leading = _leading(told)
        theirs, ours = linked(b"", told_top), linked(b"", read_top)
        for extra in read[leading : leading + added]:
            ours = linked(ours, extra)
        rest = read[:leading] + read[leading + added :]
        for index, (said, got) in enumerate(zip(told, rest, strict=True)):
            theirs, ours = linked(theirs, said), linked(ours, got)
            self.compared += theirs in self.seen
            if self.seen.setdefault(theirs, ours) != ours:
                self.broken.append(f"part {index} of {len(told)}")
                return


def _kept(told: list[Any], read: list[Any]) -> list[Any]:
    """What the client told, without the thinking that did not arrive."""
    arrived = [part for part in read if _is_thinking(part)]
    return [part for part in told if not _is_thinking(part) or part in arrived]


def _is_thinking(part: Any) -> bool:
    block = part[1] if isinstance(part, list) else part
    return block.get("type") in ("thinking", "redacted_thinking", "reasoning")


def _leading(items: list[Any]) -> int:
    for index, item in enumerate(items):
        if not isinstance(item, dict) or item.get("role") not in ("system", "developer"):
            return index
    return len(items)
