"""The answer in place of a model's: complete, in the caller's dialect, in the owner's words."""

import json

import pytest

from policies.decision import Final
from proxy.dialects import ALL
from proxy.ending import ended
from proxy.lazyjson import read
from tests.scenes import bodies


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", bodies.PATHS)
async def test_an_ended_talk_is_answered_in_its_dialect(dialect: str, stream: bool) -> None:
    """Status 200, the model's name that was asked for, an id of this request, the reason."""
    body = {**bodies.BODIES[dialect]("fine"), "stream": stream}
    document = read(json.dumps(body).encode())
    conversation = ALL[dialect].view(document)
    final = Final("turn-limit", {"what": "5 rounds in one turn"})
    answer = ended(final, document, conversation, "req_0123456789ab")
    assert (answer.status, bool(answer.stream)) == (200, stream)
    said = b"".join([chunk async for chunk in answer.chunks]).decode()
    assert bodies.MODEL in said
    assert "5 rounds in one turn" in said
    if dialect != "ollama_chat":
        assert "0123456789ab" in said
