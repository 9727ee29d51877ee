"""The owner's book: what happened is written down soon, beside everything else.

Owns when pages are written, what follows from what they say (`policies.signals`), and what becomes
of a page that cannot be written: counters and events wait and are told as a problem, the audit of
what leaves for a cloud is the caller's to judge. It must not know a request.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

from policies.kinds import KINDS, PLAIN, TOLD
from policies.notices import NOTICES
from policies.signals import follows
from proxy import logs
from proxy.counters import Pending
from proxy.memory import Memory
from proxy.state.base import Book, StateError
from proxy.state.book import Audited, Happened, Page, Raised, Recorded

INTERVAL: Final = 0.25
"""Seconds that a page gathers before it is written."""

_KNOWN: Final = 4_096


class Whose(Struct, frozen=True):
    """Whose request something is about: names as they may be logged, no credential."""

    client: str = ""
    session: str = ""
    tainted: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the audit. `digest`: its identity; `value`: one JSON object; `code`: the notice that
    it raises, empty for none; `counts`: counters that it raises if nobody has written it before."""

    digest: bytes = field(repr=False)
    value: str
    code: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    counts: tuple[str, ...] = ()


@dataclass(slots=True)
class _Met:
    """How often a row was met, what stands in it, and whether it is known to be in the store."""

    value: str = field(repr=False)
    times: int = 0
    written: bool = False


class Recorder:
    """Pages for one store, from `start` to `close`."""

    def __init__(self, store: Book, *, interval: float = INTERVAL) -> None:
        self._store = store
        self._interval = interval
        self._pending = Pending()
        self._audited: Memory[bytes, _Met] = Memory(_KNOWN)
        self._wake = asyncio.Event()
        self._writing = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._down = False

    def start(self) -> None:
        """Begin to write."""
        self._task = asyncio.create_task(self._pages(), name="recorder")

    async def close(self) -> None:
        """Write what waits, and stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
            await self.flush()

    def count(self, name: str, more: int = 1) -> None:
        """Raise a counter."""
        self._pending.count(name, more)
        self._wake.set()

    def open(self) -> Pending:
        """What waits, to add to."""
        self._wake.set()
        return self._pending

    def happened(
        self, kind: str, digest: bytes, whose: Whose, facts: Mapping[str, str], times: int = 1
    ) -> None:
        """Something happened; once under its digest, however often it comes again."""
        if self._pending.again(digest, times, tainted=whose.tainted):
            return
        within = KINDS.get(kind, PLAIN).within
        event = Happened(
            digest, kind, whose.session, whose.client, whose.tainted, facts, times, within
        )
        self.open().event(event)

    def tell(self, code: str, whose: Whose, facts: Mapping[str, str]) -> None:
        """Raise a notice, kept until the owner acknowledges it."""
        self.open().notice(Raised(code, whose.session, whose.client, facts))

    def again(self, digest: bytes) -> int:
        """Count a row that is written already; how often it has been met since this node began, 0
        where this node does not know it."""
        met = self._audited.get(digest)
        if met is None or not met.written:
            return 0
        self.open().audit(Audited(digest, met.value))
        met.times += 1
        return met.times

    async def keep(self, row: Row, whose: Whose) -> int:
        """Write a row of the audit now; how often it has been met since this node began. Once it
        is written, further times are counted beside everything else. Raises `StateError`."""
        if times := self.again(row.digest):
            return times
        met, raised = self._met(row), self._raised(row, whose)
        written = Audited(row.digest, row.value, counts=row.counts)
        await self._store.record(Page(audit=(written,), notices=raised))
        met.written = True
        met.times += 1
        return met.times

    def note(self, row: Row, whose: Whose) -> int:
        """Write a row soon; how often it has been met since this node began."""
        met = self._met(row)
        if not met.times:
            for raised in self._raised(row, whose):
                self.open().notice(raised)
        met.times += 1
        self.open().audit(Audited(row.digest, row.value, counts=row.counts))
        return met.times

    def _met(self, row: Row) -> _Met:
        met = self._audited.get(row.digest)
        if met is None:
            met = _Met(row.value)
            self._audited.put(row.digest, met, 1)
        return met

    def _raised(self, row: Row, whose: Whose) -> tuple[Raised, ...]:
        if not row.code:
            return ()
        return (Raised(row.code, whose.session, whose.client, row.facts),)

    async def flush(self) -> bool:
        """Write what waits, behind a page that is on its way; False where it could not be."""
        async with self._writing:
            while page := self._pending.take():
                if not await self._write(page):
                    return False
            return True

    async def _write(self, page: Page) -> bool:
        try:
            written = await self._store.record(page)
        except StateError:
            self._pending.put_back(page)
            if not self._down:
                logs.get().error("notice", problem="events-not-recorded")
            self._down = True
            return False
        self._down = False
        for event, known in zip(page.events, written.events, strict=True):
            self._follow(event, known)
        return True

    def _follow(self, event: Happened, known: Recorded) -> None:
        """Count a new event, and tell what follows from it: one line and one notice each."""
        if not known.fresh:
            return
        self._pending.count(event.kind)
        whose = Whose(event.client, event.session, event.tainted)
        if code := KINDS.get(event.kind, PLAIN).notice:
            self.tell(code, whose, event.facts)
            if code not in TOLD:
                _log(code, whose, event.times)
        if code := follows(event.kind, recent=known.recent, tainted=known.tainted):
            self.tell(code, whose, {"count": str(known.recent)})
            _log(code, whose, known.recent)

    async def _pages(self) -> None:
        while True:
            await self._wake.wait()
            await asyncio.sleep(self._interval)
            self._wake.clear()
            if not await self.flush():
                await asyncio.sleep(self._interval * 8)
                self._wake.set()


def _log(code: str, whose: Whose, times: int) -> None:
    """The line of a notice."""
    log = getattr(logs.get(), NOTICES[code].severity)
    log("notice", notice=code, client=whose.client, session=whose.session, times=times)
