"""Golden files: what each dialect makes of a body when everything that may be framed is framed.

`<dialect>/<case>.json` is what a client sends, `<case>.framed.json` what the upstream gets, byte
for byte. After a change that is meant, `pytest tests/wire --accept` writes them; read the diff.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from policies.authored import AUTHORED, POLICY_TEXT
from policies.conversation import Conversation
from policies.decision import Claimed, Decision, Frame, FrameRow, Leg, Screened
from policies.envelope import field_name, neutralise
from policies.past import texts_of
from policies.prove import prove
from proxy.dialects import ALL
from proxy.lazyjson import read

HERE = Path(__file__).parent
CASES = sorted(p for p in HERE.glob("*/*.json") if not p.name.endswith(".framed.json"))


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def frames(conversation: Conversation) -> Iterator[Frame]:
    """Every unit, one nonce per message, the intro on the first unit of each."""
    seen: set[int] = set()
    for number, unit in enumerate(conversation.units):
        row = FrameRow(f"{unit.message:032x}", field_name(unit.tool), unit.message not in seen)
        seen.add(unit.message)
        yield Frame(number, row, known=False)


def rendered(dialect: str, body: bytes) -> tuple[bytes, Conversation, Claimed]:
    document = read(body)
    conversation = ALL[dialect].view(document)
    decision = Decision(Leg.CLOUD, tuple(frames(conversation)), policy_text=POLICY_TEXT)
    claimed = Claimed({frame.unit: frame.row for frame in decision.frames})
    return ALL[dialect].render(document, conversation, decision, claimed), conversation, claimed


@pytest.mark.parametrize("path", CASES, ids=name_of)
def test_a_body_is_rewritten_as_accepted(path: Path, request: pytest.FixtureRequest) -> None:
    """Frames in every place marked "yes", the policy text in its place, all else untouched."""
    sent, _, _ = rendered(path.parent.name, path.read_bytes())
    golden = path.with_suffix(".framed.json")
    if request.config.getoption("--accept"):
        golden.write_bytes(sent)
    assert sent == golden.read_bytes()


@pytest.mark.parametrize("path", CASES, ids=name_of)
def test_the_proof_accounts_for_what_was_rewritten(path: Path) -> None:
    """The independent reader finds nothing but what came, frames and our text."""
    body = path.read_bytes()
    sent, conversation, claimed = rendered(path.parent.name, body)
    screened = Screened(frozenset(piece.digest for piece in conversation.pieces))
    cleared = prove(
        sent,
        client_body=body,
        screened=screened,
        texts=texts_of(conversation),
        claimed=claimed,
        authored=frozenset(AUTHORED.values()),
    )
    assert cleared.body == sent


@pytest.mark.parametrize("path", CASES, ids=name_of)
def test_a_framed_body_reads_like_the_one_before(path: Path) -> None:
    """Messages (one of ours aside), roles, calls, answers and the order of units are unchanged."""
    sent, before, _ = rendered(path.parent.name, path.read_bytes())
    after = ALL[path.parent.name].view(read(sent))
    kept = [m for m in after.messages if m.index != _placed(before, after)]
    assert [(m.role, m.calls, m.answers, m.sealed) for m in kept] == [
        (m.role, m.calls, m.answers, m.sealed) for m in before.messages
    ]
    assert [(u.tool, u.call, u.part, u.inner) for u in after.units] == [
        (u.tool, u.call, u.part, u.inner) for u in before.units
    ]
    pairs = zip(before.units, after.units, strict=True)
    assert all(neutralise(old.text) in new.text for old, new in pairs)


@pytest.mark.parametrize("path", [p for p in CASES if p.stem == "untouched"], ids=name_of)
def test_places_that_may_not_be_rewritten_are_not(path: Path) -> None:
    """Every message and item of such a case stands in what is sent, byte for byte and in order;
    what is new is our text, once."""
    body = path.read_bytes()
    sent, before, _ = rendered(path.parent.name, body)
    assert (before.units, before.unknown) == ((), ())
    at = 0
    for message in before.messages:
        node = read(body).root
        for step in message.address:
            below = node.child(step)
            assert below is not None
            node = below
        at = sent.index(node.raw, at) + len(node.raw)
    assert sent.count(POLICY_TEXT[:40].encode()) == 1
    assert len(sent) < len(body) + len(POLICY_TEXT.encode()) + 200


def _placed(before: Conversation, after: Conversation) -> int:
    """Index of the message that was placed, -1 if there is none."""
    if len(before.messages) == len(after.messages):
        return -1
    digests = {message.digest for message in before.messages}
    return next(m.index for m in after.messages if m.digest not in digests and not m.answers)


def test_there_are_cases_for_every_dialect() -> None:
    """No dialect with messages is without golden files, and none is an orphan."""
    assert {path.parent.name for path in CASES} == {
        name for name in ALL if not name.startswith("plain_text")
    }
    assert {path.parent.name for path in CASES if path.stem == "untouched"} == {
        path.parent.name for path in CASES
    }
    assert len(CASES) == len(list(HERE.glob("*/*.framed.json")))
