"""Calls to tools that a request did not declare are taken out of its answer.

Owns the list of dialects and what they have in common. A test server that always called an
undeclared tool drove an agent to hundreds of requests in seconds (wire.md 5.4). What goes is the
call, whole; the events beside it keep their bytes but for the numbers that would show a gap, and a
stop that promised calls becomes one that does not. An answer of which nothing would be left says
so. Tools that the upstream itself carries out are not looked at.
"""

from collections.abc import Callable, Container, Mapping
from types import MappingProxyType

from proxy.dialects.base import Dialect
from proxy.filtering import Filter
from proxy.undeclared.anthropic import Messages
from proxy.undeclared.chat import Chat
from proxy.undeclared.editing import Editing, Surgeon
from proxy.undeclared.ollama import Ollama
from proxy.undeclared.responses import Responses

_SURGEONS: Mapping[str, Callable[[Container[str], Callable[[str], None]], Surgeon]] = (
    MappingProxyType(
        {
            "anthropic_messages": Messages,
            "openai_chat": Chat,
            "openai_responses": Responses,
            "ollama_chat": Ollama,
        }
    )
)


def drop_undeclared_call(
    dialect: Dialect, declared: Container[str], *, stream: bool, told: Callable[[str], None]
) -> Filter:
    """The filter for one answer of `dialect`, a conversation's. `declared`: the names of the tools
    of its request; `stream`: the answer is a stream; `told` is called for each call that is
    dropped, with the name of the tool, which a stranger may have chosen."""
    return Editing(dialect, _SURGEONS[dialect.name](declared, told), stream=stream)
