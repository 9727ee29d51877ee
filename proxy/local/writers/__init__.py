"""What a model at home says, written in the caller's dialect.

Owns which dialect is written how. It must not know where the speech comes from, nor how the answer
is sent.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Protocol

from msgspec import Struct

from proxy.dialects import ALL, finals, shapes
from proxy.dialects.errors import JSON
from proxy.dialects.openai_chat import asks_usage
from proxy.lazyjson import Document, Kind, Node
from proxy.local.talk import Named, Speech
from proxy.local.writers.anthropic import Anthropic
from proxy.local.writers.chat import Chat
from proxy.local.writers.ids import Ids
from proxy.local.writers.ollama import Ollama
from proxy.local.writers.responses import Responses, echoed
from proxy.local.writers.writing import Script, Writing


class Writer(Protocol):
    """One answer, begun once and ended once."""

    headers: dict[str, str]
    """Content type and request id."""

    def begin(self, read: int) -> bytes:
        """The opening events. `read`: tokens of the request, estimated."""
        ...

    def say(self, speech: Speech) -> bytes:
        """Complete events. Calls must have been checked (`spoken.checked`); `KeyError` for a tool
        that was not declared."""
        ...

    def end(self) -> bytes:
        """What closes the answer after `Ended`; of an answer that is no stream, all of it."""
        ...

    def keep_alive(self) -> bytes:
        """An event between `begin` and `end` that says nothing; of an answer that is no stream,
        nothing."""
        ...


def writer(
    dialect: str,
    *,
    model: str,
    stream: bool,
    key: str,
    now: int,
    names: Mapping[str, Named],
    asked: Document,
    thinking: bool = False,
    explain: str = "",
) -> Writer:
    """A writer for one answer to `asked`, the request. `model`: as the caller names it; `key`:
    letters and digits, of this answer alone, of which the dialect makes its ids; `now`: Unix time
    in seconds; `names`: tools that may be called, by the name that the model knows; `thinking`:
    thoughts are told; `explain`: a sentence of ours before the answer's text. `KeyError` for a
    dialect without conversations."""
    about = _About(model, key, now, names, asked)
    match dialect:
        case "anthropic_messages":
            script, events, stops = _anthropic(about), finals.EVENTS, "stop_sequences"
        case "openai_chat":
            script, events, stops = _chat(about), finals.EVENTS, "stop"
        case "openai_responses":
            script, events, stops = _responses(about), finals.EVENTS, ""
        case "ollama_chat":
            script, events, stops = _ollama(about), finals.LINES, ""
        case _:
            raise KeyError(dialect)
    named = {"anthropic": "request-id", "openai": "x-request-id"}.get(ALL[dialect].family)
    return Writing(
        script,
        partial(ALL[dialect].encode, stream=stream),
        {"content-type": events if stream else JSON} | ({named: f"req_{key}"} if named else {}),
        stream=stream,
        thinking=thinking,
        explain=explain,
        stops=_strings(asked.root.get(stops)),
        comment=finals.COMMENT,
    )


class _About(Struct, frozen=True):
    """What an answer is about, see `writer`."""

    model: str
    key: str
    now: int
    names: Mapping[str, Named]
    asked: Document

    def ids(self, prefix: str) -> Ids:
        return Ids(prefix, self.key, self.asked.body)


def _anthropic(about: _About) -> Script:
    return Anthropic(about.key, about.model, about.names, about.ids("toolu"))


def _chat(about: _About) -> Script:
    base = shapes.completion(about.key, about.model, about.now)
    return Chat(base, about.names, about.ids("call"), usage=asks_usage(about.asked))


def _responses(about: _About) -> Script:
    base = shapes.response(about.key, about.model, about.now, tool_choice="auto")
    return Responses(about.key, echoed(base, about.asked), about.names, about.ids("call"))


def _ollama(about: _About) -> Script:
    return Ollama(about.model, about.now, about.names, about.ids("call"))


def _strings(node: Node | None) -> Iterator[str]:
    """A string, or those of a list."""
    if node is not None:
        for item in node.items() if node.kind is Kind.ARRAY else (node,):
            yield item.text() or ""
