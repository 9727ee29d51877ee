"""Errors raise the typed exception of each real SDK, once, with our words in it."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable

import anthropic
import ollama
import openai
import pytest
from openai.types.responses import ResponseFailedEvent

from policies.notices import NOTICES
from proxy.demo.upstream import Recorded, Reply, ScriptedUpstream
from proxy.dialects import ALL

CODE = "egress-blocked"
WORDS = "[egress-blocked] Kept from the cloud: a „secret“."
USER = [{"role": "user", "content": "u"}]
Ask = Callable[[str, bool], Awaitable[object]]


async def _drain(answer: object, stream: bool) -> list[object]:
    return [event async for event in answer] if stream else [answer]  # type: ignore[attr-defined]


async def ask_anthropic(url: str, stream: bool) -> list[object]:
    async with anthropic.AsyncAnthropic(base_url=url, api_key="k") as client:
        answer = await client.messages.create(model="m", max_tokens=9, messages=USER, stream=stream)
        return await _drain(answer, stream)


async def ask_chat(url: str, stream: bool) -> list[object]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k") as client:
        answer = await client.chat.completions.create(model="m", messages=USER, stream=stream)
        return await _drain(answer, stream)


async def ask_responses(url: str, stream: bool) -> list[object]:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="k") as client:
        answer = await client.responses.create(model="m", input="u", stream=stream)
        return await _drain(answer, stream)


async def ask_ollama(url: str, stream: bool) -> list[object]:
    client = ollama.AsyncClient(host=url)
    try:
        return await _drain(await client.chat("m", messages=USER, stream=stream), stream)
    finally:
        await client._client.aclose()


ASK: dict[str, Ask] = {
    "anthropic_messages": ask_anthropic,
    "openai_chat": ask_chat,
    "openai_responses": ask_responses,
    "ollama_chat": ask_ollama,
}
STREAM = {
    "anthropic_messages": b'event: message_start\ndata: {"type":"message_start","message":{"id":'
    b'"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,'
    b'"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}\n\n',
    "openai_chat": b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n',
    "openai_responses": b'event: response.output_text.delta\ndata: {"type":'
    b'"response.output_text.delta","sequence_number":1,"delta":"a","item_id":"i",'
    b'"output_index":0,"content_index":0,"logprobs":[]}\n\n',
    "ollama_chat": b'{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":'
    b'"assistant","content":"a"},"done":false}\n',
}


@pytest.fixture
async def up() -> AsyncIterator[ScriptedUpstream]:
    async with ScriptedUpstream(lambda asked: Reply()) as upstream:
        yield upstream


def failing(dialect: str, status: int) -> Callable[[Recorded], Reply]:
    headers, body = ALL[dialect].error(status, CODE, WORDS, "req_1")
    sent = (*headers.items(), ("x-should-retry", "false"))
    return lambda asked: Reply(status, sent, (body,))


CLASSES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    404: "NotFoundError",
    429: "RateLimitError",
    503: "InternalServerError",
}


@pytest.mark.parametrize("dialect", ASK)
@pytest.mark.parametrize("status", [400, 401, 404, 413, 426, 429, 503, 504])
async def test_a_refusal_raises_the_typed_exception_once(
    up: ScriptedUpstream, dialect: str, status: int
) -> None:
    """One request, one exception of the class of the status, our words in what a user reads."""
    up.script = failing(dialect, status)
    errors = (anthropic.APIStatusError, openai.APIStatusError, ollama.ResponseError)
    with pytest.raises(errors) as raised:
        await ASK[dialect](up.url, False)
    assert WORDS in str(raised.value)
    assert raised.value.status_code == status
    assert len(up.requests) == 1
    if dialect != "ollama_chat" and status in CLASSES:
        assert CLASSES[status] in {kind.__name__ for kind in type(raised.value).__mro__}
        assert raised.value.request_id == "req_1"


@pytest.mark.parametrize("dialect", ASK)
@pytest.mark.parametrize("status", [400, 503, 504])
async def test_an_error_in_a_stream_raises(up: ScriptedUpstream, dialect: str, status: int) -> None:
    """After bytes are out, the SDK raises with our words and asks no second time."""
    kind = "application/x-ndjson" if dialect == "ollama_chat" else "text/event-stream"
    chunks = (STREAM[dialect], ALL[dialect].stream_error(status, CODE, WORDS))
    up.script = lambda asked: Reply(200, (("content-type", kind),), chunks)
    errors = (anthropic.APIError, openai.APIError, ollama.ResponseError)
    with pytest.raises(errors) as raised:
        await ASK[dialect](up.url, True)
    assert WORDS in str(raised.value)
    assert len(up.requests) == 1


@pytest.mark.parametrize("dialect", ["openai_chat", "openai_responses", "plain_text_openai"])
def test_openai_errors_carry_the_notice_code(dialect: str) -> None:
    """`error.code` is the notice code with underscores; the type follows the status."""
    for status, kind in [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (429, "rate_limit_error"),
        (503, "server_error"),
    ]:
        headers, body = ALL[dialect].error(status, CODE, WORDS, "req_1")
        assert json.loads(body) == {
            "error": {"message": WORDS, "type": kind, "param": None, "code": "egress_blocked"}
        }
        assert headers == {"content-type": "application/json", "x-request-id": "req_1"}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (426, "invalid_request_error"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (503, "api_error"),
        (504, "timeout_error"),
        (529, "overloaded_error"),
    ],
)
def test_anthropic_types_follow_the_status(status: int, kind: str) -> None:
    """The types of wire.md 3.1, in a stream too."""
    for dialect in ("anthropic_messages", "plain_text_anthropic"):
        headers, body = ALL[dialect].error(status, CODE, WORDS, "req_1")
        assert json.loads(body) == {
            "type": "error",
            "error": {"type": kind, "message": WORDS},
            "request_id": "req_1",
        }
        assert headers["request-id"] == "req_1"
        event, data, *rest = ALL[dialect].stream_error(status, CODE, WORDS).split(b"\n")
        assert (event, rest) == (b"event: error", [b"", b""])
        assert json.loads(data.removeprefix(b"data: "))["error"]["type"] == kind


def test_a_refusal_in_a_responses_stream_is_final_for_codex() -> None:
    """Behind the event that the SDKs raise on comes `response.failed` with `invalid_prompt`, valid
    for the SDK's own type; a failure that is worth another try ends without it."""
    events = ALL["openai_responses"].stream_error(400, CODE, WORDS).split(b"\n\n")
    failed = json.loads(events[1].partition(b"\ndata: ")[2])
    event = ResponseFailedEvent.model_validate(failed, strict=False)
    assert event.response.error is not None
    assert event.response.error.code == "invalid_prompt"
    assert event.response.error.message == WORDS
    assert b"response.failed" not in ALL["openai_responses"].stream_error(504, CODE, WORDS)


@pytest.mark.parametrize("dialect", sorted(ALL))
@pytest.mark.parametrize("notice", sorted(NOTICES))
def test_every_notice_can_be_said_in_every_dialect(dialect: str, notice: str) -> None:
    """Words stand in the body as they are, in one line of a stream."""
    words = f"[{notice}] line\nbreak"
    status = NOTICES[notice].status
    headers, body = ALL[dialect].error(status, notice, words, "r")
    assert headers["content-type"] == "application/json"
    assert words in json.dumps(json.loads(body)).replace("\\n", "\n")
    assert b"line\\nbreak" in ALL[dialect].stream_error(status, notice, words)
