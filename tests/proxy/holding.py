"""A filter for tests: calls, and all behind them, wait so many seconds before they go on."""

import asyncio
from collections.abc import Iterable

from proxy.dialects.streams import Event
from proxy.filtering import Filter

CALLS = ('"tool_use"', '"tool_calls":[', '"function_call"')


class Hold(Filter):
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._events: list[Event] = []
        self._future: asyncio.Future[None] | None = None
        self._over = False

    def event(self, event: Event) -> Iterable[Event]:
        calls = event.data is not None and any(mark in event.data for mark in CALLS)
        if self._over or not (self._events or calls):
            return (event,)
        if self._future is None:
            loop = asyncio.get_running_loop()
            self._future = loop.create_future()
            loop.call_later(self._seconds, self._future.set_result, None)
        self._events.append(event)
        return ()

    def held(self) -> asyncio.Future[None] | None:
        return self._future

    def let_go(self) -> Iterable[Event]:
        self._future, self._over = None, True
        return self._events


def hold_tool_call(seconds: float) -> Filter:
    """For one answer of any dialect."""
    return Hold(seconds)
