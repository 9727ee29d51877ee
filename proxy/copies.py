"""Copies of an answer for those who only watch, so that they can neither delay nor spoil it.

Owns what waits for the observers of one answer until enough of it came. It must not know what
observers look for. What an observer raises ends that observer alone and is reported, never the
answer.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, Protocol

ENOUGH: Final = 8 * 1024
"""Bytes that observers are shown at once, or what there is at the end: to look at every event of a
stream as it comes takes a fifth of all that is done about it."""


class Observer(Protocol):
    """Reads a copy of one answer; made anew for each. `prompt`: it is shown what came as soon as
    the loop turns, for the client may lean on it in its next request before the answer ends."""

    @property
    def prompt(self) -> bool: ...

    def chunk(self, data: bytes) -> None:
        """The next bytes of the answer, cut anywhere."""
        ...

    def end(self) -> None:
        """No more will come, for whatever reason."""
        ...


Failed = Callable[[Observer, BaseException], None]


class Copies:
    """The observers of one answer. They are called when the loop turns, by whoever has handed out
    enough: a call for all of them."""

    __slots__ = ("_failed", "_loop", "_news", "_patient", "_prompt", "_size", "_telling")

    def __init__(self, observers: Sequence[Observer], failed: Failed | None) -> None:
        self._prompt = [each for each in observers if each.prompt]
        self._patient = [each for each in observers if not each.prompt]
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._news: list[bytes] = []
        self._size = 0
        self._telling = False  # some of it is on its way to those who are patient

    def chunk(self, data: bytes) -> None:
        """Hand a copy to everyone who still watches."""
        if self._prompt:
            self._loop.call_soon(self._show, self._prompt, data, False)
        if not self._patient:
            return
        self._news.append(data)
        self._size += len(data)
        if self._size >= ENOUGH:
            self._telling = True
            self._loop.call_soon(self._show, self._patient, b"".join(self._news), False)
            self._news, self._size = [], 0

    def end(self) -> None:
        """Tell everyone that it is over. Once, and nothing follows. All of the answer is out, so
        whoever was shown nothing yet is shown it here and delays nobody."""
        if self._prompt:
            self._loop.call_soon(self._show, self._prompt, b"", True)
        if not self._patient:
            return
        news = b"".join(self._news)
        if self._telling:
            self._loop.call_soon(self._show, self._patient, news, True)
        else:
            self._show(self._patient, news, True)

    def _show(self, watching: list[Observer], news: bytes, ended: bool) -> None:
        for observer in [*watching]:
            try:
                if news:
                    observer.chunk(news)
                if ended:
                    observer.end()
            except Exception as error:
                # One of three places: whatever is wrong with who only watches, the answer goes on.
                watching.remove(observer)
                if self._failed is not None:
                    self._failed(observer, error)
