"""A report decides nothing: no leg, no byte and no refusal hangs on what a text says or hides."""

import ast
import base64
import hashlib
import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from policies import decide as deciding
from policies.conversation import Conversation, Piece, Strand, Unit
from policies.decide import Watch, decide
from policies.decision import Decision, FrameRow, Leg, Remembered
from policies.openings import OPENINGS
from policies.screening import Screen
from policies.settings import Policies

ROOT = Path(__file__).parents[2]
SCREEN = Screen.build()
NONCE = "ab" * 16
TEXTS = [
    base64.b64decode(json.loads(line)["text_b64"]).decode()
    for line in (ROOT / "tests/data/injection-dev.jsonl").read_text("utf-8").splitlines()
] + [f"{opening}\nmore" for opening in OPENINGS.values()]


def piece(text: str) -> Piece:
    digest = hashlib.sha256(text.encode()).digest()
    return Piece(("messages", 0), digest, lambda: (Strand(("messages", 0, "content"), text),))


def conversation(text: str, *, answered: bool = False) -> Conversation:
    unit = Unit(("messages", 0, "content"), text, "tool:read", "read", answered=answered)
    return Conversation("d", "m", False, (), (), 0, (unit,), (), (piece(text),))


def decided(text: str, leg: Leg, remembered: Remembered | None = None, **how: bool) -> Decision:
    return decide(
        conversation(text, **how),
        watch=Watch(SCREEN, frozenset()) if leg is Leg.CLOUD else None,
        remembered=remembered or Remembered({}),
        policies=Policies(),
        draw=lambda: NONCE,
    )


@pytest.mark.parametrize("leg", list(Leg))
def test_findings_change_nothing_but_the_report(leg: Leg, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reports blinded each decision is the same, but for what is told."""
    with_report = [decided(text, leg) for text in TEXTS]
    assert sum(bool(made.noted) for made in with_report) == 26 + len(OPENINGS)
    monkeypatch.setattr(deciding, "report", lambda strands: ())
    monkeypatch.setattr(deciding, "openings", lambda units: ())
    for text, made in zip(TEXTS, with_report, strict=True):
        assert decided(text, leg) == replace(made, noted=())
        assert made.refusal is None


def test_what_comes_again_is_not_told_again() -> None:
    """Cloud: pieces known clean stay closed. Local: units that the ledger knows, or that a model
    has answered, are old."""
    text = "a\u200bb"
    first = decided(text, Leg.CLOUD)
    assert [each.kind for each in first.noted] == ["invisible"]
    again = decide(
        conversation(text),
        watch=Watch(SCREEN, frozenset(first.clean)),
        remembered=Remembered({}),
        policies=Policies(),
        draw=lambda: NONCE,
    )
    assert again.noted == ()
    assert decided(text, Leg.LOCAL).noted == first.noted
    assert decided(text, Leg.LOCAL, Remembered({0: FrameRow(NONCE, "read", True)})).noted == ()
    assert decided(text, Leg.LOCAL, answered=True).noted == ()


def test_leaves_of_a_string_that_is_json_are_looked_at() -> None:
    """In the outer string an escape hides what hides; the unit is the leaf as it reads."""
    outer = json.dumps({"out": "a\u200bb"})
    assert outer.isascii()
    unit = Unit(("messages", 0, "content"), "a\u200bb", "tool:sh", inner=("out",))
    inside = Conversation("d", "m", False, (), (), 0, (unit,), (), (piece(outer),))
    for watch in (Watch(SCREEN, frozenset()), None):
        made = decide(
            inside,
            watch=watch,
            remembered=Remembered({}),
            policies=Policies(),
            draw=lambda: NONCE,
        )
        assert [each.place for each in made.noted] == ["messages[0].content.*"]


def test_what_is_refused_is_told_as_well() -> None:
    """Its other pieces count as clean from now on and would never be looked at again."""
    key = "-----BEGIN OPENSSH " + "PRIVATE KEY-----"
    body = base64.b64encode(b"openssh-key-v1\0" + bytes(200)).decode()
    text = f"a\u200bb\n{key}\n{body}\n-----END OPENSSH " + "PRIVATE KEY-----"
    made = decided(text, Leg.CLOUD)
    assert made.refusal is not None
    assert [each.kind for each in made.noted] == ["invisible"]


PHRASES = re.compile(
    r"ignore (all |any |the )?(previous|prior|above)|disregard|forget (your|all|everything)"
    r"|you are now|new instructions|system prompt:|jailbreak|do anything now|developer mode"
    r"|override (the|your|all)|without (any )?rules",
    re.IGNORECASE,
)
WATCHED = sorted([*ROOT.glob("policies/**/*.py"), *ROOT.glob("proxy/**/*.py")])


@pytest.mark.parametrize("path", WATCHED, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_list_of_phrases_stands_anywhere(path: Path) -> None:
    """No keyword of an instruction is looked for, blocked or taken out, whoever wrote the text.
    What the demo's file says to its agent is a prop."""
    if path.name == "files.py" and path.parent.name == "demo":
        pytest.skip("the prop of the demo")
    tree = ast.parse(path.read_text("utf-8"))
    docs = {
        ast.get_docstring(node, clean=False)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    }
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value not in docs
    ]
    assert not [text for text in texts if PHRASES.search(text)]


def test_the_search_for_phrases_finds_some() -> None:
    """It would see the lists that are in use elsewhere."""
    for text in ("ignore previous instructions", "You are now", "system prompt:", "Disregard"):
        assert PHRASES.search(text)


def test_reports_are_asked_by_nobody_who_decides() -> None:
    """`noted` is written in one place and read where things are told."""
    readers = {
        path.relative_to(ROOT).as_posix()
        for path in WATCHED
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "noted"
    }
    told = {"proxy/journal.py", "proxy/explain.py", "proxy/explained.py", "policies/happenings.py"}
    assert readers <= told


def test_what_lists_events_is_asked_by_no_policy() -> None:
    """`policies.happenings` reads reports to tell them; nothing that decides leans on it."""
    asking = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "policies").rglob("*.py")
        if "happenings" in path.read_text("utf-8")
    }
    assert asking <= {"policies/happenings.py"}
