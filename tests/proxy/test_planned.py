"""What the proof is told of a decision."""

from dataclasses import replace

from msgspec import structs

from policies.authored import AUTHORED, LEFT_OUT, NOTES
from policies.cut import Cut, Window
from policies.decision import Claimed, Decision, FrameRow, Leg, Note
from policies.envelope import POLICY_TEXT
from policies.proof_plan import Planned
from proxy.planned import authored, planned
from tests.policies.histories import history

GONE = ("messages", 1, "content", 0)


def test_what_goes_is_told_with_the_list_that_it_is_in() -> None:
    """And what was given at home; a view that shows all is none that leaves anything out."""
    cut = Cut(Window("dialogue"), turn=2, gone=frozenset({1}))
    decision = Decision(Leg.CLOUD, removed=(GONE,), cut=cut, tool_use=False)
    seen = structs.replace(history("uau"), home=frozenset({1}))
    told = planned(seen, decision)
    assert told == Planned(frozenset({GONE}), (), False, cut, "messages", frozenset({1}))
    shown = structs.replace(decision, cut=replace(cut, window=Window("off")))
    assert planned(seen, shown).cut is None
    assert planned(history(""), decision) == Planned(frozenset({GONE}), (), False)


def test_texts_of_ours_are_told_where_they_were_decided() -> None:
    """Those of the registry alone; a note only where its row holds that one was put."""
    name, text = next(iter(NOTES.items()))
    note, row = Note(0, 1, name, known=False), FrameRow("0" * 32, "read", intro=True)
    decision = Decision(Leg.CLOUD, policy_text=POLICY_TEXT, notes=(note,))
    assert authored(decision, Claimed({0: row})) == {POLICY_TEXT}
    assert authored(decision, Claimed({0: replace(row, followed=True)})) == {POLICY_TEXT, text}
    hollow = Decision(Leg.CLOUD, policy_text="nobody wrote that", hollow=(GONE[:2],))
    assert authored(hollow, Claimed({})) == {LEFT_OUT}
    assert {POLICY_TEXT, LEFT_OUT, text} <= set(AUTHORED.values())
