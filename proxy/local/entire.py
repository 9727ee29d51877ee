"""The end of an answer that a local server gives in the client's own dialect.

Owns that it is told only where it came, and behind what is remembered of the answer: a part is not
passed for the whole. It must not know the server. Sources: wire.md 2.1 to 2.3 and 2.5; servers that
fail in the middle of a stream often just end it.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import msgspec

from proxy.dialects.streams import Event, Kind
from proxy.errors import Refused
from proxy.local.plain import plain
from proxy.local.texts import Texts

_LAST: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        "anthropic_messages": frozenset({"message_stop", "error"}),
        "openai_responses": frozenset(
            {"response.completed", "response.failed", "response.incomplete", "error"}
        ),
    }
)
"""Types of events behind which nothing comes."""

_SAID: Final[Mapping[str, str]] = MappingProxyType(
    {
        "anthropic_messages": "content",
        "openai_chat": "choices",
        "openai_responses": "output",
    }
)
"""The list in a whole answer that holds what is said. Some servers tell a failure with status 200,
and the SDKs take every object for an answer."""

_DONE: Final = "[DONE]"
_ENDS: Final = (b"\n\n", b"\r\r", b"\n\r\n")

Told = Callable[[Sequence[str]], "asyncio.Future[None]"]
"""Remembers what an answer says; done when it is."""


class Entire:
    """A filter over one answer in `dialect`. `stream`: the grammar of its events. `told` gets all
    that it says, before its end goes on; `late` gets that of an answer which nobody reads to its
    end. `broken`: why an answer is none, in words of ours. It raises what `told` raises."""

    def __init__(
        self,
        dialect: str,
        stream: Kind,
        *,
        told: Told,
        late: Callable[[Sequence[str]], None],
        broken: Callable[[str], Refused],
    ) -> None:
        self._last = _LAST.get(dialect, frozenset())
        self._said = _SAID[dialect]
        self._stream = stream
        self._told, self._late, self._broken = told, late, broken
        self._texts = Texts()
        self._ended = False
        self._telling: asyncio.Future[None] | None = None
        self._kept: list[Event] = []

    def event(self, event: Event) -> Iterable[Event]:
        """The event; the last one, and what stands behind it, when all is remembered."""
        if self._telling is None and not self._is_last(event):
            return (event,)
        if self._telling is None:
            self._telling = self._told(self.texts())
        if self._telling.done() and not self._kept:
            return (event,)
        self._kept.append(event)
        return ()

    def held(self) -> "asyncio.Future[None] | None":
        """Done when the end may be told."""
        return self._telling if self._kept else None

    def let_go(self) -> Iterable[Event]:
        """The end. Raises what remembering it has raised."""
        kept, self._kept = self._kept, []
        if self._telling is not None:
            self._telling.result()
        return kept

    def end(self) -> Iterable[Event]:
        """Raises `Refused` where the answer has not come to its end."""
        if not self._ended:
            raise self._broken("its answer broke off")
        return ()

    def texts(self) -> list[str]:
        """What it says so far: its text, then what its calls are given."""
        return self._texts.all()

    def close(self) -> None:
        """Nobody reads on. Harmless at the end."""
        if self._telling is None:
            self._telling = asyncio.get_running_loop().create_future()
            self._late(self.texts())

    def _is_last(self, event: Event) -> bool:
        if event.data is None:
            return False
        if not self._stream:
            return self._is_whole(event.data)
        if event.data.strip() == _DONE:
            # Some servers say so behind a failure, of which they tell in a form of their own.
            if not self._ended:
                raise self._broken("its answer broke off")
            return True
        try:
            value = msgspec.json.decode(event.data)
        except (msgspec.DecodeError, ValueError, RecursionError):
            if not event.raw.endswith(_ENDS):
                raise self._broken("its answer broke off") from None
            return False
        self._texts.add(value)
        kind = value.get("type") if isinstance(value, dict) else None
        # Some servers of the Chat dialect leave its last word out.
        self._ended = self._ended or kind in self._last or self._is_finished(value)
        return kind in self._last

    def _is_finished(self, value: Any) -> bool:
        """A reason to finish, or a failure where the SDK raises it without a name of its event;
        that of Anthropic passes over those."""
        match value:
            case {"choices": [*choices]}:
                return any(isinstance(c, dict) and c.get("finish_reason") for c in choices)
            case {"error": error}:
                return bool(error) and self._said != "content"
            case _:
                return False

    def _is_whole(self, data: str) -> bool:
        try:
            value = plain(data)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict) or not isinstance(value.get(self._said), list):
            raise self._broken("it said something that cannot be read")
        self._texts.add(value)
        self._ended = True
        return True
