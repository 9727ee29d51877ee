"""The wire formats that Transom speaks, by name.

Owns the list; a dialect is one module and one line here. It must not know an endpoint.
"""

from collections.abc import Mapping
from types import MappingProxyType

from proxy.dialects import plain_text
from proxy.dialects.anthropic_messages import AnthropicMessages
from proxy.dialects.base import Dialect
from proxy.dialects.ollama_chat import OllamaChat
from proxy.dialects.openai_chat import OpenAIChat
from proxy.dialects.openai_responses import OpenAIResponses

__all__ = ["ALL", "Dialect"]

_ALL: tuple[Dialect, ...] = (
    AnthropicMessages(),
    OpenAIChat(),
    OpenAIResponses(),
    OllamaChat(),
    plain_text.ANTHROPIC,
    plain_text.OPENAI,
    plain_text.OLLAMA,
)

ALL: Mapping[str, Dialect] = MappingProxyType({dialect.name: dialect for dialect in _ALL})
