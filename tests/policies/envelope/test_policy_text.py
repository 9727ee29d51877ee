"""The paragraph in the system text."""

import re
from hashlib import sha256

from policies.envelope import INTRO, POLICY_TEXT, STEM
from policies.envelope.neutralise import stems
from policies.envelope.policy_text import POLICY_TEXTS, VERSION


def test_the_policy_text_is_one_static_paragraph_that_spells_no_mark() -> None:
    """No nonce, no stem, no line break, no place to fill in: the same bytes in every request."""
    assert not re.search(r"[0-9a-f]{16}|[{}\n]", POLICY_TEXT)
    assert STEM not in POLICY_TEXT
    assert not stems(POLICY_TEXT)
    assert INTRO.split(":")[0] not in POLICY_TEXT
    assert POLICY_TEXT.isascii()
    assert len(POLICY_TEXT) < 1200


def test_a_version_of_the_text_never_changes() -> None:
    """Conversations that began with a version need its bytes for ever."""
    digests = {version: sha256(text.encode()).hexdigest() for version, text in POLICY_TEXTS.items()}
    assert digests == {"1": "0951215d3bd852f01aa3db50fc0236dd4b24adaf7dbd014e01f975597b6cfb02"}
    assert POLICY_TEXTS[VERSION] is POLICY_TEXT
