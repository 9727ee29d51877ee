"""An agent on the `ollama` SDK, native chat."""

from typing import ClassVar

from ollama import AsyncClient, ChatResponse, Message, ResponseError, Tool

from proxy.demo.agents.base import (
    PARAMETERS,
    ROUNDS,
    SYSTEM,
    TOOL_SAYS,
    Runaway,
    Setup,
    nobody_trusted,
)
from proxy.demo.vendors.plan import TOOL

_FUNCTION = {"name": TOOL, "description": TOOL_SAYS, "parameters": PARAMETERS}


class OllamaAgent:
    """See `proxy.demo.agents.base.Agent`."""

    refusal: ClassVar[type[Exception]] = ResponseError
    failures: ClassVar[tuple[type[Exception], ...]] = (ResponseError, ConnectionError, RuntimeError)

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._history: list[Message] = [Message(role="system", content=SYSTEM)]
        self._tools = [Tool.model_validate({"type": "function", "function": _FUNCTION})]
        self.client = AsyncClient(
            setup.base_url, trust_env=False, verify=nobody_trusted(), event_hooks=setup.hooks
        )

    async def ask(self, question: str) -> str:
        self._history.append(Message(role="user", content=question))
        for _ in range(ROUNDS):
            message = await self._next()
            self._history.append(message)
            if not message.tool_calls:
                return message.content or ""
            for call in message.tool_calls:
                text = self._setup.read_file(call.function.arguments.get("path"))
                name = call.function.name
                self._history.append(Message(role="tool", content=text, tool_name=name))
        raise Runaway

    async def close(self) -> None:
        await self.client.close()  # type: ignore[no-untyped-call]

    async def _next(self) -> Message:
        if not self._setup.stream:
            answer = await self.client.chat(
                self._setup.model, self._history, tools=self._tools, stream=False
            )
            return answer.message
        parts = await self.client.chat(
            self._setup.model, self._history, tools=self._tools, stream=True
        )
        return _joined([part async for part in parts])


def _joined(parts: list[ChatResponse]) -> Message:
    if not parts or not parts[-1].done:
        raise RuntimeError("the stream ended early")
    calls = [call for part in parts for call in part.message.tool_calls or ()]
    text = "".join(part.message.content or "" for part in parts)
    return Message(role="assistant", content=text, tool_calls=calls or None)
