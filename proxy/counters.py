"""What waits to be written down: counters, sessions, events, notices, gathered between two pages.

Owns the gathering and its bound. It must not know who writes a page, nor what a kind stands for.
Adding to it costs no more than a few entries of a dictionary.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from proxy.state.book import Audited, Happened, Page, Raised, Seen

MOST: Final = 10_000
"""Of events, rows and notices each that wait; beyond it, while nothing can be written, further ones
are counted as lost."""


class Pending:
    """See the module. Equal events and notices that wait are one, with the sum of their times."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.counts: dict[str, int] = {}
        self._events: dict[bytes, list[Any]] = {}
        self._audit: dict[bytes, list[Any]] = {}
        self._notices: dict[tuple[str, str], Raised] = {}
        self._sessions: dict[str, Seen] = {}

    def count(self, name: str, more: int = 1) -> None:
        """Raise a counter."""
        self.counts[name] = self.counts.get(name, 0) + more

    def session(self, seen: Seen) -> None:
        """A session did something; sums and maxima are kept."""
        old = self._sessions.get(seen.session)
        if old is None:
            if self._room(len(self._sessions)):
                self._sessions[seen.session] = seen
            return
        self._sessions[seen.session] = Seen(
            seen.session,
            old.client,
            old.requests + seen.requests,
            max(old.rounds, seen.rounds),
            old.tainted or seen.tainted,
        )

    def event(self, event: Happened) -> None:
        """Something happened."""
        if event.digest in self._events:
            self.again(event.digest, event.times, tainted=event.tainted)
        elif self._room(len(self._events)):
            self._events[event.digest] = [event, event.times, event.tainted]

    def again(self, digest: bytes, times: int = 1, *, tainted: bool = False) -> bool:
        """An event that waits has come again; whether there is one."""
        if (old := self._events.get(digest)) is None:
            return False
        old[1] += times
        old[2] = old[2] or tainted
        return True

    def audit(self, row: Audited) -> None:
        """A row that nobody waits for."""
        if (old := self._audit.get(row.digest)) is not None:
            old[1] += row.times
        elif self._room(len(self._audit)):
            self._audit[row.digest] = [row, row.times]

    def notice(self, raised: Raised) -> None:
        """The owner is to be told."""
        key = (raised.code, raised.session)
        old = self._notices.get(key)
        if old is not None:
            self._notices[key] = replace(old, times=old.times + raised.times)
        elif self._room(len(self._notices)):
            self._notices[key] = raised

    def take(self) -> Page:
        """All that waits; nothing does afterwards."""
        page = Page(
            tuple([replace(event, times=n, tainted=t) for event, n, t in self._events.values()]),
            tuple([replace(row, times=times) for row, times in self._audit.values()]),
            tuple(self._notices.values()),
            self.counts,
            tuple(self._sessions.values()),
        )
        self._clear()
        return page

    def put_back(self, page: Page) -> None:
        """What could not be written waits again, before what came meanwhile."""
        late = self.take()
        for one in (page, late):
            self._add(one)

    def _add(self, page: Page) -> None:
        _sum(self.counts, page.counts)
        for seen in page.sessions:
            self.session(seen)
        for event in page.events:
            self.event(event)
        for row in page.audit:
            self.audit(row)
        for raised in page.notices:
            self.notice(raised)

    def _room(self, used: int) -> bool:
        if used >= MOST:
            self.count("not-recorded")
            return False
        return True


def _sum(into: dict[str, int], counts: Mapping[str, int]) -> None:
    for name, more in counts.items():
        into[name] = into.get(name, 0) + more
