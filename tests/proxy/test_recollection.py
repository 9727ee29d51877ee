"""The two steps at the ledger, round the decision."""

import pytest
from msgspec import structs

from policies.conversation import Conversation, Message, Origin, Run, Strand
from policies.decision import Decision, Frame, FrameRow, Leg
from policies.pins import Pins
from policies.settings import Also, Envelope, Policies
from proxy.errors import Refused
from proxy.ledger import Ledger
from proxy.recollection import NOTHING, Recollection
from proxy.state.base import StateError
from proxy.state.memory import MemoryStore

KEY = bytes(range(32))
WORDS = (Strand(("messages", 0, "content"), "See <f>a file</f>."),)
TALK = Conversation(
    "d",
    "m",
    False,
    (Message(0, ("messages", 0), "user", Origin.OPERATOR, b""),),
    (Run(0, 1, False, True),),
    0,
    (),
    (),
    (),
    said=lambda index: (b"1",),
    words=lambda index: WORDS,
)
FILES = Policies(Envelope(also=(Also("lap*", "<f>", "</f>"),)))
ROW = FrameRow("a" * 32, "tool_result", intro=True)


class Broken(MemoryStore):
    async def read(self, *given: object, **how: object) -> object:  # type: ignore[override]
        raise StateError("reading")

    async def claim(self, *given: object) -> object:  # type: ignore[override]
        raise StateError("writing")


async def test_marked_spans_become_units_that_are_remembered() -> None:
    """They have rows like any unit; another client has no such spans."""
    ledger = Ledger(MemoryStore(), KEY)
    mine = Recollection(ledger, FILES, Leg.CLOUD, "laptop")
    seen = (await mine.recall(TALK)).seen
    assert [(unit.text, unit.span) for unit in seen.units] == [("a file", (7, 13))]
    await mine.claim(seen, Decision(Leg.CLOUD, (Frame(0, ROW, known=False),)))
    assert (await mine.recall(TALK)).remembered.rows == {0: ROW}
    other = Recollection(ledger, FILES, Leg.CLOUD, "phone")
    assert (await other.recall(TALK)).seen is TALK


async def test_spans_are_marked_as_they_were_when_the_conversation_began() -> None:
    """A rule that came or went with a reload concerns conversations that begin later."""
    ledger = Ledger(MemoryStore(), KEY)
    plain, files = (
        Recollection(ledger, policies, Leg.CLOUD, "laptop") for policies in (Policies(), FILES)
    )
    await files.claim(TALK, Decision(Leg.CLOUD, pins=Pins(FILES.envelope)))
    assert [unit.text for unit in (await plain.recall(TALK)).seen.units] == ["a file"]
    asked = (structs.replace(TALK.messages[0], digest=b"2"), *TALK.messages[1:])
    later = structs.replace(TALK, messages=asked, said=lambda index: (b"2",))
    await plain.claim(later, Decision(Leg.CLOUD, pins=Pins(Envelope())))
    assert (await files.recall(later)).seen.units == ()


async def test_what_has_no_messages_is_not_looked_up() -> None:
    """Embeddings and the like leave nothing to remember."""
    nothing = structs.replace(TALK, messages=(), runs=())
    ask = Recollection(Ledger(Broken(), KEY), FILES, Leg.CLOUD, "laptop")
    recalled = await ask.recall(nothing)
    assert (recalled.seen, recalled.remembered) == (nothing, NOTHING)


async def test_without_a_ledger_a_cloud_is_refused_and_home_goes_on() -> None:
    """DESIGN 3.10: frames that nobody remembers would change the next turn, which costs a cache."""
    ledger = Ledger(Broken(), KEY)
    decision = Decision(Leg.LOCAL, (Frame(0, ROW, known=False),))
    cloud, home = (Recollection(ledger, FILES, leg, "laptop") for leg in (Leg.CLOUD, Leg.LOCAL))
    with pytest.raises(Refused, match="state-unavailable"):
        await cloud.recall(TALK)
    recalled = await home.recall(TALK)
    seen, remembered = recalled.seen, recalled.remembered
    with pytest.raises(Refused, match="state-unavailable"):
        await cloud.claim(seen, decision)
    assert (len(seen.units), remembered) == (1, NOTHING)
    assert (await home.claim(seen, decision)).rows == {0: ROW}
