"""The one way to the local server."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from policies.decision import Leg
from proxy.answer import Answer
from proxy.config import UpstreamSettings
from proxy.errors import Refused
from proxy.local.asking import Asked, ask

HOME = UpstreamSettings("home", Leg.LOCAL, "http://127.0.0.1:1", ("ollama",), "none", None, "m")
NONE = cast(Any, None)
ASKED = Asked(HOME, NONE, b"secret", NONE, "m", True, "/", (), "k", 1, "", 1, 2.5, NONE, NONE, NONE)


async def nothing() -> AsyncIterator[bytes]:
    return
    yield


class Outbound:
    """Takes note, and answers as it is told."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.sent: dict[str, Any] = {}

    async def send_local(self, upstream: UpstreamSettings, **sent: Any) -> Answer:
        self.sent = {"upstream": upstream, **sent}
        return self.answer


async def test_the_model_of_the_house_is_asked() -> None:
    """With a limit of its own on the first byte."""
    outbound = Outbound(Answer(200, (), nothing()))
    answer = await ask(cast(Any, outbound), ASKED, "/api/chat", (("a", "b"),), b"{}")
    assert answer is outbound.answer
    assert outbound.sent == {
        "upstream": HOME, "method": "POST", "path": "/api/chat", "query": "", "body": b"{}",
        "headers": (("a", "b"),), "model": "m", "first_byte": 2.5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("status", "coded"), [(201, False), (404, False), (500, False), (200, True)]
)
async def test_nothing_but_a_success_is_an_answer(status: int, coded: bool) -> None:
    """It is closed, and said what it was."""
    closed: list[bool] = []
    outbound = Outbound(
        Answer(status, (), nothing(), coded=coded, close=lambda: closed.append(True))
    )
    with pytest.raises(Refused) as caught:
        await ask(cast(Any, outbound), ASKED, "/", (), b"")
    assert caught.value.code == "home-unavailable"
    assert str(status) in caught.value.facts["reason"]
    assert closed == [True]


def test_what_is_asked_is_in_no_repr() -> None:
    """It holds what must not leave."""
    assert repr(ASKED) == "<Asked of home>"


async def chunks(*parts: bytes | float | Exception) -> AsyncIterator[bytes]:
    for part in parts:
        match part:
            case bytes():
                yield part
            case float():
                await asyncio.sleep(part)
            case _:
                raise part


OOM = "model requires more system memory"
BROKEN = Refused("home-unavailable", upstream="home", reason="it broke off")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ((f'{{"error": "{OOM} (9.1 GiB) than'.encode(), b' is available"}'), OOM),
        ((f'{{"error": {{"message": "{OOM}", "code": 500}}}}'.encode(),), OOM),
        ((f'{{"type": "error", "error": {{"message": "{OOM}"}}}}'.encode(),), OOM),
        ((f'{{"object": "error", "message": "{OOM}"}}'.encode(),), OOM),
        ((b'{"error": "cannot parse \'a key\'"}',), "cannot parse"),
        ((b'{"error": "model \'m\' not found"}',), ""),
        ((b'{"error": "', b"a" * 9_000, b'"}'), ""),
        ((b'{"error": "late"', 9.0, b"}"), ""),
        ((b'{"error": "half', BROKEN), ""),
        ((b'["error"]',), ""),
        ((b"[" * 4_000,), ""),
        ((b"<html>",), ""),
        ((), ""),
    ],
)
async def test_a_server_that_fails_says_why(
    said: tuple[Any, ...], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As far as it may be told and comes at once; it is closed behind it."""
    monkeypatch.setattr("proxy.local.asking.WORDS", 0.05)
    closed: list[bool] = []
    answer = Answer(500, (), chunks(*said), close=lambda: closed.append(True))
    with pytest.raises(Refused) as caught:
        await ask(cast(Any, Outbound(answer)), ASKED, "/", (), b"")
    reason = "it answered with status 500" + (f" and says {told}" if told else "")
    assert caught.value.facts == {"upstream": "home", "reason": reason}
    assert closed == [True]
