"""What waits between two pages."""

import pytest

from proxy import counters
from proxy.counters import Pending
from proxy.state.book import Audited, Happened, Page, Raised, Seen


def full() -> Pending:
    waiting = Pending()
    for _ in range(2):
        waiting.count("frames", 3)
        waiting.event(Happened(b"e", "k", "s"))
        waiting.audit(Audited(b"a", "v"))
        waiting.notice(Raised("c", "s"))
    waiting.event(Happened(b"e", "k", "s", tainted=True))
    waiting.session(Seen("s", "c", 1, 5))
    waiting.session(Seen("s", "c", 2, 3, True))
    return waiting


FULL = Page(
    (Happened(b"e", "k", "s", tainted=True, times=3),),
    (Audited(b"a", "v", 2),),
    (Raised("c", "s", times=2),),
    {"frames": 6},
    (Seen("s", "c", 3, 5, True),),
)


def test_equal_ones_are_one() -> None:
    """Times and requests are added up, the most rounds and any taint are kept."""
    assert full().take() == FULL


def test_what_was_taken_does_not_wait_any_more() -> None:
    """A page is handed out once."""
    waiting = full()
    waiting.take()
    assert not waiting.take()


def test_what_could_not_be_written_waits_before_what_came_meanwhile() -> None:
    """Nothing is lost, and both are one page."""
    waiting = full()
    page = waiting.take()
    waiting.count("frames")
    waiting.event(Happened(b"late", "k"))
    waiting.put_back(page)
    again = waiting.take()
    assert again.counts == {"frames": 7}
    assert [event.digest for event in again.events] == [b"e", b"late"]
    assert (again.audit, again.notices, again.sessions) == (FULL.audit, FULL.notices, FULL.sessions)


def test_a_state_that_is_down_for_long_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a bound further ones are counted as lost."""
    monkeypatch.setattr(counters, "MOST", 3)
    waiting = Pending()
    for number in range(5):
        waiting.event(Happened(bytes([number]), "k"))
        waiting.audit(Audited(bytes([number]), "v"))
        waiting.notice(Raised("c", str(number)))
        waiting.session(Seen(str(number)))
    page = waiting.take()
    assert {len(page.events), len(page.audit), len(page.notices), len(page.sessions)} == {3}
    assert page.counts == {"not-recorded": 8}
