"""Scripted clients: they keep a history and resend it as the real ones were seen to (wire.md 6).

Owns what all have in common: turns, rounds of tool calls, rewinding, forking, resuming. It must not
know Transom, nor where it posts to: `post` may be exchanged between two requests.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from tests.scenes.staging import Heard
from tests.strict.chain import copied
from tests.strict.plot import prompt

Post = Callable[[str, dict[str, Any], Mapping[str, str]], Awaitable[Heard]]
"""Path, body, headers → the answer."""


@dataclass
class Session(ABC):
    """A client with one conversation. `history` is in the client's own form; `marks` are the
    lengths of the history at which a turn began; `found` counts the tool results of the session."""

    post: Post
    label: str = "one"
    history: list[dict[str, Any]] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    found: int = 0
    size: int = 500
    requests: int = 0
    snapshots: list["Session"] = field(default_factory=list)

    path = ""

    async def turn(self, text: str, *steps: int) -> None:
        """One prompt, and all rounds of calls up to the answer."""
        self.ask(text, *steps)
        while await self.step():
            pass

    def ask(self, text: str, *steps: int) -> None:
        """Type a prompt; nothing is sent yet."""
        self.marks.append(len(self.history))
        self.say(prompt(text, *steps))

    async def step(self) -> bool:
        """One request; calls in the answer are carried out. False when the turn is over."""
        self.snapshots.append(self._copy())
        self.requests += 1
        answer = await self.post(self.path, self.body(), self.headers())
        assert answer.status == 200, answer.body.decode()
        return self.hear(answer.json())

    def rewind(self, turns: int) -> None:
        """Take back the newest turns."""
        del self.history[self.marks[-turns] :]
        del self.marks[-turns:]

    def fork(self, label: str) -> Self:
        """The same history under another session id."""
        other = self._copy()
        other.label = label
        return other

    def resume(self) -> None:
        """Go on under a new session id."""
        self.label += ", resumed"

    def _copy(self) -> Self:
        other = copy.copy(self)
        other.history = copied(self.history)
        other.marks, other.snapshots = list(self.marks), []
        return other

    @abstractmethod
    def say(self, text: str) -> None:
        """Add the operator's prompt to the history."""

    @abstractmethod
    def body(self) -> dict[str, Any]:
        """The request for the history as it stands."""

    @abstractmethod
    def hear(self, answer: dict[str, Any]) -> bool:
        """Add an answer and the results of its calls. True when there were calls."""

    def headers(self) -> dict[str, str]:
        """Headers of a request."""
        return {}


def schema(*names: str) -> dict[str, Any]:
    """A JSON schema of an object of strings."""
    properties = {name: {"type": "string", "description": f"The {name}."} for name in names}
    return {"type": "object", "properties": properties, "required": list(names)}
