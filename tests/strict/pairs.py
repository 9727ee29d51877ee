"""Clients with the strict upstreams that they talk to, for scenes that hold for all of them.

Owns the list. It must not know what a scene does.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.strict.anthropic import Claude
from tests.strict.chat import Chats
from tests.strict.claude_code import ClaudeCode
from tests.strict.house import House
from tests.strict.openai_clients import ChatAgent, Codex, OllamaAgent
from tests.strict.reading import bare_results
from tests.strict.responses import Codices
from tests.strict.sessions import Post, Session

Upstream = Claude | Codices | Chats


@dataclass(frozen=True)
class Pair:
    """A client and the strict upstream that it talks to."""

    client: Callable[[Post], Session]
    upstream: Callable[[], Upstream]


PAIRS = {
    "claude-code": Pair(ClaudeCode, Claude),
    "codex": Pair(Codex, Codices),
    "codex-code-mode": Pair(lambda post: Codex(post, code_mode=True), Codices),
    "chat": Pair(ChatAgent, Chats),
    "chat-parts": Pair(lambda post: ChatAgent(post, parts=True), Chats),
    "ollama": Pair(OllamaAgent, Chats),
}
ALL_CLIENTS = pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())

MAIN = ("claude-code", "codex", "chat", "ollama")
CLIENTS = pytest.mark.parametrize("pair", [PAIRS[name] for name in MAIN], ids=MAIN)
SEALING_CLIENTS = pytest.mark.parametrize("pair", [PAIRS[name] for name in MAIN[:2]], ids=MAIN[:2])

ROUNDS = [(1,), (2, 1), (), (3,), (1, 1)]
"""Calls per round, turn by turn."""


def fine(house: House, upstream: Upstream) -> None:
    """Nothing was refused, no history ever read differently."""
    assert not upstream.refused, upstream.refused
    assert not house.witness.broken, house.witness.broken
    assert house.witness.compared > 0


def all_framed(house: House) -> None:
    """Every result in the newest request at the upstream is in a frame as a whole."""
    bare = bare_results(house.newest)
    assert not bare, bare
