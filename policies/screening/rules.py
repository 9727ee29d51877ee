"""Rules of the screen as data: `rules.toml`, read and checked.

Owns the shape of a rule. It must not know how text gets here or what becomes of a finding.
"""

import base64
import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from policies.screening.checks import CHECKS, placeholder
from policies.screening.engine import Literal

_BEFORE = {
    # What must not stand before the value: another character of a word, of a hex run, nothing.
    "word": re.compile(rb"[A-Za-z0-9]"),
    "hex": re.compile(rb"[0-9a-fA-F]"),
    "any": re.compile(rb"(?!)"),
}
_TOKEN = re.compile(rb"[!-~]*")


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret with an anchor.

    `anchors`: literals, one of which stands in every instance; of any case unless `exact`.
    `pattern` is matched at the anchor, or searched from `back` bytes before it; at most `reach`
    bytes from the anchor on are looked at. The group `v`, or else the whole match, is the value.
    `check` names a function of `checks.CHECKS` that proves the value offline. `reliability`:
    `certain` (proved), `strong` (unique prefix; placeholders are let go), `context` (needs a
    telling word, which the pattern holds). `yes` and `no` are samples, stored as base64.
    """

    id: str
    kind: str
    family: str
    reliability: str
    why: str
    anchors: tuple[bytes, ...]
    pattern: re.Pattern[bytes] = field(repr=False)
    exact: bool = False
    before: str = "word"
    back: int = 0
    reach: int = 512
    check: str = ""
    yes: tuple[bytes, ...] = field(default=(), repr=False)
    no: tuple[bytes, ...] = field(default=(), repr=False)

    def literals(self) -> Iterable[Literal]:
        """What the engine has to look for."""
        return (Literal(anchor, caseless=not self.exact) for anchor in self.anchors)

    def at(self, data: bytes, start: int) -> tuple[bool, int]:
        """Is there an instance round the anchor at `start`; and how many bytes that cost."""
        end = start + self.reach
        before = _BEFORE[self.before]
        if not self.back and start and before.match(data, start - 1, start):
            return False, 1
        if self.back:
            found = self.pattern.search(data, max(0, start - self.back), end)
        else:
            found = self.pattern.match(data, start, end)
        if found is None:
            token = _TOKEN.match(data, start, end)
            return False, self.back + (token.end() - start if token else 0)
        first = found.start()
        if self.back and first and before.match(data, first - 1, first):
            return False, found.end() - first
        value = found["v"] if "v" in self.pattern.groupindex else found[0]
        if self.reliability != "certain" and placeholder(value):
            return False, found.end() - first
        return not self.check or CHECKS[self.check](value), 2 * (found.end() - first)


def load() -> tuple[Rule, ...]:
    """All rules of `rules.toml`. Raises `ValueError` for a rule that cannot work."""
    text = resources.files("policies.screening").joinpath("rules.toml").read_text("utf-8")
    return tuple(_rule(entry) for entry in tomllib.loads(text)["rule"])


def _rule(entry: dict[str, Any]) -> Rule:
    fields = dict(entry)
    decode: Callable[[str], bytes] = base64.b64decode
    try:
        fields["anchors"] = tuple(anchor.encode() for anchor in fields["anchors"])
        fields["pattern"] = re.compile(fields["pattern"].encode())
        fields["yes"] = tuple(map(decode, fields["yes"]))
        fields["no"] = tuple(map(decode, fields["no"]))
        rule = Rule(**fields)
    except (KeyError, TypeError, re.error) as error:
        raise ValueError(f"rule {entry.get('id', '?')}: {error}") from error
    if rule.before not in _BEFORE or (rule.check and rule.check not in CHECKS):
        raise ValueError(f"rule {rule.id}: unknown `before` or `check`")
    return rule
