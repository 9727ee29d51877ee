"""Rules of the screen as data: `rules.toml`, read and checked.

Owns the shape of a rule and how an instance is told from a look-alike. It must not know how text
gets here or what becomes of a finding.
"""

import base64
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import re2
import regex

from policies.screening import checks, proofs
from policies.screening.checks import placeholder
from policies.screening.engine import Pattern, linear
from policies.screening.mending import mended
from policies.screening.work import Work

# What must not stand before the value: another character of a word, of a hex run, nothing.
_CLASSES = {"word": b"A-Za-z0-9", "hex": b"0-9a-fA-F", "any": b""}
_BEFORE = {
    # The letter of an escape, as in `\\nvalue`, is none of these.
    name: re.compile(rb"(?<!\\)[%s]|[%s](?<![nrt])" % (chars, chars) if chars else b"(?!)")
    for name, chars in _CLASSES.items()
}
_TOKEN = re.compile(rb"[!-~]*")
_BEHIND = re.compile(rb"\(\?<![^()]*\)")
_FOLLOWS = re.compile(rb"\[(?:\\.|[^\]\\])+\]\{\d+\}")
CHECKS = {**checks.CHECKS, **proofs.CHECKS}
"""Offline proofs by name."""
FUSE = 1.0
"""Seconds of CPU time for one window; a pattern that takes longer has read nothing for certain."""
LEAST = 128
"""Bytes that a look at an anchor counts for at least: it is work, however short the look."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of secret with an anchor.

    `anchors`: literals, one of which stands in every instance; of any case unless `exact`. `then`:
    a class and a count, `[a-z]{20}`, that has to follow the anchor at once. Or, in place of both,
    `trigger`: an expression that ends somewhere in every instance.
    `source` is the expression of `pattern`, which is matched at the anchor, or looked for from
    `back` bytes before it (before the end of the trigger); at most `reach` bytes from there on are
    looked at. `in_run`: every instance of the trigger lies round a long word, as `signs.rows` knows
    them. The group `v`, or else the whole match, is the value. `check` names a function of `CHECKS`
    that proves the value offline. `reliability`: `certain` (proved), `strong` (unique prefix;
    placeholders are let go), `context` (needs a telling word, which the pattern holds).
    `head`: what `pattern` begins with, in words that the linear engine knows, too; negative looks
    behind it are left out. It says where an instance may begin at a fraction of the cost.
    Not `mends`: a value may stand behind its anchor, and where it goes on is not looked for.
    `yes` and `no` are samples, stored as base64.
    """

    id: str
    kind: str
    family: str
    reliability: str
    why: str
    source: bytes = field(repr=False)
    anchors: tuple[bytes, ...] = ()
    then: bytes = b""
    trigger: bytes = b""
    in_run: bool = False
    head: bytes = field(default=b"", repr=False)
    exact: bool = False
    before: str = "word"
    back: int = 0
    reach: int = 512
    check: str = ""
    mends: bool = True
    yes: tuple[bytes, ...] = field(default=(), repr=False)
    no: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def sure(self) -> bool:
        """Whether an instance needs no telling word; others count within one text alone."""
        return self.reliability != "context"

    @property
    def pattern(self) -> "regex.Pattern[bytes]":
        """`source`, compiled when it is first asked for: most rules never meet their anchor, and
        all of them together take 7 MB. Raises `ValueError` where it is broken."""
        try:
            return _compiled(self.source)
        except regex.error as error:
            raise ValueError(f"rule {self.id}: {error}") from None

    def patterns(self) -> Iterable[tuple[Pattern, int]]:
        """What the engine has to look for, and how far before its end the anchor stands."""
        if self.trigger:
            yield Pattern(then=self.trigger), 0
        for anchor in self.anchors:
            after = b"" if self.back else _CLASSES[self.before]
            pattern = Pattern(anchor, self.then, caseless=not self.exact, after=after)
            yield pattern, pattern.width

    def holds(self, data: bytes, anchor: int, work: Work) -> bool:
        """Is there an instance round the anchor; what that costs is counted by `work`."""
        end = anchor + self.reach
        # A rule that searches looks at its window, most of it in passing.
        searched = min(end, len(data)) - max(0, anchor - self.back) if self.back else 0
        work.spend("anchors", LEAST + searched // 4)
        before = _BEFORE[self.before]
        try:
            if self.back:
                start = max(0, anchor - self.back)
                for found in self._instances(data, start, end):
                    first = found.start()
                    glued = first and before.match(data, first - 1, first)
                    if not glued and self._proves(found, work):
                        return True
                return False
            if anchor and before.match(data, anchor - 1, anchor):
                return False
            found = self.pattern.match(data, anchor, end, timeout=FUSE)
        except TimeoutError:
            work.give_up("anchors")
        if found is None:
            token = _TOKEN.match(data, anchor, end)
            work.spend("anchors", token.end() - anchor if token else 0)
            return False
        return self._proves(found, work)

    def stands(self, data: bytes, anchor: int, work: Work) -> bool:
        """The same, or a value goes on behind the end of a line or of a string."""
        if self.holds(data, anchor, work):
            return True
        return (self.sure and self.mends) and any(
            self.holds(whole, at, work)
            for whole, at in mended(data, anchor, self.back, self.reach, work)
        )

    def _instances(self, data: bytes, start: int, end: int) -> "Iterator[regex.Match[bytes]]":
        if not self.head:
            yield from self.pattern.finditer(data, start, end, timeout=FUSE)
            return
        head = _head(self.head)
        while begins := head.search(data, start, end):
            start = begins.start()
            found = self.pattern.match(data, start, end, timeout=FUSE)
            start = found.end() if found else start + 1
            if found:
                yield found

    def _proves(self, found: "regex.Match[bytes]", work: Work) -> bool:
        first, end = found.span()
        work.spend("anchors", 2 * (end - first))
        value = found[self._value]
        if self.check and not CHECKS[self.check](value):
            return False
        return self.reliability == "certain" or not placeholder(value)

    @property
    def _value(self) -> int:
        return int(self.pattern.groupindex.get("v", 0))


_compiled: Callable[[bytes], "regex.Pattern[bytes]"] = cache(regex.compile)


@cache
def _head(expression: bytes) -> "re2._Regexp":
    return linear(_BEHIND.sub(b"", expression))


def load() -> tuple[Rule, ...]:
    """All rules of `rules.toml`. Raises `ValueError` for a rule that cannot work, but for one whose
    pattern is broken: that says so when it is needed."""
    text = resources.files("policies.screening").joinpath("rules.toml").read_text("utf-8")
    data = tomllib.loads(text)
    parts = {f"<@{name}>": part for name, part in data["parts"].items()}
    return tuple(_rule(_whole(entry, parts)) for entry in data["rule"])


def _whole(entry: dict[str, Any], parts: Mapping[str, str]) -> dict[str, Any]:
    """`entry` with what its expressions share with others in its place."""
    fields = dict(entry)
    for name in {"trigger", "pattern", "head"} & entry.keys():
        for mark, part in parts.items():
            fields[name] = fields[name].replace(mark, part)
    return fields


def _rule(entry: dict[str, Any]) -> Rule:
    fields = dict(entry)
    decode: Callable[[str], bytes] = base64.b64decode
    try:
        fields["anchors"] = tuple(anchor.encode() for anchor in fields.get("anchors", ()))
        for name in ("then", "trigger", "head"):
            fields[name] = fields.get(name, "").encode()
        fields["source"] = fields.pop("pattern").encode()
        fields["yes"] = tuple(map(decode, fields["yes"]))
        fields["no"] = tuple(map(decode, fields["no"]))
        rule = Rule(**fields)
    except (KeyError, TypeError) as error:
        raise ValueError(f"rule {entry.get('id', '?')}: {error}") from error
    if rule.before not in _BEFORE or (rule.check and rule.check not in CHECKS):
        raise ValueError(f"rule {rule.id}: unknown `before` or `check`")
    if bool(rule.anchors) == bool(rule.trigger) or (rule.trigger and not rule.back):
        raise ValueError(f"rule {rule.id}: either `anchors` or a `trigger` with `back`")
    if rule.head and not (rule.back and rule.source.startswith(rule.head)):
        raise ValueError(f"rule {rule.id}: `head` is what a pattern with `back` begins with")
    if rule.in_run and not rule.trigger:
        raise ValueError(f"rule {rule.id}: `in_run` is said of a trigger")
    if rule.then and (rule.trigger or not _FOLLOWS.fullmatch(rule.then)):
        raise ValueError(f"rule {rule.id}: `then` is one class with one count behind an anchor")
    return rule
