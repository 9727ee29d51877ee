"""What a request that stays at home is answered with: the question, and how the server is asked.

Owns the value, the one way to the local server, and what is told of a failure that has a status.
It must not know what is made of its answer.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct

from proxy.answer import Answer
from proxy.config import UpstreamSettings
from proxy.dialects import Dialect
from proxy.errors import Refused
from proxy.failures import gone
from proxy.lazyjson import Document
from proxy.local.heard import shown
from proxy.local.spoken import Lost
from proxy.upstream import Outbound

HOLD: Final = 4.0
"""Seconds that the first byte is held back, so that a failure keeps its status."""

QUIET: Final = 15.0
"""Seconds of silence after which a stream gets a sign of life (wire.md 5.4)."""

WORDS: Final = 1.0
"""Seconds in which a server that fails tells why, behind its status."""

_LONGEST: Final = 8_192
"""Bytes of that which are read."""

Told = Callable[[Sequence[str]], Awaitable[None]]
"""Told the texts of an answer before its end goes out. May raise `Refused`."""

Hears = Callable[[Callable[[], Sequence[str]]], None]
"""Told how to ask for the texts of an answer as far as it has come; `Told` ends that."""


class Asked(Struct, frozen=True, eq=False):
    """A request that stays at home. `body`: as it is framed for a local model; `document`: as the
    client sent it, which names `model`, and wants a `stream` or not. `path` and `headers`: for a
    server that speaks the client's dialect. `key`: letters and digits for ids; `now`: Unix time in
    seconds; `explain`: words that stand before the answer, or none. `max_context`: tokens.
    `first_byte`: seconds. `hears`, `told`: who remembers what is said; `lost`: told which calls
    became text, as no client could carry them out. `held`: what it leans on that is kept elsewhere.
    `writes`: seconds beside `first_byte` in which a whole answer may be written, of which nothing
    is seen before its end."""

    upstream: UpstreamSettings
    dialect: Dialect
    body: bytes
    document: Document
    model: str
    stream: bool
    path: str
    headers: Sequence[tuple[str, str]]
    key: str
    now: int
    explain: str
    max_context: int
    first_byte: float
    hears: Hears
    told: Told
    lost: Callable[[Sequence[Lost]], None]
    held: Sequence[str] = ()
    writes: float = 0.0

    def __repr__(self) -> str:
        return f"<Asked of {self.upstream.name}>"  # what is in it is in no repr


async def ask(
    outbound: Outbound,
    asked: Asked,
    path: str,
    headers: Sequence[tuple[str, str]],
    body: bytes,
    *,
    whole: bool = False,
) -> Answer:
    """The answer of the local server to `body`, `whole` where that asks for no stream. Raises
    `Refused` for every one but a success."""
    answer = await outbound.send_local(
        asked.upstream,
        method="POST",
        path=path,
        query="",
        headers=headers,
        body=body,
        model=asked.upstream.model,
        first_byte=asked.first_byte + (asked.writes if whole else 0.0),
    )
    if answer.status == 200 and not answer.coded:
        return answer
    try:
        raise gone(asked.upstream, await _why(answer))
    finally:
        answer.close()


async def _why(answer: Answer) -> str:
    """The status, and the server's own words where it has some: that a model is too large for the
    memory stands nowhere else."""
    told = f"it answered with status {answer.status}"
    body = bytearray()
    with suppress(TimeoutError, Refused):
        async with asyncio.timeout(WORDS):
            async for chunk in answer.chunks:
                body += chunk
                if len(body) > _LONGEST:
                    return told
    words = "" if answer.coded else shown(_error(bytes(body)))
    # One word is what stood before a quote, and says nothing.
    return f"{told} and says {words}" if " " in words else told


def _error(body: bytes) -> object:
    """Where Ollama has its words, and where those stand that speak OpenAI's or Anthropic's."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    error = value.get("error", value) if isinstance(value, dict) else None
    return error.get("message") if isinstance(error, dict) else error
