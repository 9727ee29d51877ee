"""An agent on the `anthropic` SDK, Messages API."""

from typing import ClassVar

from anthropic import APIError, AsyncAnthropic, BadRequestError, DefaultAsyncHttpxClient
from anthropic.types import Message, MessageParam, ToolParam, ToolResultBlockParam

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

_TOOLS: list[ToolParam] = [{"name": TOOL, "description": TOOL_SAYS, "input_schema": PARAMETERS}]


class AnthropicAgent:
    """See `proxy.demo.agents.base.Agent`."""

    refusal: ClassVar[type[Exception]] = BadRequestError
    failures: ClassVar[tuple[type[Exception], ...]] = (APIError, Runaway)

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._history: list[MessageParam] = []
        self.client = AsyncAnthropic(
            api_key=CREDENTIAL,
            base_url=setup.base_url,
            http_client=DefaultAsyncHttpxClient(
                trust_env=False, verify=nobody_trusted(), event_hooks=setup.hooks
            ),
        )

    async def ask(self, question: str) -> str:
        self._history.append({"role": "user", "content": question})
        for _ in range(ROUNDS):
            message = await self._next()
            self._history.append({"role": "assistant", "content": message.content})
            results = self._results(message)
            if not results:
                return "".join(block.text for block in message.content if block.type == "text")
            self._history.append({"role": "user", "content": results})
        raise Runaway

    async def close(self) -> None:
        await self.client.close()

    def _results(self, message: Message) -> list[ToolResultBlockParam]:
        return [
            {
                "type": "tool_result",
                "tool_use_id": block.id,
                "content": self._setup.read_file(block.input.get("path")),
            }
            for block in message.content
            if block.type == "tool_use"
        ]

    async def _next(self) -> Message:
        if not self._setup.stream:
            return await self.client.messages.create(
                model=self._setup.model,
                max_tokens=1000,
                system=SYSTEM,
                messages=self._history,
                tools=_TOOLS,
            )
        async with self.client.messages.stream(
            model=self._setup.model,
            max_tokens=1000,
            system=SYSTEM,
            messages=self._history,
            tools=_TOOLS,
        ) as stream:
            return await stream.get_final_message()
