"""What is told when something has happened several times, and the table of kinds."""

import pytest

from policies.kinds import KEPT, KINDS, PLAIN, TOLD, level_of
from policies.notices import NOTICES
from policies.notices import TOLD as NEVER_REFUSES
from policies.signals import follows


@pytest.mark.parametrize(
    ("recent", "tainted", "code"),
    [
        (4, 4, ""),
        (5, 0, "refusals-repeated"),
        (5, 4, "refusals-repeated"),
        (5, 5, "refusals-untrusted"),
        (9, 5, "refusals-untrusted"),
    ],
)
def test_refusals_are_told_by_what_stood_beside_them(recent: int, tainted: int, code: str) -> None:
    """Five with third-party text are one thing, five without another."""
    assert follows("call-refused", recent=recent, tainted=tainted) == code


def test_long_turns_are_told_at_the_third() -> None:
    """Two may happen."""
    assert follows("turn-limit", recent=2, tainted=2) == ""
    assert follows("turn-limit", recent=3, tainted=0) == "turn-limit-repeated"


def test_other_kinds_are_told_once_at_most() -> None:
    """Numbers matter for the two alone."""
    assert follows("frames", recent=99, tainted=99) == ""


def test_every_notice_of_the_table_is_in_the_catalogue() -> None:
    """A kind cannot be told in words that nobody has written."""
    assert {kind.notice for kind in KINDS.values()} - {""} <= set(NOTICES)
    assert set(NOTICES) >= KEPT | TOLD
    assert not PLAIN.notice
    assert NOTICES["refusals-untrusted"].severity == "error"
    assert NOTICES["refusals-repeated"].status == NEVER_REFUSES


def test_a_bound_has_an_event_for_each_level() -> None:
    """The bare name is the hard one, which ends the turn."""
    assert level_of("turn-limit", {"level": "soft"}) == "turn-limit-soft"
    assert level_of("turn-limit", {"level": "hard"}) == "turn-limit"
    assert level_of("turn-limit", {"level": "beyond"}) == "turn-limit-beyond"
    assert level_of("adopted", {}) == "adopted"
