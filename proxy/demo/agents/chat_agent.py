"""An agent on the `openai` SDK, Chat Completions API."""

import json
from typing import ClassVar

from openai import APIError, AsyncOpenAI, BadRequestError, DefaultAsyncHttpxClient
from openai.types.chat import (
    ChatCompletionAssistantMessageParam,
    ChatCompletionMessage,
    ChatCompletionMessageParam,
    ChatCompletionMessageToolCallUnionParam,
    ChatCompletionToolMessageParam,
    ChatCompletionToolParam,
)

from proxy.demo.agents.base import (
    CREDENTIAL,
    PARAMETERS,
    ROUNDS,
    SYSTEM,
    TOOL_SAYS,
    Runaway,
    Setup,
    nobody_trusted,
)
from proxy.demo.vendors.plan import TOOL

_TOOLS: list[ChatCompletionToolParam] = [
    {
        "type": "function",
        "function": {
            "name": TOOL,
            "description": TOOL_SAYS,
            "parameters": PARAMETERS,
            "strict": True,
        },
    }
]


class ChatAgent:
    """See `proxy.demo.agents.base.Agent`."""

    refusal: ClassVar[type[Exception]] = BadRequestError
    failures: ClassVar[tuple[type[Exception], ...]] = (APIError, Runaway)

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._history: list[ChatCompletionMessageParam] = [{"role": "system", "content": SYSTEM}]
        self.client = AsyncOpenAI(
            api_key=CREDENTIAL,
            base_url=f"{setup.base_url}/v1",
            http_client=DefaultAsyncHttpxClient(
                trust_env=False, verify=nobody_trusted(), event_hooks=setup.hooks
            ),
        )

    async def ask(self, question: str) -> str:
        self._history.append({"role": "user", "content": question})
        for _ in range(ROUNDS):
            message = await self._next()
            self._history.append(_as_sent(message))
            results = self._results(message)
            if not results:
                return message.content or ""
            self._history.extend(results)
        raise Runaway

    async def close(self) -> None:
        await self.client.close()

    def _results(self, message: ChatCompletionMessage) -> list[ChatCompletionToolMessageParam]:
        return [
            {
                "role": "tool",
                "tool_call_id": call.id,
                "content": self._setup.read_file(json.loads(call.function.arguments).get("path")),
            }
            for call in message.tool_calls or ()
            if call.type == "function"
        ]

    async def _next(self) -> ChatCompletionMessage:
        if not self._setup.stream:
            completion = await self.client.chat.completions.create(
                model=self._setup.model, messages=self._history, tools=_TOOLS
            )
            return completion.choices[0].message
        async with self.client.chat.completions.stream(
            model=self._setup.model, messages=self._history, tools=_TOOLS
        ) as stream:
            return (await stream.get_final_completion()).choices[0].message


def _as_sent(message: ChatCompletionMessage) -> ChatCompletionAssistantMessageParam:
    # The streaming helper adds fields of its own to the message, which no server knows.
    sent: ChatCompletionAssistantMessageParam = {"role": "assistant", "content": message.content}
    calls: list[ChatCompletionMessageToolCallUnionParam] = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.function.name, "arguments": call.function.arguments},
        }
        for call in message.tool_calls or ()
        if call.type == "function"
    ]
    if calls:
        sent["tool_calls"] = calls
    return sent
