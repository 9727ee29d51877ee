"""Which answers are listened to and searched, and which go on as they are."""

from collections.abc import AsyncIterator

import pytest
from msgspec import structs

from policies.conversation import Conversation
from policies.settings import Answers, Policies
from proxy.answer import Answer
from proxy.copies import Observer
from proxy.dialects import ALL
from proxy.filtering import Filter
from proxy.journal import Line
from proxy.lazyjson import read
from proxy.owner import Case, Owner
from proxy.state.memory import MemoryStore
from proxy.watched import watched
from proxy.witness import Witness

TALK = Conversation("openai_chat", "m", False, (), (), 0, (), (), ())
DROPPING = Policies(answers=Answers(True))


class Reading:
    """An observer that an answer has already."""

    prompt = True

    def chunk(self, data: bytes) -> None: ...

    def end(self) -> None: ...


async def nothing() -> AsyncIterator[bytes]:
    return
    yield


def answer(status: int = 200) -> Answer:
    mine: Observer = Reading()
    return Answer(status, (), nothing(), observers=(mine,), filters=(Filter,))  # type: ignore[type-abstract]


def handed_on(given: Answer, talk: Conversation | None, policies: Policies) -> Answer:
    store = MemoryStore()
    case = Case(Line.begin("req", lambda: 0.0), talk)
    document, dialect = read(b'{"messages":[]}'), ALL["openai_chat"]
    owner = Owner(store, store.key)
    return watched(
        given, owner=owner, case=case, policies=policies, document=document, dialect=dialect
    )


async def test_what_an_answer_has_stays_before_what_it_gets() -> None:
    """Its own observers and filters, as home gives them; then ours."""
    given = answer()
    got = handed_on(given, TALK, DROPPING)
    assert got.observers[:1] == given.observers
    assert [type(each) for each in got.observers[1:]] == [Witness]
    assert got.filters[:1] == given.filters
    assert len(got.filters) == 2
    assert handed_on(given, TALK, Policies()).filters == given.filters


@pytest.mark.parametrize(
    ("given", "talk"),
    [(answer(), None), (answer(400), TALK), (structs.replace(answer(), status=529), TALK)],
)
async def test_what_is_no_answer_of_a_model_goes_on_as_it_is(
    given: Answer, talk: Conversation | None
) -> None:
    """An error has no calls, and of a body that nobody has read nothing is known."""
    assert handed_on(given, talk, DROPPING) is given


async def test_where_tools_may_be_declared_elsewhere_none_is_taken_out() -> None:
    """It is listened to all the same."""
    got = handed_on(answer(), structs.replace(TALK, held=("conversation",)), DROPPING)
    assert (len(got.observers), len(got.filters)) == (2, 1)
