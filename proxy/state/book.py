"""What is written down for the owner, in shapes that all stores share.

Owns these shapes and the sum of a token bucket. It must not know what a kind, a code or a digest
stands for: identities are the recorder's. Times are seconds since 1970. Facts are safe words and
counts; no store ever gets a value of a body.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

MOST_AUDIT: Final = 100_000
MOST_EVENTS: Final = 200_000
MOST_NOTICES: Final = 5_000
MOST_SESSIONS: Final = 50_000
"""Rows that a table keeps; beyond them the oldest are forgotten with the next sweep."""

_BACK: Final = 1.0
"""Seconds by which clocks of two processes may differ; a clock further behind was set back."""

_WHOLE: Final = 1.0 - 1e-9


@dataclass(frozen=True, slots=True)
class Taken:
    """Whether a token was taken, and if not, in how many seconds there will be one."""

    ok: bool
    left: float
    wait: float = 0.0


@dataclass(frozen=True, slots=True)
class Happened:
    """An event to write down: once under its `digest`, which raises `times` from then on.
    `tainted`: third-party text was in the conversation. `within`: seconds that the answer looks
    back for others of its kind and session."""

    digest: bytes = field(repr=False)
    kind: str
    session: str = ""
    client: str = ""
    tainted: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)
    times: int = 1
    within: float = 0.0


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is known of an event now: whether it is new, how many different ones of its kind the
    session has had lately, itself among them, and how many of these with third-party text."""

    fresh: bool
    recent: int
    tainted: int


@dataclass(frozen=True, slots=True)
class Audited:
    """A row of the audit to append, or to count again. `value`: one JSON object. `counts`: counters
    that a new one raises, each by one, whatever has met it before: another process, or this one
    before it was started again."""

    digest: bytes = field(repr=False)
    value: str
    times: int = 1
    counts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Raised:
    """A notice to keep until it is acknowledged. One of its code and session that was raised in the
    last `latch` seconds only counts once more."""

    code: str
    session: str = ""
    client: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    times: int = 1
    latch: float = 3600.0


class Seen(Struct, frozen=True):
    """What a session did since it was last written down. `rounds`: most tool rounds of a turn."""

    session: str
    client: str = ""
    requests: int = 0
    rounds: int = 0
    tainted: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """All that is written down in one transaction. `counts` are added to the counters."""

    events: tuple[Happened, ...] = ()
    audit: tuple[Audited, ...] = ()
    notices: tuple[Raised, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    sessions: tuple[Seen, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.events or self.audit or self.notices or self.counts or self.sessions)


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a page, in its order: `audit` and `notices` say which rows are new."""

    events: tuple[Recorded, ...] = ()
    audit: tuple[bool, ...] = ()
    notices: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class EventRow:
    """An event as it is kept."""

    kind: str
    session: str
    client: str
    first: float
    last: float
    times: int
    tainted: bool
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NoticeRow:
    """A notice as it is kept; `id` counts up from 1."""

    id: int
    code: str
    session: str
    client: str
    first: float
    last: float
    times: int
    acked: bool
    facts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A row of the audit as it is kept; `id` counts up from 1."""

    id: int
    at: float
    last: float
    times: int
    value: str


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as it is kept."""

    session: str
    client: str
    first: float
    last: float
    requests: int
    rounds: int
    tainted: bool


def poured(
    level: float | None, at: float, now: float, capacity: float, refill: float
) -> tuple[float, float]:
    """(level, time) of a bucket that had `level` at the time `at`, None for a full one that nobody
    has used, and is refilled by `refill` a second up to `capacity`."""
    if level is None:
        return capacity, now
    if now < at - _BACK:  # the clock was set back; what was taken stays taken
        return min(level, capacity), now
    return min(capacity, level + max(0.0, now - at) * refill), max(now, at)


def taken(
    level: float | None, at: float, now: float, capacity: float, refill: float, count: int
) -> tuple[Taken, float, float]:
    """Take `count` tokens, all or none; the answer, and the new level and time."""
    full, since = poured(level, at, now, capacity, refill)
    if full >= count * _WHOLE:
        return Taken(True, full - count), max(0.0, full - count), since
    wait = (count - full) / refill if refill > 0 else float("inf")
    return Taken(False, full, wait), full, since
