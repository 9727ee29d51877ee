"""What a prompt cache would have given: models of the three kinds that vendors run (wire.md 4).

Owns the arithmetic: prefixes, breakpoints, the look-back, minimum sizes, slots. Time is left out:
an entry lives for ever. It must not know what a frame is. A token is four characters here; shares
are ratios within one run, so the rate does not matter.
"""

import hashlib
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.strict.anthropic_rules import Body, blocks
from tests.strict.chain import linked, plain, unmarked

PER_TOKEN = 4  # characters

LOOK_BACK = 20
"""Blocks that a breakpoint looks back over for an entry (4.1 [D])."""

LEAST = 1024
"""Tokens below which nothing is cached; 4.1 says 512 to 4096 by model [D], 4.2 says 1024 [D]."""

GRAIN = 128
"""Tokens by which an automatic prefix grows."""


@dataclass(frozen=True)
class Hit:
    """Tokens of a prompt, and how many of them were read from the cache."""

    total: int
    read: int


def share(hits: Iterable[Hit]) -> float:
    """Part of all prompt tokens of a session that came from the cache."""
    counted = list(hits)
    return sum(hit.read for hit in counted) / sum(hit.total for hit in counted)


@dataclass
class Explicit:
    """Anthropic: entries end at breakpoints; a request reads the longest entry that ends at one of
    its breakpoints or at most 20 blocks before it. Order: tools, system, messages (4.1 [D])."""

    least: int = LEAST
    look_back: int = LOOK_BACK
    entries: set[bytes] = field(default_factory=set)

    def account(self, body: Body) -> Hit:
        """What this request reads; what it writes is there for the next."""
        links, tokens, marked = [], [], []
        link, total = b"", 0
        for block, breakpoint_here in prefix(body):
            link = linked(link, block)
            total += len(unmarked(block)) // PER_TOKEN
            links.append(link)
            tokens.append(total)
            if breakpoint_here:
                marked.append(len(links) - 1)
        read = max((self._found(links, tokens, mark) for mark in marked), default=0)
        self.entries |= {links[mark] for mark in marked if tokens[mark] >= self.least}
        return Hit(total, read)

    def _found(self, links: Sequence[bytes], tokens: Sequence[int], mark: int) -> int:
        for place in range(mark, max(mark - self.look_back, 0) - 1, -1):
            if links[place] in self.entries:
                return tokens[place]
        return 0


def prefix(body: Body) -> Iterator[tuple[Any, bool]]:
    """Block after block as the model's prefix has them, and whether a breakpoint stands there. A
    mark inside a tool result counts for the result."""
    for tool in body.get("tools", []):
        yield ["tool", tool], _marks(tool)
    for block in blocks(body.get("system")):
        yield ["system", block], _marks(block)
    for message in body["messages"]:
        for block in blocks(message.get("content")):
            yield [message["role"], block], _marks(block)


def _marks(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_marks, value))
    return isinstance(value, dict) and (
        bool(value.get("cache_control")) or _marks(value.get("content"))
    )


def prompt_text(body: Body) -> str:
    """The prompt of an OpenAI or Ollama request: tools, instructions, messages or items. What is
    no prompt content (ids of items, metadata, cache keys) is left out (4.2)."""
    tools = plain(body.get("tools", [])).decode()
    items = body.get("messages", body.get("input", []))
    lines = [plain(_content(item)).decode() for item in items]
    return "\n".join([tools, body.get("instructions") or "", *lines])


_NO_CONTENT = ("id", "status", "internal_chat_message_metadata_passthrough")


def _content(item: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in _NO_CONTENT}


@dataclass
class Automatic:
    """OpenAI: the longest prefix that any earlier request began with, in steps, from 1024 tokens
    (4.2 [D])."""

    least: int = LEAST
    seen: set[bytes] = field(default_factory=set)

    def account(self, body: Body) -> Hit:
        """What this request reads; all of it is there for the next."""
        text = prompt_text(body).encode()
        digest, read, grain = hashlib.sha256(), 0, GRAIN * PER_TOKEN
        fits = True
        for end in range(grain, len(text) + 1, grain):
            digest.update(text[end - grain : end])
            link = digest.digest()
            fits = fits and link in self.seen
            if fits and end // PER_TOKEN >= self.least:
                read = end // PER_TOKEN
            self.seen.add(link)
        return Hit(len(text) // PER_TOKEN, read)


@dataclass
class Slot:
    """Ollama: the longest common prefix with what the one slot held last; templates gather system
    messages at the front (4.3 [S])."""

    held: str = ""

    def account(self, body: Body) -> Hit:
        """What this request reads; it takes the slot."""
        front = [one for one in body["messages"] if one["role"] == "system"]
        rest = [one for one in body["messages"] if one["role"] != "system"]
        text = prompt_text({**body, "messages": front + rest})
        both = range(min(len(self.held), len(text)) + 1)
        common = bisect(both, False, key=lambda n: self.held[:n] != text[:n]) - 1
        self.held = text
        return Hit(len(text) // PER_TOKEN, common // PER_TOKEN)
