"""What the agents have in common: their one tool, their files, how long a loop may run.

Must not know an SDK.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from proxy.demo.vendors.plan import TOOL

SYSTEM = "You help with the files of this folder."
TOOL_SAYS = "Reads a file of this folder."
PARAMETERS: dict[str, object] = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}

CREDENTIAL = "not-a-key"
ROUNDS = 6


class Runaway(RuntimeError):
    """The model kept calling tools for `ROUNDS` rounds."""

    def __init__(self) -> None:
        super().__init__(f"the model still called {TOOL} after {ROUNDS} rounds")


@dataclass(frozen=True, slots=True)
class Setup:
    """Where an agent finds its model and what it may read.

    `base_url` is an origin without `/v1`; `files` maps path to text."""

    base_url: str
    model: str
    stream: bool
    files: Mapping[str, str] = field(repr=False)

    def read_file(self, path: object) -> str:
        """The tool itself: the text of the file, or a sentence that there is none."""
        return self.files.get(path, "no such file") if isinstance(path, str) else "no such file"


class Agent(Protocol):
    """A conversation with a model through one SDK, with that SDK's own defaults."""

    async def ask(self, question: str) -> str:
        """Run the tool loop until the model answers, and return its answer. Errors of the SDK
        pass. The history stays: a further question resends all of it."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


def nobody_trusted() -> ssl.SSLContext:
    """A TLS context without a single authority: an agent of the demo can only speak to plain
    loopback addresses, and starts faster."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
