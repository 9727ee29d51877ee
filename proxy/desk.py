"""What the owner may ask of a node's book over the control socket: audit, notices, sessions, state.

Owns these verbs and their answers, which are JSON. It must not know a socket or a terminal. What it
hands out are the rows of the book: kinds, places, codes, counts and safe names.
"""

import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeVar

from policies.notices import NOTICES, words
from proxy.control import Facts, Verb
from proxy.recorder import Recorder
from proxy.state.base import StateError, Store
from proxy.state.book import AuditRow, NoticeRow, SessionRow

MOST: Final = 1_000
"""Rows of one answer at most."""

Row = TypeVar("Row")
_FAILED: Final[Facts] = {"ok": False, "problem": "its state cannot be read or written"}


class Desk:
    """The verbs over one book. `clock`: seconds since 1970."""

    def __init__(
        self, store: Store, recorder: Recorder, *, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._recorder = recorder
        self._clock = clock

    @property
    def verbs(self) -> Mapping[str, Verb]:
        """By the name that they are asked with."""
        return {
            "blocked": self.blocked,
            "notices": self.notices,
            "ack": self.ack,
            "sessions": self.sessions,
            "release": self.release,
            "counters": self.counters,
        }

    async def blocked(self, asked: Facts) -> Facts:
        """Rows of the audit: `after` a number, seen `within` so many seconds."""
        seconds = _number(asked.get("within"))
        since = self._clock() - seconds if seconds else 0.0
        after = int(_number(asked.get("after")))
        read = self._store.audit(after=after, since=since, limit=MOST)
        return await self._rows(read, _audit_row)

    async def notices(self, asked: Facts) -> Facts:
        """Notices that nobody has acknowledged; with `all`, every one."""
        acked = asked.get("all") is True
        return await self._rows(self._store.notices(acked=acked, limit=MOST), _notice_row)

    async def ack(self, asked: Facts) -> Facts:
        """Acknowledge the notice with the number `id`."""
        number = _number(asked.get("id"))
        try:
            await self._recorder.flush()
            return {"ok": number.is_integer() and await self._store.ack(int(number))}
        except StateError:
            return _FAILED

    async def sessions(self, asked: Facts) -> Facts:
        """Sessions, the newest last."""
        return await self._rows(self._store.sessions(MOST), _session_row)

    async def release(self, asked: Facts) -> Facts:
        """Let the session `id` go to a cloud again, although home has answered in it."""
        try:
            return {"ok": True, "marks": await self._store.release(str(asked.get("id", "")))}
        except StateError:
            return _FAILED

    async def counters(self, asked: Facts) -> Facts:
        """Every counter, and how many notices are open."""
        try:
            await self._recorder.flush()
            counts = await self._store.counters()
            open_ = await self._store.notices(limit=MOST)
        except StateError:
            return _FAILED
        return {"ok": True, "counters": dict(counts), "notices": len(open_)}

    async def _rows(self, read: Awaitable[Sequence[Row]], shown: Callable[[Row], Facts]) -> Facts:
        """What `read` gives once everything that waits is written, each row as it is `shown`."""
        await self._recorder.flush()
        try:
            return {"ok": True, "rows": [shown(row) for row in await read]}
        except StateError:
            return _FAILED


def _audit_row(row: AuditRow) -> Facts:
    times = {"id": row.id, "at": _time(row.at), "last": _time(row.last), "times": row.times}
    value = json.loads(row.value)
    return {**times, **value} if isinstance(value, dict) else times


def _notice_row(row: NoticeRow) -> Facts:
    notice = NOTICES.get(row.code)
    return {
        "id": row.id,
        "code": row.code,
        "severity": "info" if notice is None else notice.severity,
        "says": "" if notice is None else words(row.code, row.facts),
        "session": row.session,
        "client": row.client,
        "first": _time(row.first),
        "last": _time(row.last),
        "times": row.times,
        "acked": row.acked,
    }


def _session_row(row: SessionRow) -> Facts:
    return {
        "session": row.session,
        "client": row.client,
        "first": _time(row.first),
        "last": _time(row.last),
        "requests": row.requests,
        "rounds": row.rounds,
        "untrusted": row.tainted,
    }


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def _number(value: object) -> float:
    # `True` is a number to Python, and none that anybody meant.
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15:
        return float(value)
    return 0.0
