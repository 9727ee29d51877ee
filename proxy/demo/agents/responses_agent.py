"""An agent on the `openai` SDK, Responses API, with the whole history resent each time."""

import json
from typing import ClassVar, cast

from openai import APIError, AsyncOpenAI, BadRequestError, DefaultAsyncHttpxClient
from openai.types.responses import FunctionToolParam, Response, ResponseInputItemParam
from openai.types.responses.response_input_item_param import FunctionCallOutput

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

_TOOLS: list[FunctionToolParam] = [
    {
        "type": "function",
        "name": TOOL,
        "description": TOOL_SAYS,
        "parameters": PARAMETERS,
        "strict": True,
    }
]


class ResponsesAgent:
    """See `proxy.demo.agents.base.Agent`."""

    refusal: ClassVar[type[Exception]] = BadRequestError
    failures: ClassVar[tuple[type[Exception], ...]] = (APIError, Runaway)

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._history: list[ResponseInputItemParam] = []
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
            response = await self._next()
            self._history += cast(list[ResponseInputItemParam], response.output)
            results = self._results(response)
            if not results:
                return response.output_text
            self._history += results
        raise Runaway

    async def close(self) -> None:
        await self.client.close()

    def _results(self, response: Response) -> list[FunctionCallOutput]:
        return [
            {
                "type": "function_call_output",
                "call_id": item.call_id,
                "output": self._setup.read_file(json.loads(item.arguments).get("path")),
            }
            for item in response.output
            if item.type == "function_call"
        ]

    async def _next(self) -> Response:
        if not self._setup.stream:
            return await self.client.responses.create(
                model=self._setup.model,
                instructions=SYSTEM,
                input=self._history,
                tools=_TOOLS,
                store=False,
            )
        async with self.client.responses.stream(
            model=self._setup.model,
            instructions=SYSTEM,
            input=self._history,
            tools=_TOOLS,
            store=False,
        ) as stream:
            return await stream.get_final_response()
