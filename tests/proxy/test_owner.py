"""The owner's side of a request: fail directions, and what a clean request costs the state."""

import io
import json
from collections.abc import Iterator

import pytest
from msgspec import structs

from policies.conversation import Conversation, Message, Origin
from policies.decision import Decision, Finding, Leg, Refusal
from policies.events import Event
from policies.settings import Limits, Policies
from proxy import logs
from proxy.answer import Answer
from proxy.config import Config
from proxy.config.kinds import Rate
from proxy.errors import Refused
from proxy.journal import Line
from proxy.owner import Case, Owner
from proxy.state.base import StateError
from proxy.state.book import Page, Taken, Written
from proxy.state.memory import MemoryStore

MESSAGES = (Message(0, ("messages", 0), "user", Origin.OPERATOR, b"0"),)
TALK = Conversation("anthropic_messages", "m", False, MESSAGES, (), 0, (), (), ())
CUT = Decision(Leg.CLOUD, events=(Event("truncated", 0, {"turns": "2"}),))


class Shaky(MemoryStore):
    down = False
    pages = 0
    takes = 0

    async def record(self, page: Page) -> Written:
        self.pages += 1
        if self.down:
            raise StateError("down")
        return await super().record(page)

    async def take(self, *given: object, **more: object) -> Taken:
        self.takes += 1
        if self.down:
            raise StateError("down")
        return await super().take(*given, **more)  # type: ignore[arg-type]


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    logs.set_up(stream, json=True)
    return stream


@pytest.fixture
def store() -> Shaky:
    return Shaky()


def case(leg: Leg = Leg.CLOUD, talk: Conversation | None = TALK) -> Case:
    line = Line.begin("req", lambda: 0.0)
    line.know(leg=leg.value, client="laptop", session="abcdefabcdef", endpoint="/v1/messages")
    return Case(line, talk)


async def test_what_is_cut_is_written_before_it_leaves(store: Shaky, log: io.StringIO) -> None:
    """Its row is there when the request may go on; a later round of the turn only counts."""
    owner = Owner(store, store.key)
    for _ in range(3):
        await owner.decided(case(), CUT, Policies())
    assert store.pages == 1
    (row,) = await store.audit()
    assert '"event": "truncated"' in row.value
    assert log.getvalue().count('"event":"truncated"') == 1


async def test_without_an_audit_nothing_goes_to_a_cloud(store: Shaky) -> None:
    """What was to leave is refused; home goes on, and what is refused already stays refused."""
    owner = Owner(store, store.key)
    store.down = True
    with pytest.raises(Refused, match="state-unavailable"):
        await owner.decided(case(), CUT, Policies())
    await owner.decided(case(Leg.LOCAL), structs.replace(CUT, leg=Leg.LOCAL), Policies())
    no = structs.replace(CUT, refusal=Refusal("egress-blocked"))
    await owner.decided(case(), no, Policies())
    found = (Finding("nsec", "messages[0]"),)
    with pytest.raises(Refused, match="state-unavailable"):
        await owner.decided(case(), Decision(Leg.CLOUD, observed=found), Policies())


async def test_a_refusal_stays_one_when_it_cannot_be_written(
    store: Shaky, log: io.StringIO
) -> None:
    """It is told as a problem, and written once the state is back."""
    owner = Owner(store, store.key)
    store.down = True
    no = Refused("egress-blocked", findings=(Finding("nsec", "messages[0]"),))
    assert await owner.refused(case(), no, 400) == 1
    assert '"problem":"audit-not-written"' in log.getvalue()
    assert await owner.refused(case(), no, 400) == 2
    store.down = False
    await owner.recorder.flush()
    assert [row.times for row in await store.audit()] == [2]
    assert dict(await store.counters()) == {"egress-blocked": 1}


async def test_refusals_at_the_door_wait_for_no_disk(store: Shaky) -> None:
    """Whoever knocks all day costs memory for one row."""
    owner = Owner(store, store.key)
    for _ in range(5):
        await owner.refused(Case(Line.begin("req", lambda: 0.0)), Refused("door-refused"), 400)
    assert store.pages == 0
    await owner.recorder.flush()
    (row,) = await store.audit()
    assert row.times == 5
    assert json.loads(row.value)["leg_asked"] == ""
    assert await store.notices() == ()


async def test_rates_fail_by_the_leg(store: Shaky) -> None:
    """The limiter is down: a cloud is refused, home is counted."""
    owner = Owner(store, store.key)
    store.down = True
    with pytest.raises(Refused, match="state-unavailable"):
        await owner.pace(case(), Config())
    await owner.pace(case(Leg.LOCAL), Config())
    store.down = False
    await owner.recorder.flush()
    assert dict(await store.counters()) == {"rate-unknown": 1}


async def test_what_has_no_session_or_asks_nothing_is_not_counted(store: Shaky) -> None:
    """A body that nobody reads, a session that nobody names, a probe without messages."""
    owner = Owner(store, store.key)
    nameless = case()
    nameless.line.fields.pop("session")
    for each in (nameless, case(talk=None), case(talk=structs.replace(TALK, messages=()))):
        await owner.pace(each, Config())
    assert store.takes == 0


async def test_limits_that_are_off_take_no_rates(store: Shaky) -> None:
    """Whoever switches them off asks for none of them."""
    owner = Owner(store, store.key)
    off = Config(policies=Policies(limits=Limits(enabled=False)))
    await owner.pace(case(), off)
    assert store.takes == 0


async def test_the_words_of_a_rate_are_plain(store: Shaky) -> None:
    """How many in which time, and when to come again."""
    owner = Owner(store, store.key)
    config = Config(requests=(Rate(1, 30.0), Rate(1, 30.0)))
    await owner.pace(case(), config)
    other = structs.replace(TALK, messages=(structs.replace(MESSAGES[0], digest=b"1"),))
    with pytest.raises(Refused) as refused:
        await owner.pace(case(talk=other), config)
    assert refused.value.facts == {"rate": "more than 1 in 30 seconds", "retry_after": "30"}


async def test_only_answers_of_a_model_are_listened_to(store: Shaky) -> None:
    """No errors, nothing in a coding, nothing whose request was not read."""
    owner = Owner(store, store.key)

    async def nothing() -> object:
        return
        yield

    answer = Answer(200, (), nothing())  # type: ignore[arg-type]
    assert len(owner.listen(case(), answer, None, ())) == 1
    assert owner.listen(case(), structs.replace(answer, status=400), None, ()) == ()
    assert owner.listen(case(), structs.replace(answer, coded=True), None, ()) == ()
    assert owner.listen(case(talk=None), answer, None, ()) == ()


async def test_an_answer_that_cannot_be_read_is_counted(store: Shaky) -> None:
    """Nothing is made of half of it."""
    owner = Owner(store, store.key)

    async def nothing() -> object:
        return
        yield

    (witness,) = owner.listen(case(), Answer(200, (), nothing()), None, ())  # type: ignore[arg-type]
    witness.chunk(b'{"tool_use": ')
    witness.end()
    await owner.recorder.flush()
    assert dict(await store.counters()) == {"answer-not-read": 1}
