"""The way from speech to events that every dialect has in common.

Owns what is said at all: no blank text, nothing behind a string to stop at, thoughts only where
they were asked for, our own sentence first. It must not know a dialect: a `Script` says what the
events are. An answer that goes out whole is made of the same events, which nobody sees.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, assert_never

from proxy.dialects.shapes import Shape
from proxy.local.estimate import written
from proxy.local.talk import Called, Ended, Speech, Text, Thinking
from proxy.local.writers.stops import Stops

Events = Iterator[Shape]


class Script(Protocol):
    """The events of one answer, in one dialect, and what they add up to. All events of a call are
    taken before the next call."""

    done: bytes
    """What stands behind the last event of a stream."""

    def opened(self, read: int) -> Events:
        """The answer begins. `read`: tokens that were read, estimated."""
        ...

    def text(self, text: str) -> Events:
        """A piece of text that is not empty."""
        ...

    def thought(self, text: str) -> Events:
        """A piece of a thought."""
        ...

    def called(self, call: Called) -> Events:
        """A call that was checked."""
        ...

    def closed(self, ended: Ended, stop: str) -> Events:
        """The answer ends; `stop`: at which string."""
        ...

    def alive(self) -> Shape | None:
        """An event that says nothing; None where it is no JSON."""
        ...

    def whole(self) -> Shape:
        """The answer, once it has ended."""
        ...


class Writing:
    """A `Writer`, see there. `encode`: how the dialect writes one event, or a whole body;
    `comment`: a sign of life where the script has none."""

    def __init__(
        self,
        script: Script,
        encode: Callable[[bytes], bytes],
        headers: dict[str, str],
        *,
        stream: bool,
        thinking: bool,
        explain: str,
        stops: Iterable[str] = (),
        comment: bytes = b"",
    ) -> None:
        self.headers = headers
        self._script = script
        self._encode = encode
        self._stream = stream
        self._thinking = thinking
        self._explain = explain
        self._stops = Stops(stops)
        self._comment = comment
        self._read = 0
        self._talking = False
        self._blank = ""
        self._ended = Ended()

    def begin(self, read: int) -> bytes:
        """See `Writer`."""
        self._read = read
        return self._out(self._script.opened(read))

    def say(self, speech: Speech) -> bytes:
        """See `Writer`."""
        if self._stops.found and not isinstance(speech, Ended):
            return b""
        match speech:
            case Text():
                return self._out(self._text(self._stops.feed(speech.text)))
            case Thinking():
                return self._out(self._thought(speech.text)) if self._thinking else b""
            case Called():
                return self._out(self._called(speech))
            case Ended():
                self._ended = speech
                return b""
            case _:
                assert_never(speech)

    def end(self) -> bytes:
        """See `Writer`."""
        body = self._out(self._rest()) + self._out(self._explained())
        # A server may not count what it had read before.
        reason = "stop" if self._stops.found else self._ended.reason
        ended = Ended(reason, self._ended.read or self._read, self._ended.written)
        body += self._out(self._script.closed(ended, self._stops.found))
        if self._stream:
            return body + self._script.done
        return self._encode(written(self._script.whole()))

    def keep_alive(self) -> bytes:
        """See `Writer`."""
        if not self._stream:
            return b""
        event = self._script.alive()
        return self._comment if event is None else self._encode(written(event))

    def _out(self, events: Iterable[Shape]) -> bytes:
        told = [*events]
        return b"".join(self._encode(written(event)) for event in told) if self._stream else b""

    def _text(self, text: str) -> Events:
        text, self._blank = self._blank + text, ""
        if not self._talking and not text.strip():
            # Models say an empty line before a call; a text that is blank no API takes back.
            self._blank = text
        elif text:
            if self._explain:
                text = f"{self._explain}\n\n{text}"
                self._explain = ""
            self._talking = True
            yield from self._script.text(text)

    def _rest(self) -> Events:
        """What of the text is still held, before something else follows."""
        yield from self._text(self._stops.rest())
        self._blank, self._talking = "", False

    def _thought(self, text: str) -> Events:
        yield from self._rest()
        yield from self._script.thought(text)

    def _called(self, call: Called) -> Events:
        yield from self._rest()
        yield from self._explained()
        yield from self._script.called(call)

    def _explained(self) -> Events:
        """Our own sentence, where no text came that it could stand before."""
        if self._explain:
            yield from self._script.text(self._explain)
            self._explain = ""
