"""Every refusal in every SDK: the SDK's own typed exception, once, without a retry."""

from collections.abc import AsyncIterator, Callable
from itertools import islice

import anthropic
import ollama
import openai
import pytest

from policies.notices import NOTICES, TOLD
from proxy.demo.agents import NAMES, Agent, Setup, opened
from proxy.demo.upstream import Recorded, Reply, ScriptedUpstream
from proxy.demo.vendors import vendor
from proxy.dialects import ALL
from proxy.errors import Refused
from proxy.refusals import in_stream, refusal

DIALECTS = dict(
    zip(
        NAMES, ("anthropic_messages", "openai_chat", "openai_responses", "ollama_chat"), strict=True
    )
)
REFUSALS = [
    code for code, notice in NOTICES.items() if notice.status != TOLD and code != "rate-hard"
]
CLASSES: dict[str, dict[int, type[Exception]]] = {
    "anthropic": {
        400: anthropic.BadRequestError,
        401: anthropic.AuthenticationError,
        404: anthropic.NotFoundError,
        413: anthropic.APIStatusError,
        426: anthropic.APIStatusError,
        500: anthropic.InternalServerError,
        503: anthropic.InternalServerError,
        504: anthropic.InternalServerError,
    },
    "openai": {
        400: openai.BadRequestError,
        401: openai.AuthenticationError,
        404: openai.NotFoundError,
        413: openai.APIStatusError,
        426: openai.APIStatusError,
        500: openai.InternalServerError,
        503: openai.InternalServerError,
        504: openai.InternalServerError,
    },
}


def expected(name: str, status: int) -> type[Exception]:
    """The SDK's class for a status; Ollama's has one for all."""
    if name == "ollama":
        return ollama.ResponseError
    return CLASSES[name.partition("-")[0]][status]


def is_told(name: str, error: Exception, code: str) -> None:
    """The exception carries status, words and code as its SDK shows them."""
    assert isinstance(error, expected(name, NOTICES[code].status)), type(error)
    assert f"[{code}]" in str(error)
    assert getattr(error, "status_code", None) == NOTICES[code].status
    if isinstance(error, openai.APIError):
        assert error.code == code.replace("-", "_")
    if isinstance(error, anthropic.APIStatusError):
        assert error.request_id == "req-1"


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
async def door() -> AsyncIterator[ScriptedUpstream]:
    """Stands where Transom's door is, and counts."""
    async with ScriptedUpstream(vendor) as upstream:
        yield upstream


async def caught(agent: Agent) -> Exception:
    """What the SDK raises for one question."""
    with pytest.raises(agent.failures) as raised:
        await agent.ask("How are you?")
    return raised.value


async def test_every_dressed_refusal_is_raised_once(
    door: ScriptedUpstream, name: str, stream: bool
) -> None:
    """Whatever the notice, one request reaches the door and the typed exception names the code."""
    setup = Setup(door.url, "demo:1b", stream, {})
    async with opened(name, setup) as agent:
        for number, code in enumerate(REFUSALS, 1):
            door.script = refusing(name, code)
            is_told(name, await caught(agent), code)
            assert len(door.requests) == number, code


def refusing(name: str, code: str) -> Callable[[Recorded], Reply]:
    dressed = refusal(Refused(code), ALL[DIALECTS[name]], "req-1")
    assert isinstance(dressed.body, bytes)
    reply = Reply(dressed.status, tuple(dressed.headers.items()), (dressed.body,))
    return lambda _: reply


async def test_a_refusal_in_a_stream_that_has_begun_is_raised_once(
    door: ScriptedUpstream, name: str
) -> None:
    """The in-stream error of each dialect is raised by its SDK, and nothing is asked again."""
    setup = Setup(door.url, "demo:1b", True, {})
    async with opened(name, setup) as agent:
        for number, code in enumerate(("upstream-timeout", "egress-blocked"), 1):
            door.script = breaking(name, code)
            error = await caught(agent)
            assert f"[{code}]" in str(error)
            assert len(door.requests) == number


def breaking(name: str, code: str) -> Callable[[Recorded], Reply]:
    def script(request: Recorded) -> Reply:
        reply = vendor(request)
        begun = islice(reply.chunks, 2)
        last = in_stream(Refused(code), ALL[DIALECTS[name]])
        return Reply(200, reply.headers, (*begun, last), reply.framing)

    return script
