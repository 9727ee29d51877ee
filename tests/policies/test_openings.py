"""Opening lines of other parts in third-party text are told, and left where they are."""

import pytest

from policies.conversation import Unit
from policies.decision import Finding
from policies.envelope import INTRO, wrap_untrusted
from policies.openings import OPENINGS, openings


def unit(text: str) -> Unit:
    return Unit(("messages", 2, "content"), text, "tool:read", inner=("out",))


@pytest.mark.parametrize(("kind", "opening"), OPENINGS.items())
def test_an_opening_counts_where_a_line_begins(kind: str, opening: str) -> None:
    """At the beginning and after a line break, once; in the middle of a line it opens nothing."""
    found = (Finding(kind, "messages[2].content.*", "opening"),)
    assert openings([unit(f"{opening} x")]) == found
    assert openings([unit(f"a\n{opening}\n{opening}")]) == found
    assert openings([unit(f"a {opening}"), unit("")]) == ()


@pytest.mark.parametrize("opening", OPENINGS.values())
def test_an_opening_stays_in_its_frame_as_it_came(opening: str) -> None:
    """It grants nothing there; it is evidence."""
    assert f"\n{opening}\n" in wrap_untrusted("read", opening, draw=lambda: "ab" * 16)


def test_our_own_intro_is_among_them() -> None:
    """Whatever nonce a forged intro names."""
    (finding,) = openings([unit(INTRO.format(nonce="0" * 32))])
    assert finding.kind == "frame_intro"
