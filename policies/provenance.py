"""Whom a piece of text is trusted as.

Owns the judgement by source. It must not look at wording: text is never trusted or discredited by
what it says.
"""

from collections.abc import Iterable
from enum import StrEnum
from fnmatch import fnmatchcase

from policies.settings import ToolRule


class Trust(StrEnum):
    """`OPERATOR`: as good as the operator's own words. `UNTRUSTED`: everybody else's."""

    OPERATOR = "operator"
    UNTRUSTED = "untrusted"


def trust_of(source: str, rules: Iterable[ToolRule]) -> Trust:
    """Trust in a source as `Unit.source` names it: `tool:<name>`, `web:…`, `memory:…`.

    Rules are about tools: the first whose glob matches the whole name, in its own letter case,
    decides. No rule, no name, another kind of source, anything unknown: untrusted.
    """
    rule = rule_of(source, rules)
    return Trust.OPERATOR if rule is not None and rule.trust == "operator" else Trust.UNTRUSTED


def rule_of(source: str, rules: Iterable[ToolRule]) -> ToolRule | None:
    """The rule that holds for a source, None where there is none."""
    kind, _, name = source.partition(":")
    if kind != "tool" or not name:
        return None
    return next((rule for rule in rules if fnmatchcase(name, rule.match)), None)


def weakest(trusts: Iterable[Trust]) -> Trust:
    """The trust in text put together from several sources; of none: untrusted."""
    return Trust.OPERATOR if set(trusts) == {Trust.OPERATOR} else Trust.UNTRUSTED
