"""A caller's request → `Talk`: what a model at home is asked, whatever dialect it came in.

Owns the choice of the reader. Wrong shapes are left out and named, never a crash. It must not know
a local server.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from proxy.errors import Refused
from proxy.lazyjson import Malformed, parsed
from proxy.local.asked import from_anthropic, from_chat, from_ollama, from_responses
from proxy.local.asked.shapes import Members, members
from proxy.local.talk import Talk

_READERS: Mapping[str, Callable[[Members], Talk]] = MappingProxyType(
    {
        "anthropic_messages": from_anthropic.talk,
        "openai_chat": from_chat.talk,
        "openai_responses": from_responses.talk,
        "ollama_chat": from_ollama.talk,
    }
)


def talk(dialect: str, body: bytes) -> Talk:
    """The request `body`, as it was rendered for home. `dialect`: of a conversation, by its name.

    Raises `Refused`: "body-invalid" for what is not one JSON object, read strictly;
    "home-not-local" for a request that leans on what is kept elsewhere, or that only tools of the
    vendor's server could answer.
    """
    try:
        whole = parsed(body)
    except Malformed as wrong:
        raise Refused("body-invalid", reason=str(wrong)) from None
    return _READERS[dialect](members(whole))
