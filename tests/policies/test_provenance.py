"""Whom a source is trusted as."""

import pytest

from policies.provenance import Trust, trust_of, weakest
from policies.settings import ToolRule

RULES = (
    ToolRule("mail_*", "untrusted"),
    ToolRule("m*", "operator"),
    ToolRule("clock", "operator"),
    ToolRule("*", "untrusted"),
)


@pytest.mark.parametrize(
    ("source", "trust"),
    [
        ("tool:clock", Trust.OPERATOR),
        ("tool:mail_read", Trust.UNTRUSTED),
        ("tool:memo", Trust.OPERATOR),
        ("tool:Clock", Trust.UNTRUSTED),
        ("tool:clock\n", Trust.UNTRUSTED),
        ("tool:xclock", Trust.UNTRUSTED),
        ("web:clock", Trust.UNTRUSTED),
        ("memory:clock", Trust.UNTRUSTED),
        ("clock", Trust.UNTRUSTED),
        ("", Trust.UNTRUSTED),
    ],
)
def test_the_first_rule_that_matches_the_whole_name_decides(source: str, trust: Trust) -> None:
    """Order counts, letter case counts, and rules are about tools only."""
    assert trust_of(source, RULES) is trust


def test_what_is_not_known_is_untrusted() -> None:
    """No rule, or no name to hold against a rule that trusts everything."""
    assert trust_of("tool:read", ()) is Trust.UNTRUSTED
    assert trust_of("tool:", (ToolRule("*", "operator"),)) is Trust.UNTRUSTED


def test_one_untrusted_source_makes_the_whole_untrusted() -> None:
    """Text put together from several sources has the weakest trust among them."""
    assert weakest([Trust.OPERATOR, Trust.OPERATOR]) is Trust.OPERATOR
    assert weakest([Trust.OPERATOR, Trust.UNTRUSTED]) is Trust.UNTRUSTED
    assert weakest([]) is Trust.UNTRUSTED
