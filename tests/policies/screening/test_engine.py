"""One function over two engines, which must agree."""

import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.conversation import Strand
from policies.screening import Screen, engine, rules
from policies.screening.engine import AhoCorasick, Literal, Vectorscan

LITERALS = [literal for rule in rules.load() for literal in rule.literals()]
LITERALS = [*dict.fromkeys(LITERALS), Literal(b"deny-me", once=True)]


@pytest.fixture(scope="module")
def both() -> tuple[Vectorscan, AhoCorasick]:
    return Vectorscan(LITERALS), AhoCorasick(LITERALS)


TEXT = st.lists(
    st.sampled_from([literal.text for literal in LITERALS])
    | st.binary(max_size=12)
    | st.sampled_from([b"NSEC1", b"akia", b"AKIA", b"DENY-ME", b"postgreSQL://", b"\n"]),
    max_size=12,
).map(b"".join)


@settings(max_examples=150, deadline=None)
@given(TEXT)
def test_the_engines_agree(both, data):
    """Property: the same literals at the same places, in any case, overlapping or not."""
    fast, plain = (set(engine.anchors(data)) for engine in both)
    once = {number for number, literal in enumerate(LITERALS) if literal.once}
    assert {hit for hit in fast if hit[0] not in once} == {h for h in plain if h[0] not in once}
    assert {n for n, _ in fast if n in once} == {n for n, _ in plain if n in once}


def test_both_engines_give_the_same_findings(monkeypatch):
    """Every sample of every rule, on either engine."""
    screens = [Screen.build({"a": b"hunter2-of-the-house"})]
    monkeypatch.setitem(sys.modules, "hyperscan", None)
    screens.append(Screen.build({"a": b"hunter2-of-the-house"}))
    assert [screen.engine.name for screen in screens] == ["hyperscan", "ahocorasick"]
    assert screens[0].version == screens[1].version
    for rule in rules.load():
        for sample in (*rule.yes, *rule.no, b"it is hunter2-of-the-house"):
            strand = Strand(("messages", 0, "content"), sample.decode())
            assert screens[0].findings([strand]) == screens[1].findings([strand])


def test_an_engine_that_misses_a_literal_is_not_used(monkeypatch):
    """The self-test at build sends a processor that the fast engine gets wrong to the other."""
    monkeypatch.setattr(Vectorscan, "anchors", lambda self, data: [])
    assert engine.build(LITERALS).name == "ahocorasick"


def test_an_engine_that_cannot_be_built_is_not_used(monkeypatch):
    """What the library refuses, the other engine does."""
    import hyperscan

    def refuse(self, literals):
        raise hyperscan.error("no such processor")

    monkeypatch.setattr(Vectorscan, "__init__", refuse)
    assert engine.build(LITERALS).name == "ahocorasick"
    assert engine.gates({"a": b"(?<=x)y(?!z)"[0:0] + b"x"})(b"wxyz") == {"a"}


def test_gates_agree():
    """The one-pass gates and the searches one by one answer alike."""
    from policies.screening.views import GATES

    fast, plain = engine.gates(GATES), engine.linear_gates(GATES)
    for text in (
        b"", b"plain", b"x" * 24, b"a\\nb", b"%41", b"&#65;", b"&amp;", b"'a' + 'b'",
        b"'a'\n  'b'", b"00000000: 746f 6b65 ", b"\n0000000 02 01 03", b"aa:bb:cc:dd:ee",
        b"     1\t00000000: 746f 6b65", b"100% of & and",
    ):  # fmt: skip
        assert fast(text) == plain(text), text


def test_gates_that_the_engine_refuses_are_searched(monkeypatch):
    """A pattern that the fast engine cannot compile is left to the linear matcher."""
    import hyperscan

    def refuse(self, *args, **kwargs):
        raise hyperscan.error("too large")

    class Database:
        def __init__(self, **kwargs):
            pass

        compile = refuse

    monkeypatch.setattr(hyperscan, "Database", Database)
    assert engine.gates({"a": b"x"})(b"wxyz") == {"a"}


def test_many_threads_at_once(both):
    """Each scan has a scratch of its own: no thread disturbs another."""
    fast, _ = both
    data = b"x nsec1 AKIA " * 2000
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
