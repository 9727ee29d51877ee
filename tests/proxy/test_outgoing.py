"""From a body to what may leave: deciding again where somebody else was first."""

import json
from collections.abc import Awaitable, Callable, Iterable

import pytest

from policies.authored import POLICY_TEXT
from policies.decision import Leg
from policies.settings import Envelope, Policies, ToolRule
from proxy.clean import CleanMarks
from proxy.demo.evidence import framed, results
from proxy.dialects import ALL
from proxy.errors import Refused
from proxy.ledger import Ledger
from proxy.outgoing import Outgoing, Request, Workshop, open_body
from proxy.recollection import TRIES
from proxy.secrets_dir import SecretsDir
from proxy.state.base import Claim, NoteClaim, Rows
from proxy.state.memory import MemoryStore
from tests.scenes.bodies import BODIES

BODY = json.dumps(BODIES["openai_chat"]("fine")).encode()
TRUSTING = Policies(Envelope(tools=(ToolRule("*", "operator"),)))
KEY = bytes(32)


class Raced(MemoryStore):
    """Lets somebody else write, as often as told, just before a claim is written."""

    def __init__(self) -> None:
        super().__init__()
        self.others: list[Callable[[], Awaitable[object]]] = []
        self.claims = 0

    async def claim(self, frames: Iterable[Claim], notes: Iterable[NoteClaim] = ()) -> Rows:
        self.claims += 1
        frames, notes = [*frames], [*notes]
        if self.others:
            await self.others.pop(0)()
        return await super().claim(frames, notes)


async def prepared(store: MemoryStore, policies: Policies, leg: Leg = Leg.CLOUD) -> Outgoing:
    """As by a process of its own: nothing is remembered but what the store holds."""
    screens = SecretsDir("")
    await screens.start()
    workshop = Workshop(policies, Ledger(store, KEY), CleanMarks(), screens.current)
    dialect = ALL["openai_chat"]
    document, _ = open_body(dialect, BODY)
    return await workshop.prepare(Request(BODY, dialect, leg), document)


async def test_who_comes_second_goes_by_the_pins_of_the_first() -> None:
    """Two processes with different settings begin one conversation at the same moment: the bytes
    are those of the one that wrote first."""
    store = Raced()
    store.others = [lambda: prepared(store, TRUSTING)]
    second = await prepared(store, Policies())
    first = await prepared(store, Policies())
    assert second.body is not None
    assert results(second.body) == ["fine"]
    assert second.body == first.body
    assert store.claims == 2


async def test_the_frame_of_the_first_holds_for_both() -> None:
    """With equal settings nothing is decided again; the nonce of whoever wrote first counts."""
    store = Raced()
    store.others = [lambda: prepared(store, Policies())]
    second = await prepared(store, Policies())
    first = await prepared(store, Policies())
    assert second.body == first.body
    assert second.body is not None
    assert framed(results(second.body)[0]) is not None
    assert POLICY_TEXT in second.body.decode()


async def test_a_race_that_never_ends_is_refused() -> None:
    """A store that answers every claim with somebody else's note is no store to rely on."""

    class Contrary(MemoryStore):
        tries = 0

        async def claim(self, frames: Iterable[Claim], notes: Iterable[NoteClaim] = ()) -> Rows:
            self.tries += 1
            return Rows(dict(frames), {digest: f"not {text}" for digest, text in notes})

        async def read(self, *given: object, **how: object) -> Rows:  # type: ignore[override]
            return Rows()

    store = Contrary()
    with pytest.raises(Refused, match="state-unavailable"):
        await prepared(store, Policies())
    assert 0 < store.tries <= TRIES


@pytest.mark.parametrize("leg", list(Leg))
async def test_a_conversation_that_a_newer_version_began_is_refused(leg: Leg) -> None:
    """Its texts and tables are unknown here, and other bytes would not do."""

    class Newer(MemoryStore):
        async def claim(self, frames: Iterable[Claim], notes: Iterable[NoteClaim] = ()) -> Rows:
            newer = [(d, text.replace('"policy":"1"', '"policy":"99"')) for d, text in notes]
            return await super().claim(frames, newer)

    made = await prepared(Newer(), Policies(), leg)
    assert made.decision.refusal is not None
    assert made.decision.refusal.code == "framing-failed"
    assert made.body is None
