"""The proof's reading of a list: at once and message by message it comes to the same."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import proof_frames
from policies import proof_json as own
from policies.decision import Claimed, FrameRow, Screened
from policies.proof_beginnings import LEAST
from policies.proof_frames import Frames
from policies.prove import ProofFailed, prove
from tests.policies.test_proof_spelled import ROW, inside, result
from tests.policies.test_prove import NONCE, OURS, dump, screened

KNOWING = {"transom_data", NONCE, "TRANSOM_DATA nonce="}
CONTENTS = st.sampled_from(["", "a", "ü", '","', "a\nb", *sorted(KNOWING)])
TAMPERINGS = st.sampled_from(
    [*[""] * 4, "text", "bare", "order", "missing", "twice", "other", "screen", "row", "member"]
)


@given(
    st.lists(st.tuples(st.lists(CONTENTS, max_size=3), st.booleans()), min_size=1, max_size=4),
    TAMPERINGS,
    st.integers(0, 3),
    st.booleans(),
    st.none() | st.integers(0, 2),
)
@settings(max_examples=400)
def test_a_list_is_proved_alike_at_once_and_value_by_value(
    given_: list[tuple[list[str], bool]],
    tampering: str,
    which: int,
    spaced: bool,
    told: int | None,
) -> None:
    """Messages framed and not, tampered with or not, a text of ours before some of them: both ways
    clear the same bodies, and what is remembered of them is the same."""
    came: dict[str, object] = {"model": "m" * LEAST, "messages": [result(*t) for t, _ in given_]}
    rows: dict[int, FrameRow] = {}
    texts: dict[int, str] = {}
    leaves = []
    for contents, marked in given_:
        words = []
        for text in contents:
            if marked:
                number = len(rows)
                rows[number] = replace(ROW, nonce=f"{number:032x}", intro=not words)
                texts[number] = text
            words.append(inside(text, rows[number]) if marked else text)
        leaves.append(result(*words))
    sent = came | {"messages": leaves}
    digests = screened(dump(came) if not spaced else json.dumps(came).encode()).digests
    which %= len(leaves)
    match tampering:
        case "text":
            leaves[which]["role"] = "system"
        case "bare":
            leaves[which] = result(*given_[which][0])
        case "order":
            leaves.reverse()
        case "missing":
            del leaves[which]
        case "twice":
            leaves.append(leaves[which])
        case "other":
            texts = {number: f"{text}." for number, text in texts.items()}
        case "screen":
            digests -= {own.digest(b"message\0", dump(result(*given_[which][0])))}
        case "row":
            rows.pop(max(rows, default=0), None)
        case "member":
            sent["model"] = "n"

    if told is not None:
        leaves.insert(told, {"role": "system", "content": OURS})

    def outcome() -> object:
        separators = (", ", ": ") if spaced else (",", ":")

        def raw(value: object) -> bytes:
            return json.dumps(value, separators=separators, ensure_ascii=False).encode()

        seen = type("Every", (frozenset,), {"__contains__": lambda self, item: True})()
        try:
            cleared = prove(
                raw(sent),
                client_body=raw(came),
                screened=Screened(seen if spaced else digests),
                texts=texts,
                claimed=Claimed(rows),
                authored={OURS},
            )
        except ProofFailed:
            return "refused"
        begun = cleared.beginning
        if begun is None:
            return "nothing"
        sides = [(side.stop, side.count, side.keys) for side in (begun.came, begun.sent)]
        return sides, begun.frames, None if spaced else begun.digests

    at_once = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Frames, "meet_spelled", lambda self, came, sent: None)
        assert outcome() == at_once
    if not tampering and not KNOWING & {*texts.values()}:
        assert at_once != "refused"


@pytest.mark.parametrize("told", [None, 0, 1])
def test_most_of_a_list_is_seen_at_one_look(
    monkeypatch: pytest.MonkeyPatch, told: int | None
) -> None:
    """Of a hundred framed results none is looked at alone, but for the first behind a text of
    ours."""
    rows = {number: replace(ROW, nonce=f"{number:032x}") for number in range(100)}
    texts = dict.fromkeys(rows, "text")
    came = {"messages": [result("none"), *(result("text") for _ in rows)]}
    leaves = [result("none"), *(result(inside("text", row)) for row in rows.values())]
    if told is not None:
        leaves.insert(told, {"role": "system", "content": OURS})
    looks: list[bytes] = []
    look = proof_frames.framed

    def looking(came: bytes, *given: Any) -> Any:
        looks.append(came)
        return look(came, *given)

    monkeypatch.setattr(proof_frames, "framed", looking)
    assert prove(
        dump({"messages": leaves}),
        client_body=dump(came),
        screened=screened(dump(came)),
        texts=texts,
        claimed=Claimed(rows),
        authored={OURS},
    )
    assert len(looks) == (1 if told is None else 4)
