"""Each vendor's SDK once through a node, pointed at it by an explicit base URL.

Owns one question per SDK and what came of it. It must not know where the node sends it. Importing
this loads no SDK.
"""

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Final

from policies.notices import one_line
from proxy.doctor import Check

QUESTION: Final = "Answer with the word ready."
SECONDS: Final = 120.0
"""A local model may have to be loaded first."""

_TOKENS: Final = 16
_CREDENTIAL: Final = "not-a-key"

Ask = Callable[[str, str], Awaitable[object]]
"""Origin of a node, without `/v1`, and a model → whatever the SDK made of the answer."""


async def try_one(name: str, url: str, model: str, through: str) -> Check:
    """Ask the SDK `name`, one of `FAMILIES`, at the node `url`. `through` says, after "answered",
    by which way."""
    package = name.partition(" ")[0]
    label = f"sdk {name}"
    try:
        failures = _FAILURES[package]()
    except ImportError:
        return Check(label, "skipped", "not installed; serving does not need it")
    try:
        await _ASK[name](url, model)
    except failures as error:
        return Check(label, "wrong", f"{type(error).__name__}: {one_line(str(error))}")
    return Check(label, "fine", f"answered {through}")


async def _anthropic(url: str, model: str) -> object:
    from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

    async with AsyncAnthropic(
        api_key=_CREDENTIAL,
        base_url=url,
        max_retries=0,
        timeout=SECONDS,
        http_client=DefaultAsyncHttpxClient(trust_env=False),
    ) as client:
        message = await client.messages.create(
            model=model, max_tokens=_TOKENS, messages=[{"role": "user", "content": QUESTION}]
        )
    return message.content


async def _chat(url: str, model: str) -> object:
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    async with AsyncOpenAI(
        api_key=_CREDENTIAL,
        base_url=f"{url}/v1",
        max_retries=0,
        timeout=SECONDS,
        http_client=DefaultAsyncHttpxClient(trust_env=False),
    ) as client:
        completion = await client.chat.completions.create(
            model=model,
            max_completion_tokens=_TOKENS,
            messages=[{"role": "user", "content": QUESTION}],
        )
    return completion.choices[0].message


async def _responses(url: str, model: str) -> object:
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    async with AsyncOpenAI(
        api_key=_CREDENTIAL,
        base_url=f"{url}/v1",
        max_retries=0,
        timeout=SECONDS,
        http_client=DefaultAsyncHttpxClient(trust_env=False),
    ) as client:
        response = await client.responses.create(
            model=model, max_output_tokens=_TOKENS, input=QUESTION, store=False
        )
    return response.output_text


async def _ollama(url: str, model: str) -> object:
    from ollama import AsyncClient, Options

    client = AsyncClient(url, timeout=SECONDS, trust_env=False)
    try:
        answer = await client.chat(
            model,
            [{"role": "user", "content": QUESTION}],
            stream=False,
            options=Options(num_predict=_TOKENS),
        )
    finally:
        await client.close()  # type: ignore[no-untyped-call]
    return answer.message


def _of(package: str, *names: str) -> Callable[[], tuple[type[Exception], ...]]:
    def failures() -> tuple[type[Exception], ...]:
        module = import_module(package)
        return (*(getattr(module, name) for name in names), OSError)

    return failures


_ASK: Final[Mapping[str, Ask]] = {
    "anthropic": _anthropic,
    "openai chat": _chat,
    "openai responses": _responses,
    "ollama": _ollama,
}

FAMILIES: Final[Mapping[str, str]] = {
    "anthropic": "anthropic",
    "openai chat": "openai",
    "openai responses": "openai",
    "ollama": "ollama",
}
"""What is tried → what an upstream must speak for it."""

_FAILURES: Final = {
    "anthropic": _of("anthropic", "AnthropicError"),
    "openai": _of("openai", "OpenAIError"),
    "ollama": _of("ollama", "ResponseError"),
}
