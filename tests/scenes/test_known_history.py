"""A history that a node knows: what is done again for it, and which session it counts to."""

import json
from typing import Any

import pytest

from policies import proof_frames
from proxy.dialects import ALL, framing
from proxy.dialects.facts import FactStore
from tests.scenes.staging import Stage, staged

CLAUDE = "/v1/messages"


def turn(number: int) -> list[dict[str, Any]]:
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"n": number}}
    result = {
        "type": "tool_result",
        "tool_use_id": call["id"],
        "content": f"file {number} " + "word " * 240,
    }
    return [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]


def body(turns: int, asked: str = "Read them all.") -> dict[str, Any]:
    messages = [{"role": "user", "content": asked}]
    for number in range(turns):
        messages += turn(number)
    return {"model": "m", "max_tokens": 9, "messages": messages}


def sent(stage: Stage) -> list[Any]:
    return list(json.loads(stage.upstream.requests[-1].body)["messages"])


async def test_a_known_history_is_not_opened_framed_or_proved_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With every turn the same is done, however long the history has become; and what leaves for
    known messages is what left before."""
    store = FactStore()
    monkeypatch.setattr(ALL["anthropic_messages"], "store", store)
    framed: list[str] = []
    read: list[bytes] = []
    wrap, spelled = framing.wrap_untrusted, proof_frames.framed

    def wrapping(label: str, text: str, **how: Any) -> str:
        framed.append(text)
        return wrap(label, text, **how)

    def reading(came: bytes, *given: Any) -> Any:
        read.append(came)
        return spelled(came, *given)

    monkeypatch.setattr(framing, "wrap_untrusted", wrapping)
    monkeypatch.setattr(proof_frames, "framed", reading)
    before: list[Any] = []
    async with staged() as stage:
        for number in range(1, 6):
            opened = store.opened
            framed.clear()
            read.clear()
            assert (await stage.post(CLAUDE, body(number))).status == 200
            now = sent(stage)
            assert now[: len(before)] == before
            before = now
            if number > 1:
                assert store.opened == opened + 2
                assert len(framed) == 1
                # The new result, and the one that was the end of what is known.
                assert sum(raw.count(b'"file ') for raw in read) == 2


async def test_a_session_without_a_header_is_told_by_its_conversation() -> None:
    """Turns of one conversation carry one label in the log, another conversation another; a header
    beats both, and a new one is a new session."""
    async with staged() as stage:
        for asked, headers in (
            (body(1), {}),
            (body(2), {"authorization": "Bearer renewed"}),
            (body(1, "Something else."), {}),
            (body(3), {"x-claude-code-session-id": "s-1"}),
            (body(1, "Something else."), {"x-claude-code-session-id": "s-1"}),
        ):
            await stage.post(CLAUDE, asked, headers)
        labels = [line["session"] for line in stage.events("request")]
    assert labels[0] == labels[1] != labels[2]
    assert labels[3] == labels[4]
    assert len(set(labels)) == 3
