"""The one exception that ends a request: a notice code, the facts for its words, what was found.

Raised by door, bodies, routes, ledger and the outbound door; the gateway dresses it in the caller's
dialect. It must not know a dialect or a status: the catalogue in `policies.notices` does.
"""

from policies.decision import Finding


class Refused(Exception):
    """Answer with notice `code` instead of a model's answer. `facts` fill the notice's words and
    must be safe to show: no value from a body, no credential."""

    def __init__(self, code: str, *, findings: tuple[Finding, ...] = (), **facts: str) -> None:
        super().__init__(code)
        self.code = code
        self.findings = findings
        self.facts = facts
