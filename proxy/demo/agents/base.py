"""What the agents have in common: their one tool, their files, how long a loop may run.

Must not know an SDK.
"""

import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

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

    `base_url` is an origin without `/v1`; `files` maps path to text. The bodies of all requests
    that the SDK makes are added to `sent`, retries included."""

    base_url: str
    model: str
    stream: bool
    files: Mapping[str, str] = field(repr=False)
    sent: list[bytes] = field(default_factory=list, repr=False)

    def read_file(self, path: object) -> str:
        """The tool itself: the text of the file, or a sentence that there is none."""
        return self.files.get(path, "no such file") if isinstance(path, str) else "no such file"

    @property
    def hooks(self) -> dict[str, list[Callable[["_Request"], Awaitable[None]]]]:
        """Event hooks for the HTTP client under the SDK."""

        async def record(request: _Request) -> None:
            self.sent.append(await request.aread())

        return {"request": [record]}


class _Request(Protocol):
    """What the HTTP clients of all SDKs hand to a hook."""

    async def aread(self) -> bytes: ...


class Agent(Protocol):
    """A conversation with a model through one SDK, with that SDK's own defaults.

    `refusal`: the SDK's own error for a request that is refused with a 400; `failures`: all that
    its calls raise when a server answers badly or not at all."""

    refusal: ClassVar[type[Exception]]
    failures: ClassVar[tuple[type[Exception], ...]]

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
