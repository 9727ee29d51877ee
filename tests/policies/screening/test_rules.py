"""Rules as data: each finds its own samples and nothing that only looks like them."""

import base64
import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.conversation import Strand
from policies.screening import Screen, rules
from policies.screening.engine import AhoCorasick
from policies.screening.reading import FAMILIES
from policies.screening.work import Exhausted, Work

RULES = rules.load()
SAMPLES = [(rule, sample) for rule in RULES for sample in rule.yes]
LOOK_ALIKES = [(rule, sample) for rule in RULES for sample in rule.no]


@pytest.fixture(scope="module")
def screen() -> Screen:
    return Screen.build()


def kinds(screen: Screen, text: str) -> set[str]:
    return {f.kind for f in screen.findings([Strand(("messages", 0, "content"), text)])}


@cache
def alone(rule: rules.Rule) -> tuple[AhoCorasick, list[int]]:
    """An engine for one rule, and how far before the ends of its hits the anchors stand."""
    engine = AhoCorasick([pattern for pattern, _ in rule.patterns()])
    return engine, [before for _, before in rule.patterns()]


def hits(rule: rules.Rule, data: bytes) -> bool:
    """Whether the rule alone fires anywhere in the data."""
    engine, behind = alone(rule)
    return any(rule.holds(data, end - behind[n], Work(10**6)) for n, end in engine.anchors(data))


@pytest.mark.parametrize(("rule", "sample"), SAMPLES, ids=lambda v: getattr(v, "id", ""))
def test_each_sample_is_found(screen, rule, sample):
    """In the middle of a sentence, at the start of a line, in JSON inside a string."""
    text = sample.decode()
    assert rule.kind in kinds(screen, text)
    assert rule.kind in kinds(screen, f"before: {text} after")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    assert rule.kind in kinds(screen, f'{{"out": "line\\n{escaped}\\nline"}}')


@pytest.mark.parametrize(("rule", "sample"), LOOK_ALIKES, ids=lambda v: getattr(v, "id", ""))
def test_what_only_looks_like_it_is_let_go(rule, sample):
    """Placeholders, bad checksums, public halves, the prefix in prose."""
    assert not hits(rule, sample)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_is_complete(rule):
    """Each says what it is and how sure it is, and has samples on both sides."""
    assert rule.why
    assert rule.yes
    assert rule.no
    assert rule.reliability in ("certain", "strong", "context")
    assert rule.check or rule.reliability != "certain"
    assert all(len(anchor) >= 2 for anchor in rule.anchors)


def test_ids_are_unique():
    """A rule is named by its id."""
    assert len({rule.id for rule in RULES}) == len(RULES)


def test_a_kind_has_one_family():
    """Two rules for one kind, or a rule and a tokeniser, file it in the same place."""
    families = dict(FAMILIES)
    for rule in RULES:
        assert families.setdefault(rule.kind, rule.family) == rule.family, rule.id


def test_no_sample_stands_in_the_open():
    """The rules and tests hold no literal that a scanner would take for a live secret."""
    source = rules.resources.files("policies.screening").joinpath("rules.toml").read_bytes()
    for line in source.splitlines():
        if not line.lstrip().startswith((b'"', b"pattern", b"anchors", b"trigger", b"then")):
            assert not any(hits(rule, line) for rule in RULES), line
    for rule, sample in SAMPLES:
        assert sample not in source
        assert base64.b64encode(sample) in source, rule.id


GOOD = {
    "id": "x", "kind": "k", "family": "f", "reliability": "strong", "why": "w",
    "anchors": ["a"], "pattern": "a", "yes": [], "no": [],
}  # fmt: skip


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "x"},
        {**GOOD, "surprise": 1},
        {**GOOD, "check": "nothing"},
        {**GOOD, "before": "nothing"},
        {**GOOD, "anchors": []},
        {**GOOD, "trigger": "a", "back": 1},
        {**GOOD, "anchors": [], "trigger": "a"},
        {**GOOD, "in_run": True},
        {**GOOD, "head": "a"},
        {**GOOD, "anchors": [], "trigger": "a", "back": 1, "head": "never"},
        {**GOOD, "then": "a{3}"},
        {**GOOD, "then": "[a-z]{3,5}"},
        {**GOOD, "anchors": [], "trigger": "a", "back": 1, "then": "[a]{3}"},
    ],
)
def test_a_broken_rule_names_itself(entry):
    """A rule that cannot work is refused when it is read: unknown fields, checks and neighbours, no
    anchor, two kinds of anchors, a run without a trigger, a head that begins no such pattern, a
    follower of no fixed width."""
    assert rules._rule(GOOD).id == "x"
    with pytest.raises(ValueError, match="rule x"):
        rules._rule(entry)


WITH_HEAD = [rule for rule in RULES if rule.head]
SAID = st.lists(
    st.sampled_from(
        [sample for rule in WITH_HEAD for sample in (*rule.yes, *rule.no)]
        + [b"password", b"PassWord", b"secret", b"payment_secret", b"psk", b"a_psk", b" psk"]
        + [b"api_key", b"A_TOKEN", b"a_TOKEN", b"access_token", b"secret_key_base", b"x.pass"]
        + [b" = ", b": ", b"=", b'"', b"'", b"\n", b"(", b" ", b"_", b"x", b"Ab3-fG7_jK9+mN1/pQ5"]
    ),
    max_size=10,
).map(b"".join)


@pytest.mark.parametrize("rule", WITH_HEAD, ids=lambda rule: rule.id)
@settings(max_examples=200)
@given(data=SAID, start=st.integers(0, 40), short=st.integers(0, 40))
def test_a_head_leads_to_all_that_the_pattern_finds(rule, data, start, short):
    """Property: what stands before an instance counts, and one that is cut off is none."""
    end = max(start, len(data) - short)
    found = [each.span() for each in rule._instances(data, start, end)]
    assert found == [each.span() for each in rule.pattern.finditer(data, start, end)]


def test_every_pattern_can_be_compiled():
    """A node compiles those alone whose anchor it meets, so a broken one must not be shipped."""
    assert all(rule.pattern for rule in RULES)
    with pytest.raises(ValueError, match="rule x"):
        assert rules._rule({**GOOD, "pattern": "("}).pattern


def test_reading_the_rules_compiles_none(monkeypatch):
    """All of them take 7 MB, and most never meet their anchor."""
    made = []
    monkeypatch.setattr(rules, "_compiled", made.append)
    assert rules.load()
    assert not made


def test_a_pattern_that_takes_too_long_has_read_nothing(monkeypatch):
    """The second fuse: time, where the engine cannot promise to be linear."""
    monkeypatch.setattr(rules, "FUSE", 0.01)
    slow = rules._rule({**GOOD, "pattern": "a(?:b|bb|b{3}|b{1,9})*c", "reach": 4000})
    with pytest.raises(Exhausted):
        slow.holds(b"a" + b"b" * 3000, 0, Work(10**6))


def test_each_look_at_an_anchor_is_work():
    """However short the look: anchors one beside the other are paid for."""
    work = Work(0)
    rule = rules._rule(GOOD)
    while work.spent["anchors"] + rules.LEAST <= work.limit:
        assert not rule.holds(b"\n", 0, work)
    with pytest.raises(Exhausted):
        rule.holds(b"\n", 0, work)


def test_a_decoy_in_the_window_does_not_hide_the_secret(screen):
    """A window with a look-alike before the real value is read on."""
    key = "f3a1" * 4 + "09b7c2d4e5" * 4 + "12345678"
    text = f"private_key={'0' * 64} private_key={key}"
    assert "nostr_key" in kinds(screen, text)


@pytest.mark.parametrize("name", sorted(rules.CHECKS))
def test_checks_survive_anything(name):
    """A check answers for every value that a pattern can hand to it, and for less."""
    for value in (b"", b"1", b"=" * 50, b"eyJ" * 20, bytes(range(33, 127)), b"a:b@c", b"0" * 64):
        if ("hex" in name or name == "curve_key") and not re.fullmatch(rb"[0-9a-f]+", value):
            continue
        if name == "fedimint_base32" and not re.fullmatch(rb"[0-9a-v]*", value[8:]):
            continue
        assert rules.CHECKS[name](value) in (True, False)
