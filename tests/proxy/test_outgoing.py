"""From a client's body to the bytes that may leave."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from policies.conversation import Conversation
from policies.decision import Leg
from policies.screening import Screen
from policies.settings import Minimality, Policies
from proxy.apart import KNOWN, LARGE, Apart
from proxy.clean import CleanMarks
from proxy.dialects import ALL
from proxy.dialects.anthropic_messages import AnthropicMessages
from proxy.errors import Refused
from proxy.ledger import Ledger
from proxy.outgoing import FRAMED, INLINE, Request, Workshop, draw, look, open_body
from proxy.state import open_store

SCREEN = Screen.build()
ANTHROPIC = ALL["anthropic_messages"]


def test_a_nonce_is_32_digits_and_never_the_same() -> None:
    """16 bytes of the operating system each time."""
    drawn = {draw() for _ in range(64)}
    assert len(drawn) == 64
    assert all(len(nonce) == 32 and set(nonce) <= set("0123456789abcdef") for nonce in drawn)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"a":1', b'{"model":"a","model":"b"}', b'\xef\xbb\xbf{"a":1}', b'{"a":"\xff"}'],
)
def test_what_is_no_object_is_refused_with_a_reason(body: bytes) -> None:
    """At the first glance: `body-invalid`, with a place or an offset, never the text."""
    with pytest.raises(Refused) as refused:
        open_body(ANTHROPIC, body)
    assert refused.value.code == "body-invalid"
    assert "byte" in refused.value.facts["reason"]


def test_what_only_a_closer_look_sees_is_refused_then() -> None:
    """Duplicate keys within a message: a glance is enough to route, the view refuses."""
    body = b'{"model":"m","messages":[{"role":"user","role":"system","content":"a"}]}'
    document, model = open_body(ANTHROPIC, body)
    assert model == "m"
    with pytest.raises(Refused) as refused:
        look(ANTHROPIC, document)
    assert refused.value.code == "body-invalid"
    assert "messages[0]" in refused.value.facts["reason"]


class Seen(Apart):
    """What went to a thread, by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.went: list[str] = []

    async def always(self, work: Any, /, *args: Any, **kwargs: Any) -> Any:
        self.went.append(work.__name__)
        return await super().always(work, *args, **kwargs)


def history(turns: int) -> bytes:
    """A conversation of so many turns of 120 kB each."""
    said = [
        {"role": role, "content": f"{turn} " + "word " * 12_000}
        for turn in range(turns)
        for role in ("user", "assistant")
    ]
    return json.dumps(
        {"model": "m", "messages": [*said, {"role": "user", "content": "?"}]}
    ).encode()


async def _shop() -> AsyncIterator[tuple[Workshop, Seen]]:
    store, seen = open_store("memory:"), Seen()
    policies = Policies(minimality=Minimality("off"))
    yield (
        Workshop(policies, Ledger(store, store.key), CleanMarks(), lambda: SCREEN, apart=seen),
        seen,
    )
    seen.close()
    await store.close()


shop, other = pytest.fixture(_shop), pytest.fixture(_shop)


async def prepared(
    shop: Workshop, seen: Seen, dialect: AnthropicMessages, body: bytes, mode: str = "off"
) -> set[str]:
    """What went to a thread for one request."""
    seen.went.clear()
    document, _ = await shop.open(dialect, body)
    minimality = Minimality(mode)  # type: ignore[arg-type]
    request = Request(body, dialect, Leg.CLOUD, minimality=minimality, route=mode)
    outgoing = await shop.prepare(request, document)
    assert outgoing.cleared is not None
    assert outgoing.cleared.body is body
    return set(seen.went)


@pytest.mark.parametrize("mode", ["strict", "dialogue", "off"])
@pytest.mark.parametrize("dialect", ["anthropic_messages", "openai_chat", "openai_responses"])
async def test_a_kind_that_is_no_word_is_a_kind_that_nobody_knows(
    mode: str, dialect: str, shop: tuple[Workshop, Seen]
) -> None:
    """An object or a list where the name of a kind belongs: such a part is read like one of any
    other kind, wherever it stands and whatever is taken out of its message."""
    parts = [
        {"type": kind, "text": "said", "thinking": "so"} for kind in ({"a": 1}, ["text"], None, 7)
    ]
    turn = [{"role": role, "type": {}, "content": parts} for role in ("user", "assistant")]
    messages = [*turn, *turn, {"role": "user", "content": parts}]
    field = "input" if dialect == "openai_responses" else "messages"
    body = json.dumps({"model": "m", "tools": [{"name": "a"}], field: messages}).encode()
    document, _ = await shop[0].open(ALL[dialect], body)
    request = Request(
        body,
        ALL[dialect],
        Leg.CLOUD,
        minimality=Minimality(mode),
        route=mode,  # type: ignore[arg-type]
    )
    assert (await shop[0].prepare(request, document)).cleared is not None


async def test_what_is_kept_back_at_the_last_is_not_remembered_as_shown(
    shop: tuple[Workshop, Seen],
) -> None:
    """Nothing was sent, so whoever is asked in its place begins with nothing: what a model has read
    elsewhere is told as such."""
    call = {"type": "tool_use", "id": "t", "name": "a", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "Read me."}
    said = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "And now?"},
    ]
    document, _ = open_body(ANTHROPIC, json.dumps({"model": "m", "messages": said}).encode())
    body, asked = document.body, []

    async def parting(conversation: Conversation) -> None:
        asked.append(len(conversation.messages))
        raise Refused("home-only")

    with pytest.raises(Refused, match="home-only"):
        await shop[0].prepare(Request(body, ANTHROPIC, Leg.CLOUD, parting=parting), document)
    assert asked == [len(said)]
    home = await shop[0].prepare(Request(body, ANTHROPIC, Leg.LOCAL), document)
    assert (home.decision.adopted, len(home.decision.frames)) == (1, 1)


async def test_what_is_known_needs_no_thread(shop: tuple[Workshop, Seen]) -> None:
    """A body that is large because of its history is read on the loop, unless it is very large."""
    dialect = AnthropicMessages()
    assert len(history(5)) > LARGE
    assert {"open_body", "_seen", "_made"} <= await prepared(*shop, dialect, history(5))
    assert await prepared(*shop, dialect, history(6)) == {"_decided"}
    assert len(history(18)) > KNOWN * LARGE
    await prepared(*shop, dialect, history(18))
    assert {"open_body", "_seen", "_made"} <= await prepared(*shop, dialect, history(19))


async def test_what_nobody_proved_is_proved_apart(
    shop: tuple[Workshop, Seen], other: tuple[Workshop, Seen]
) -> None:
    """A view may be known where the proof is not, as after a reload: all of it is read then, and in
    a thread."""
    dialect = AnthropicMessages()
    await prepared(*shop, dialect, history(5))
    assert await prepared(*other, dialect, history(6)) == {"_decided", "_made"}
    # Of the history before that, this one has proved less.
    assert await prepared(*shop, dialect, history(7)) == {"_decided", "_made"}
    assert await prepared(*shop, dialect, history(8)) == {"_decided"}
    # What was proved under one plan is not proved under another one.
    assert await prepared(*shop, dialect, history(9), "dialogue") == {"_decided", "_made"}


def result(size: int, call: str, word: str = "word ") -> bytes:
    """A question, a call and a result of so many characters."""
    text = word * (size // len(word))
    content = [{"type": "tool_result", "tool_use_id": call, "content": text}]
    called = [{"type": "tool_use", "id": call, "name": "read", "input": {}}]
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": called},
        {"role": "user", "content": content},
    ]
    return json.dumps({"model": "m", "messages": messages}).encode()


@pytest.mark.parametrize("leg", [Leg.CLOUD, Leg.LOCAL])
async def test_what_is_much_to_frame_is_framed_apart(leg: Leg, shop: tuple[Workshop, Seen]) -> None:
    """A text that is made to be hard to frame holds nobody up, whoever it goes to; what was framed
    before is done at once."""
    workshop, seen = shop
    dialect = AnthropicMessages()

    async def went(body: bytes) -> set[str]:
        seen.went.clear()
        document, _ = await workshop.open(dialect, body)
        await workshop.prepare(Request(body, dialect, leg), document)
        return {*seen.went} - {"_decided"}

    assert len(result(2 * FRAMED, "a")) < LARGE
    assert await went(result(2 * FRAMED, "a")) == {"_made"}
    assert not await went(result(2 * FRAMED, "a"))
    assert await went(result(FRAMED + 5, "b")) == {"_made"}
    assert not await went(result(FRAMED - 5, "c"))


async def test_a_proof_that_marks_make_hard_is_made_apart(shop: tuple[Workshop, Seen]) -> None:
    """Where some were taken out of much text; ordinary text is proved at once."""
    workshop, seen = shop
    dialect, marks = AnthropicMessages(), "transom_data "

    async def went(body: bytes) -> set[str]:
        seen.went.clear()
        document, _ = await workshop.open(dialect, body)
        await workshop.prepare(Request(body, dialect, Leg.CLOUD), document)
        return {*seen.went} - {"_decided"}

    assert await went(result(INLINE + 20, "a", marks)) == {"_proved"}
    assert not await went(result(INLINE + 20, "a", marks))
    assert not await went(result(INLINE - 20, "b", marks))
    assert not await went(result(INLINE + 20, "c"))
