"""One JSON object as one event of a stream, in the grammar of each dialect.

Owns how an event of ours is written, whatever it says. It must not know what an event means: that
some grammars name an event after its `type` is all it reads.
"""

from typing import Final

from msgspec import Struct
from msgspec.json import Decoder

from proxy.dialects.streams import ndjson, sse


class _Typed(Struct):
    type: str = ""


_TYPE: Final = Decoder(_Typed)


def named(data: bytes) -> bytes:
    """A server-sent event under the name of its type: Anthropic and Responses."""
    return sse(data.decode(), _TYPE.decode(data).type)


def unnamed(data: bytes) -> bytes:
    """A server-sent event without a name: Chat."""
    return sse(data.decode())


def lined(data: bytes) -> bytes:
    """A JSON line: Ollama."""
    return ndjson(data.decode())
