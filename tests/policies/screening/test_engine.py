"""One function over two engines, which must agree."""

import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.conversation import Strand
from policies.screening import Screen, engine, rules, signs
from policies.screening.engine import AhoCorasick, Pattern, Vectorscan
from policies.screening.screen import shipped

PATTERNS = [pattern for rule in rules.load() for pattern, _ in rule.patterns()]
PATTERNS += [
    Pattern(then=then, once=True)
    for tests in (signs.FIRST, *signs.AFTER.values())
    for then in tests.values()
]
PATTERNS.append(Pattern(b"deny-me", once=True))


@pytest.fixture(scope="module")
def both() -> tuple[Vectorscan, AhoCorasick]:
    return Vectorscan(PATTERNS), AhoCorasick(PATTERNS)


TEXT = st.lists(
    st.sampled_from([pattern.instance for pattern in PATTERNS if pattern.text])
    | st.sampled_from([pattern.text for pattern in PATTERNS if pattern.text])
    | st.binary(max_size=12)
    | st.sampled_from(
        [b"NSEC1", b"akia", b"AKIA", b"DENY-ME", b"postgreSQL://a:b@c", b"\n", b"'+'"]
    ),
    max_size=12,
).map(b"".join)


@settings(max_examples=150)
@given(TEXT)
def test_the_engines_agree(both, data):
    """Property: the same texts at the same places, in any case, overlapping or not; the same
    expressions. What must not stand before a text is only asked by the fast one."""
    fast, plain = (set(engine.anchors(data)) for engine in both)
    exact = {n for n, p in enumerate(PATTERNS) if p.text and not p.once}
    assert {hit for hit in fast if hit[0] in exact} <= plain
    missed = {n for n, _ in plain - fast if n in exact}
    assert all(PATTERNS[number].after for number in missed)
    others = set(range(len(PATTERNS))) - exact
    assert {n for n, _ in fast if n in others} == {n for n, _ in plain if n in others}


def test_both_engines_give_the_same_findings(monkeypatch):
    """Every sample of every rule, on either engine."""
    screens = []
    for wanted in ("hyperscan", "ahocorasick"):
        if wanted != "hyperscan":
            monkeypatch.setitem(sys.modules, "hyperscan", None)
        shipped.cache_clear()
        screens.append(Screen.build({"a": b"hunter2-of-the-house"}))
    shipped.cache_clear()
    assert [screen.tools.sentry.engine for screen in screens] == ["hyperscan", "ahocorasick"]
    assert screens[0].version == screens[1].version
    for rule in rules.load():
        for sample in (*rule.yes, *rule.no, b"it is hunter2-of-the-house"):
            strand = Strand(("messages", 0, "content"), sample.decode())
            assert screens[0].findings([strand]) == screens[1].findings([strand])


def test_an_engine_that_misses_a_text_is_not_used(monkeypatch):
    """The self-test at build sends a processor that the fast engine gets wrong to the other."""
    monkeypatch.setattr(Vectorscan, "anchors", lambda self, data: [])
    assert engine.build(PATTERNS).name == "ahocorasick"


def test_an_engine_that_cannot_be_built_is_not_used(monkeypatch):
    """What the library refuses, the other engine does."""
    import hyperscan

    def refuse(self, patterns, packed):
        raise hyperscan.error("no such processor")

    monkeypatch.setattr(Vectorscan, "__init__", refuse)
    assert engine.build(PATTERNS).name == "ahocorasick"


def test_a_packed_engine_is_the_same(both):
    """In no time, also in another process; the plain one has nothing to pack."""
    fast, plain = both
    again = engine.build(PATTERNS, fast.packed())
    data = b"\n".join(pattern.instance for pattern in PATTERNS if pattern.text) + b"\\u0041 %41"
    assert again.packed() == fast.packed()
    assert sorted(again.anchors(data)) == sorted(fast.anchors(data)) != []
    assert plain.packed() == b""


@pytest.mark.parametrize("packed", [b"no engine", Vectorscan([Pattern(b"other")]).packed()])
def test_what_was_packed_wrong_is_compiled_here(packed):
    """Bytes that are no engine, and one that does not find what is looked for."""
    made = engine.build([Pattern(b"deny-me")], packed)
    assert made.name == "hyperscan"
    assert made.anchors(b"do deny-me") == [(0, 10)]


def test_texts_with_zero_bytes_are_whole(both):
    """A text that holds a zero byte is not taken for what stands before it."""
    for made in (Vectorscan, AhoCorasick):
        found = made([Pattern(b"a\0b", once=True)])
        assert found.anchors(b"a bc") == []
        assert found.anchors(b"xa\0b") == [(0, 4)]


@pytest.mark.parametrize(
    ("pattern", "width", "instance"),
    [
        (Pattern(b"abc"), 3, b"abc"),
        (Pattern(b"ghp_", b"[A-Za-z0-9]{36}"), 40, b"ghp_" + b"A" * 36),
        (Pattern(b"x", b"[\\-a]{2}"), 3, b"x--"),
    ],
)
def test_a_pattern_knows_its_width(pattern, width, instance):
    """The start of an instance is told from its end."""
    assert (pattern.width, pattern.instance) == (width, instance)
    for made in (Vectorscan, AhoCorasick):
        assert made([pattern]).anchors(b"--" + instance) == [(0, 2 + width)]


def test_many_threads_at_once(both):
    """Each scan has a scratch of its own: no thread disturbs another."""
    fast, _ = both
    data = b"x nsec1 ghs_" * 2000
    expected = sorted(fast.anchors(data))
    wrong: list[object] = []

    def read():
        wrong.extend(1 for _ in range(20) if sorted(fast.anchors(data)) != expected)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
