"""Refused calls that a proxy can see: of tools that were not declared, that the owner denies, and
results by which a tool says that it refused.

Owns what counts as one. It must not know how an answer is read, and it decides nothing: what is
refused here is refused by the agent; it is counted. A tool says so by a text that the owner has
written down for this tool, the only literal that is ever looked for, and only in its results.
"""

from collections.abc import Container, Sequence
from fnmatch import fnmatchcase

from policies.conversation import Conversation, Unit
from policies.settings import RefusalRule


def refused_call(name: str, declared: Container[str], rules: Sequence[RefusalRule]) -> str:
    """Why a call that the model made is none that the agent may carry out: `undeclared`, `denied`,
    or empty where it may."""
    if name not in declared:
        return "undeclared"
    return "denied" if denied(name, rules) else ""


def denied(name: str, rules: Sequence[RefusalRule]) -> bool:
    """Whether the first rule that matches a tool denies it."""
    rule = _rule(name, rules)
    return rule is not None and rule.deny


def refused_results(conversation: Conversation, rules: Sequence[RefusalRule]) -> tuple[int, ...]:
    """Numbers of the units that no model has answered and that hold their tool's own refusal. Those
    of calls that count already, undeclared or denied ones, are left out."""
    if not any(rule.refused for rule in rules):
        return ()
    return tuple(
        number
        for number, unit in enumerate(conversation.units)
        if not unit.answered
        and _says_refused(unit, rules)
        and not refused_call(unit.tool, conversation.tools, rules)
    )


def _says_refused(unit: Unit, rules: Sequence[RefusalRule]) -> bool:
    rule = _rule(unit.tool, rules)
    return rule is not None and bool(rule.refused) and rule.refused in unit.text


def _rule(name: str, rules: Sequence[RefusalRule]) -> RefusalRule | None:
    return next((rule for rule in rules if fnmatchcase(name, rule.match)), None)
