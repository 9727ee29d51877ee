"""The owner's book without a file: the same tables, bounded, gone at the end of the process.

Owns them. It must not know what a kind stands for.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from proxy.state.book import (
    MOST_AUDIT,
    MOST_EVENTS,
    MOST_NOTICES,
    MOST_SESSIONS,
    Audited,
    AuditRow,
    EventRow,
    Happened,
    NoticeRow,
    Page,
    Raised,
    Recorded,
    Seen,
    SessionRow,
    Taken,
    Written,
    taken,
)

Key = TypeVar("Key")
Row = TypeVar("Row")


class MemoryBook:
    """See `proxy.state.base.Store`; times are given."""

    def __init__(self) -> None:
        self._rates: dict[str, tuple[float, float]] = {}
        self._events: dict[bytes, EventRow] = {}
        self._notices: dict[int, NoticeRow] = {}
        self._audit: dict[bytes, AuditRow] = {}
        self._sessions: dict[str, SessionRow] = {}
        self._counters: dict[str, int] = {}
        self._numbers = {"audit": 0, "notices": 0}

    def take(self, key: str, now: float, capacity: float, refill: float, count: int) -> Taken:
        level, at = self._rates.get(key, (None, now))
        answer, level, at = taken(level, at, now, capacity, refill, count)
        self._rates[key] = level, at
        return answer

    def write(self, page: Page, now: float) -> Written:
        for name, more in page.counts.items():
            self._count(name, more)
        for seen in page.sessions:
            self._session(seen, now)
        events = tuple([self._event(each, now) for each in page.events])
        audit = tuple([self._audited(each, now) for each in page.audit])
        return Written(events, audit, tuple([self._notice(each, now) for each in page.notices]))

    def ack(self, number: int) -> bool:
        row = self._notices.get(number)
        if row is None or row.acked:
            return False
        self._notices[number] = replace(row, acked=True)
        return True

    def events(self, since: float, limit: int) -> tuple[EventRow, ...]:
        rows = sorted(self._events.values(), key=lambda row: row.last)
        return tuple([row for row in rows if row.last >= since][-limit:])

    def notices(self, acked: bool, limit: int) -> tuple[NoticeRow, ...]:
        return tuple([row for row in self._notices.values() if row.acked <= acked][-limit:])

    def counters(self) -> dict[str, int]:
        return dict(sorted(self._counters.items()))

    def audit(self, after: int, since: float, limit: int) -> tuple[AuditRow, ...]:
        rows = [row for row in self._audit.values() if row.id > after and row.last >= since]
        return tuple(rows[-limit:])

    def sessions(self, limit: int) -> tuple[SessionRow, ...]:
        return tuple(sorted(self._sessions.values(), key=lambda row: row.last)[-limit:])

    def delete(self, before: float) -> int:
        old = [key for key, (_, at) in self._rates.items() if at < before]
        for key in old:
            del self._rates[key]
        gone = _forget(self._events, MOST_EVENTS, before, lambda row: row.last)
        gone += _forget(self._audit, MOST_AUDIT, before, lambda row: row.last)
        gone += _forget(self._sessions, MOST_SESSIONS, before, lambda row: row.last)
        # SECURITY: a notice that nobody has acknowledged is as new as any, however old it is.
        gone += _forget(
            self._notices, MOST_NOTICES, before, lambda row: row.last if row.acked else before
        )
        return gone + len(old)

    def _count(self, name: str, more: int) -> None:
        self._counters[name] = self._counters.get(name, 0) + more

    def _session(self, seen: Seen, now: float) -> None:
        row = self._sessions.get(seen.session) or SessionRow(
            seen.session, seen.client, now, now, 0, 0, False
        )
        self._sessions[seen.session] = replace(
            row,
            last=now,
            requests=row.requests + seen.requests,
            rounds=max(row.rounds, seen.rounds),
            tainted=row.tainted or seen.tainted,
        )

    def _event(self, event: Happened, now: float) -> Recorded:
        old = self._events.get(event.digest)
        row = old or EventRow(
            event.kind, event.session, event.client, now, now, 0, False, dict(event.facts)
        )
        self._events[event.digest] = replace(
            row, last=now, times=row.times + event.times, tainted=row.tainted or event.tainted
        )
        since = now - event.within if event.within else -1.0
        recent = [
            each
            for each in self._events.values()
            if (each.kind, each.session) == (event.kind, event.session) and each.first > since
        ]
        return Recorded(old is None, len(recent), sum(each.tainted for each in recent))

    def _audited(self, row: Audited, now: float) -> bool:
        if (old := self._audit.get(row.digest)) is not None:
            self._audit[row.digest] = replace(old, last=now, times=old.times + row.times)
            return False
        for name in row.counts:
            self._count(name, 1)
        self._numbers["audit"] += 1
        self._audit[row.digest] = AuditRow(self._numbers["audit"], now, now, row.times, row.value)
        return True

    def _notice(self, raised: Raised, now: float) -> bool:
        same = [
            row
            for row in self._notices.values()
            if (row.code, row.session) == (raised.code, raised.session)
            and row.first > now - raised.latch
        ]
        if same:
            row = same[-1]
            self._notices[row.id] = replace(row, last=now, times=row.times + raised.times)
            return False
        self._numbers["notices"] += 1
        number = self._numbers["notices"]
        self._notices[number] = NoticeRow(
            number,
            raised.code,
            raised.session,
            raised.client,
            now,
            now,
            raised.times,
            False,
            dict(raised.facts),
        )
        return True


def _forget(rows: dict[Key, Row], most: int, before: float, seen: Callable[[Row], float]) -> int:
    old = [key for key, row in rows.items() if seen(row) < before]
    left = len(rows) - len(old) - most
    if left > 0:
        kept = sorted(set(rows) - set(old), key=lambda key: seen(rows[key]))
        old += kept[:left]
    for key in old:
        del rows[key]
    return len(old)
