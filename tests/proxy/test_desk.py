"""The owner's verbs at the control socket."""

from typing import Any

import pytest

from proxy.desk import Desk
from proxy.recorder import Recorder, Row, Whose
from proxy.state.base import StateError
from proxy.state.book import Audited, Page, Raised, Seen
from proxy.state.memory import MemoryStore

NOW = 1_700_000_000.0


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore(clock=lambda: NOW)


@pytest.fixture
def desk(store: MemoryStore) -> Desk:
    return Desk(store, Recorder(store), clock=lambda: NOW)


async def test_rows_of_the_audit_with_their_times(store: MemoryStore, desk: Desk) -> None:
    """Numbers count up; `after` and `within` narrow it; what waits is written first."""
    desk._recorder.note(Row(b"a", '{"event": "blocked"}'), Whose())
    answer: Any = await desk.blocked({})
    assert answer == {
        "ok": True,
        "rows": [
            {
                "id": 1,
                "at": "2023-11-14T22:13:20Z",
                "last": "2023-11-14T22:13:20Z",
                "times": 1,
                "event": "blocked",
            }
        ],
    }
    late = Desk(store, Recorder(store), clock=lambda: NOW + 100)
    for asked, count in (
        ({"after": 1}, 0),
        ({"within": 50}, 0),
        ({"within": 150.0}, 1),
        ({"after": "x", "within": -1}, 1),
        ({"after": 1e300}, 1),
    ):
        found: Any = await late.blocked(asked)
        assert len(found["rows"]) == count, asked
    await store.record(Page(audit=(Audited(b"odd", "[]"),)))
    odd: Any = await desk.blocked({"after": 1})
    assert [row["id"] for row in odd["rows"]] == [2]


async def test_notices_in_words_until_they_are_acknowledged(store: MemoryStore, desk: Desk) -> None:
    """With severity; a code that this version does not know has none."""
    await store.record(
        Page(notices=(Raised("rate-soft", "s", "c", {"rate": "fast"}), Raised("from-later")))
    )
    answer: Any = await desk.notices({})
    first, later = answer["rows"]
    assert (first["code"], first["severity"], first["times"]) == ("rate-soft", "info", 1)
    assert first["says"].startswith("[rate-soft] This session sends requests faster")
    assert (later["code"], later["says"]) == ("from-later", "")
    assert await desk.ack({"id": 1}) == {"ok": True}
    for wrong in ({"id": 1}, {"id": 99}, {"id": "x"}, {}):
        assert await desk.ack(wrong) == {"ok": False}
    open_: Any = await desk.notices({})
    every: Any = await desk.notices({"all": True})
    assert ([row["id"] for row in open_["rows"]], len(every["rows"])) == ([2], 2)
    counted: Any = await desk.counters({})
    assert counted == {"ok": True, "counters": {}, "notices": 1}


async def test_sessions_that_were_seen(store: MemoryStore, desk: Desk) -> None:
    """How much they asked, and whether third-party text was there."""
    await store.record(Page(sessions=(Seen("abcdefabcdef", "laptop", 3, 7, True),)))
    answer: Any = await desk.sessions({})
    assert answer["rows"] == [
        {
            "session": "abcdefabcdef",
            "client": "laptop",
            "first": "2023-11-14T22:13:20Z",
            "last": "2023-11-14T22:13:20Z",
            "requests": 3,
            "rounds": 7,
            "untrusted": True,
        }
    ]


async def test_a_state_that_cannot_be_read_is_said(
    store: MemoryStore, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every verb answers, in our words."""

    async def down(*_: object, **__: object) -> None:
        raise StateError("down")

    for name in ("audit", "notices", "sessions", "counters", "ack", "release"):
        monkeypatch.setattr(store, name, down)
    for verb in desk.verbs.values():
        assert await verb({}) == {"ok": False, "problem": "its state cannot be read or written"}
