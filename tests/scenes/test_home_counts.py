"""Counts of tokens that are answered at home: an estimate, never an error."""

from typing import Any

import pytest

from proxy.demo.files import nsec
from tests.scenes.hearth import at_home

SECRET = nsec()
PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}


def messages(*content: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = {"type": "text", "text": f"Keep {SECRET}."}
    return {"model": "m", "messages": [{"role": "user", "content": [said, *content]}], **more}


def responses(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = {"type": "message", "role": "user", "content": f"Keep {SECRET}."}
    return {"model": "m", "input": [said, *items], **more}


MESSAGES, RESPONSES = "/v1/messages/count_tokens", "/v1/responses/input_tokens"
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "a picture elsewhere": (
        MESSAGES,
        messages({"type": "image", "source": {"type": "url", "url": "http://127.0.0.1/a.png"}}),
    ),
    "a document": (MESSAGES, messages({"type": "document", "source": PDF})),
    "what nobody knows": (MESSAGES, messages({"type": "strange", "value": 1})),
    "more than fits": (MESSAGES, messages({"type": "text", "text": "word " * 100_000})),
    "a forced search": (
        MESSAGES,
        messages(tools=[SEARCH], tool_choice={"type": "tool", "name": "web_search"}),
    ),
    "a search alone": (
        RESPONSES,
        responses(tools=[{"type": "web_search"}], tool_choice={"type": "web_search"}),
    ),
    "a trigger": (RESPONSES, responses({"type": "compaction_trigger"})),
}


@pytest.mark.parametrize("prefer", ["cloud", "local"])
@pytest.mark.parametrize("what", ASKED)
async def test_whatever_is_counted_there_is_a_number(what: str, prefer: str) -> None:
    """Also of what a model at home could not be asked. Nobody is asked anything."""
    path, body = ASKED[what]
    async with at_home(prefer=prefer) as stage:
        answer = await stage.post(path, body)
        assert answer.status == 200
        assert 40 < answer.json()["input_tokens"] < (400_000 if what == "more than fits" else 1_000)
        assert (stage.upstream.accepted, stage.home.accepted) == (0, 0)
