"""Whatever JSON a caller sends: a talk or a refusal, never a crash."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.errors import Refused
from proxy.local.asked import talk
from proxy.local.asked.shapes import joined
from proxy.local.ollama import Model, chat
from proxy.local.talk import Talk
from tests.wire.filling import dialect_of, filled, names

DIALECTS = ("anthropic_messages", "openai_chat", "openai_responses", "ollama_chat")

VOCABULARY = """
    type role content text messages input tools tool_choice system instructions name id call_id
    tool_use tool_use_id tool_result function arguments custom image source base64 media_type data
    function_call function_call_output output user assistant tool developer message input_text
    output_text image_url url input_schema parameters properties namespace thinking signature
    reasoning options format schema json_schema output_config stop any auto model stream
    temperature is_error tool_calls max_tokens $ref anyOf allOf const enum #
"""
WORDS = st.sampled_from(VOCABULARY.split())
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=30,
)
BODY = st.dictionaries(WORDS, JSON, max_size=8)


def whole(dialect: str, body: bytes) -> Talk | None:
    """The talk, which a local server could be sent."""
    try:
        found = talk(dialect, body)
        asked = chat(found, model="m", told=Model(frozenset({"tools"}), 0), ceiling=10**6)
    except Refused:
        return None
    json.loads(asked)
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
@given(BODY)
@settings(max_examples=150)
def test_any_object_is_a_talk_or_a_refusal(dialect: str, body: dict[str, Any]) -> None:
    """Wrong shapes are left out; whatever is there can be written down for a server."""
    whole(dialect, json.dumps(body).encode())


@given(st.sampled_from(names()), st.data())
@settings(max_examples=150)
def test_a_captured_request_with_something_else_somewhere(name: str, data: st.DataObject) -> None:
    """One value of a real body is exchanged for any other."""
    body = json.loads(filled(name))
    at: Any = body
    while True:
        steps = list(at) if isinstance(at, dict) else list(range(len(at)))
        step = data.draw(st.sampled_from(steps))
        inner = at[step]
        if not isinstance(inner, (dict, list)) or not inner or data.draw(st.integers(0, 3)) == 0:
            at[step] = data.draw(JSON)
            break
        at = inner
    whole(dialect_of(name), json.dumps(body).encode())


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"7", b'{"a":1,"a":2}', b"\xff{}", b"{", b'{"a":' + b"[" * 200]
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_no_object_is_refused(dialect: str, body: bytes) -> None:
    """With the place, never a crash."""
    with pytest.raises(Refused, match="body-invalid"):
        talk(dialect, body)


def test_keys_that_stand_twice_are_refused_however_deep() -> None:
    """Two readers would see two requests."""
    body = b'{"messages":[{"role":"user","content":"a","content":"b"}]}'
    with pytest.raises(Refused, match="body-invalid"):
        talk("openai_chat", body)


def test_half_a_surrogate_pair_goes_home() -> None:
    """As an escape, as it came (DESIGN 3.1)."""
    body = b'{"model":"m","messages":[{"role":"user","content":"\\ud83d."}]}'
    found = whole("openai_chat", body)
    assert found is not None
    assert found.messages[0].text == "\ud83d."


@given(st.lists(st.text(max_size=20), max_size=8), st.sampled_from(DIALECTS))
@settings(max_examples=50)
def test_what_is_said_arrives(texts: list[str], dialect: str) -> None:
    """Whatever the characters, in order."""
    messages = [{"role": "user", "content": text} for text in texts]
    key = "input" if dialect == "openai_responses" else "messages"
    found = talk(dialect, json.dumps({"model": "m", key: messages}).encode())
    assert joined(*(said.text for said in found.messages)) == joined(*texts)
