"""What a local model says, heard from the answer of its server.

Owns Ollama's `/api/chat` lines (wire.md 2.4): which of them is text, a thought, a call, the end, a
failure. It must not know the caller's dialect, nor which tools there are. Whatever cannot be read
ends the answer: half of one is not taken for a whole.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from proxy.dialects.streams import Event, LineDecoder, TooLong
from proxy.errors import Refused
from proxy.lazyjson import dump
from proxy.local.plain import plain
from proxy.local.talk import Called, Ended, Speech, Text, Thinking

LINE_LIMIT: Final = 8 * 1024 * 1024
"""Longest line, in bytes. A tool call comes whole in one."""

LIMIT: Final = 32 * 1024 * 1024
"""Longest answer, in bytes of its lines: some two hundred thousand words, each in a line of its
own. A server without end would else take all memory, as what is said is kept for the end."""

_LINE: Final = 64  # bytes that a line counts for at least: reading blank ones costs time as well

_HALVES: Final = re.compile("[\ud800-\udfff]")
# No quote, bracket, slash or equals sign: what follows one may be the model's words or a path.
_SHOWN: Final = re.compile(r"[A-Za-z0-9 ,.:;_%-]{0,90}")


class Heard:
    """One answer, in pieces cut anywhere. `ended`: its last line has been heard."""

    def __init__(self) -> None:
        self._lines = LineDecoder(LINE_LIMIT)
        self.ended = False
        self._size = 0

    def feed(self, chunk: bytes) -> tuple[Speech, ...]:
        """What the lines say that `chunk` completes; nothing after the end.

        Raises `Refused("home-unavailable")` for an error line and for what cannot be read, and
        `Refused("home-not-local")` where the model turns out to run elsewhere.
        """
        try:
            events = self._lines.feed(chunk)
        except TooLong:
            raise _too_long() from None
        self._size += len(chunk) + _LINE * len(events)
        if self._size > LIMIT:
            raise _failed("it said more than can be told")
        return tuple(self._heard(events))

    def over(self) -> tuple[Speech, ...]:
        """The server has nothing more to say: what its last line says, where that has no line end.
        Raises `Refused` as `feed` does, and where the answer did not come to its end."""
        said = tuple(self._heard(self._lines.end()))
        if not self.ended:
            raise _failed("it broke off")
        return said

    def _heard(self, lines: Iterable[Event]) -> Iterator[Speech]:
        for line in lines:
            if len(line.raw) > LINE_LIMIT:
                raise _too_long()
            if line.data is not None and not self.ended:
                yield from self._line(_object(line.data))

    def _line(self, line: dict[str, object]) -> Iterator[Speech]:
        if line.get("error"):
            raise failure(line["error"])
        # SECURITY: a name may lead elsewhere since it was asked for; each line tells.
        if line.get("remote_host") or line.get("remote_model"):
            raise Refused("home-not-local", reason="this model runs on a remote host")
        message = line.get("message")
        if isinstance(message, dict):
            yield from _said(message)
        if line.get("done") is True:
            self.ended = True
            yield Ended(
                "length" if line.get("done_reason") == "length" else "stop",
                _count(line.get("prompt_eval_count")),
                _count(line.get("eval_count")),
            )


def failure(said: object) -> Refused:
    """The refusal for a server that `said` in an error what went wrong, in its own words."""
    words = shown(said)
    return _failed(f"it says {words}" if words else "it failed")


def shown(said: object) -> str:
    """Of a server's words about a failure the beginning, up to where it may go on in the words of
    a body; empty where there is none."""
    # SECURITY: nothing behind a mark that may begin a quote of what the model wrote.
    begins = _SHOWN.match(said.strip()) if isinstance(said, str) else None
    return begins[0].strip(" ,.:;_%-") if begins is not None else ""


def _failed(reason: str) -> Refused:
    return Refused("home-unavailable", reason=reason)


def _too_long() -> Refused:
    return _failed("it said more in one line than can be read")


def _object(line: str) -> dict[str, object]:
    try:
        value = plain(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise _failed("it said something that cannot be read")
    return value


def _said(message: dict[str, object]) -> Iterator[Speech]:
    """The parts of one line in the order in which a model forms them."""
    if thought := _text(message.get("thinking")):
        yield Thinking(thought)
    if text := _text(message.get("content")):
        yield Text(text)
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        yield _call(call)


def _call(call: object) -> Called:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        return Called("", {}, unread=dump(call).decode())
    name, name_id = _text(function.get("name")), _text(call.get("id"))
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        read = _read(arguments)
        if not isinstance(read, dict):
            return Called(name, {}, name_id, unread=arguments or '""')
        arguments = read
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        return Called(name, {}, name_id, unread=dump(arguments).decode())
    return Called(name, arguments, name_id)


def _read(text: str) -> object:
    try:
        return plain(text)
    except (ValueError, RecursionError):
        return None


def _text(value: object) -> str:
    """Text without halves of characters: some servers cut between the two."""
    return _HALVES.sub("\ufffd", value) if isinstance(value, str) else ""


def _count(value: object) -> int:
    return max(0, value) if isinstance(value, int) and not isinstance(value, bool) else 0
