"""Answers to the question how many tokens a request takes, as the SDKs read them."""

import pytest
from anthropic.types import MessageTokensCount
from openai.types.responses import InputTokenCountResponse

from proxy.local.counts import counted


def test_anthropics_count_is_read_by_its_sdk() -> None:
    """The one field that it demands."""
    headers, body = counted("anthropic_messages", 1234)
    assert headers == {"content-type": "application/json"}
    assert MessageTokensCount.model_validate_json(body, strict=True).input_tokens == 1234


def test_the_count_of_responses_is_read_by_its_sdk() -> None:
    """With the name of its kind."""
    _, body = counted("openai_responses", 1234)
    found = InputTokenCountResponse.model_validate_json(body, strict=True)
    assert (found.object, found.input_tokens) == ("response.input_tokens", 1234)


def test_other_dialects_have_no_such_question() -> None:
    """A mistake of ours, not of a caller."""
    with pytest.raises(ValueError, match="ollama_chat"):
        counted("ollama_chat", 1)
