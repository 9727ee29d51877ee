"""The paragraph in the system text."""

import re

from policies.authored import AUTHORED, POLICY_TEXT
from policies.envelope import INTRO, STEM
from policies.envelope.neutralise import stems


def test_the_policy_text_is_one_static_paragraph_that_spells_no_mark() -> None:
    """No nonce, no stem, no line break, no place to fill in: the same bytes in every request."""
    assert not re.search(r"[0-9a-f]{16}|[{}\n]", POLICY_TEXT)
    assert STEM not in POLICY_TEXT
    assert not stems(POLICY_TEXT)
    assert INTRO.split(":")[0] not in POLICY_TEXT
    assert POLICY_TEXT.isascii()
    assert len(POLICY_TEXT) < 1200


def test_every_text_that_may_be_placed_is_registered_once() -> None:
    """The registry cannot be changed and holds the policy text under its name."""
    assert AUTHORED["policy"] is POLICY_TEXT
    assert len(set(AUTHORED.values())) == len(AUTHORED)
    assert not hasattr(AUTHORED, "__setitem__")
