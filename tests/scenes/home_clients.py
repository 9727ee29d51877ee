"""The real SDKs as clients with a history, in every way in which they ask for an answer.

Owns how each is asked and what it read, in one form. All of them are set to refuse what their types
do not allow. It must not know a server.
"""

import base64
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import anthropic
import openai
from ollama import AsyncClient

from proxy.demo.agents.base import nobody_trusted
from tests.scenes.home_model import CASES, STOP, Case, asks
from tests.strict.plot import pixel

MODEL = "claude-opus-5-5"
SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}
PARAMETERS = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "required": ["path"],
    "additionalProperties": False,
}
HTTP: dict[str, Any] = {"trust_env": False, "verify": nobody_trusted(), "timeout": 10}
PICTURE = f"data:image/png;base64,{pixel()}"


@dataclass(frozen=True)
class Got:
    """An answer as a client read it. `ended`: in the dialect's own word."""

    text: str
    ended: str
    model: str
    tokens: tuple[int, int]
    calls: Sequence[tuple[str, str, Any]] = ()
    thought: str = ""


@dataclass
class Client(ABC):
    """One conversation about a case. `way`: one of `ways`; `port` of the node."""

    port: int
    way: str
    case: Case = field(default_factory=Case)
    history: list[Any] = field(default_factory=list)

    ways: ClassVar[tuple[str, ...]]
    words: ClassVar[dict[str, str]]
    """How an answer ended, in the dialect's words."""
    can_stop: ClassVar[bool] = True
    has_ids: ClassVar[bool] = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def ask(self, name: str, secret: str) -> Got:
        """The first question of the case `name`."""
        self.case = CASES[name]
        return await self.say(f"Keep {secret}. {asks(name)}")

    async def say(self, text: str) -> Got:
        """The next question, whatever the case."""
        self.history.append(self._question(text))
        return await self._next()

    async def answer(self, got: Got, *results: str) -> Got:
        """The results of the calls in the newest answer, and what is said to them."""
        self.history += self._results(got, results)
        return await self._next()

    @abstractmethod
    def _question(self, text: str) -> Any: ...

    @abstractmethod
    def _results(self, got: Got, results: Sequence[str]) -> list[Any]: ...

    @abstractmethod
    async def _next(self) -> Got: ...


class Anthropic(Client):
    """`messages.create`, whole and streamed, and `.stream()`."""

    ways = ("whole", "streamed", "helper")
    words = {
        "stop": "end_turn", "length": "max_tokens", "calls": "tool_use", "found": "stop_sequence"
    }  # fmt: skip

    def _question(self, text: str) -> Any:
        source = {"type": "base64", "media_type": "image/png", "data": pixel()}
        image = [{"type": "image", "source": source}] if self.case.image else []
        return {"role": "user", "content": [{"type": "text", "text": text}, *image]}

    def _results(self, got: Got, results: Sequence[str]) -> list[Any]:
        blocks = [
            {"type": "tool_result", "tool_use_id": call[0], "content": result}
            for call, result in zip(got.calls, results, strict=True)
        ]
        return [{"role": "user", "content": blocks}]

    async def _next(self) -> Got:
        how: dict[str, Any] = {
            "model": MODEL,
            "max_tokens": self.case.most,
            "messages": self.history,
            "thinking": {"type": "adaptive"},
        }
        if self.case.rounds:
            how["tools"] = [{"name": "read_file", "input_schema": PARAMETERS}]
        if self.case.form:
            how["output_config"] = {"format": {"type": "json_schema", "schema": SCHEMA}}
        if self.case.stop:
            how["stop_sequences"] = ["never", STOP]
        async with anthropic.AsyncAnthropic(
            api_key="x",
            base_url=self.url,
            http_client=anthropic.DefaultAsyncHttpxClient(**HTTP),
            max_retries=0,
            _strict_response_validation=True,
        ) as client:
            match self.way:
                case "whole":
                    message = await client.messages.create(**how)
                case "helper":
                    async with client.messages.stream(**how) as stream:
                        message = await stream.get_final_message()
                case _:
                    return await self._read(await client.messages.create(**how, stream=True))
        self.history.append({"role": "assistant", "content": message.content})
        calls = [(b.id, b.name, b.input) for b in message.content if b.type == "tool_use"]
        text = "".join(b.text for b in message.content if b.type == "text")
        thought = "".join(b.thinking for b in message.content if b.type == "thinking")
        usage = message.usage
        tokens = (usage.input_tokens, usage.output_tokens)
        return Got(text, str(message.stop_reason), message.model, tokens, calls, thought)

    async def _read(self, stream: Any) -> Got:
        """Event by event, as clients do that have no use for a helper."""
        model, ended, tokens = "", "", (0, 0)
        blocks: list[dict[str, Any]] = []
        async for event in stream:
            match event.type:
                case "message_start":
                    model = event.message.model
                case "content_block_start":
                    assert event.index == len(blocks)
                    blocks.append({**event.content_block.model_dump(), "json": ""})
                case "content_block_delta":
                    delta, block = event.delta, blocks[event.index]
                    if delta.type == "text_delta":
                        block["text"] += delta.text
                    elif delta.type == "thinking_delta":
                        block["thinking"] += delta.thinking
                    elif delta.type == "input_json_delta":
                        block["json"] += delta.partial_json
                case "message_delta":
                    ended = event.delta.stop_reason
                    tokens = (event.usage.input_tokens, event.usage.output_tokens)
        for block in blocks:
            if written := block.pop("json"):
                block["input"] = json.loads(written)
        bare = [{k: v for k, v in block.items() if v is not None} for block in blocks]
        self.history.append({"role": "assistant", "content": bare})
        calls = [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
        text = "".join(b.get("text") or "" for b in blocks)
        return Got(
            text, ended, model, tokens, calls, "".join(b.get("thinking", "") for b in blocks)
        )


class Chat(Client):
    """`chat.completions.create`, whole and streamed, and `.stream()`."""

    ways = ("whole", "streamed", "helper")
    words = {"stop": "stop", "length": "length", "calls": "tool_calls", "found": "stop"}

    def _question(self, text: str) -> Any:
        image = [{"type": "image_url", "image_url": {"url": PICTURE}}] if self.case.image else []
        return {"role": "user", "content": [{"type": "text", "text": text}, *image]}

    def _results(self, got: Got, results: Sequence[str]) -> list[Any]:
        return [
            {"role": "tool", "tool_call_id": call[0], "content": result}
            for call, result in zip(got.calls, results, strict=True)
        ]

    async def _next(self) -> Got:
        how: dict[str, Any] = {
            "model": MODEL,
            "max_completion_tokens": self.case.most,
            "messages": self.history,
        }
        if self.case.rounds:
            function = {"name": "read_file", "parameters": PARAMETERS, "strict": True}
            how["tools"] = [{"type": "function", "function": function}]
        if self.case.form:
            form = {"name": "title", "schema": SCHEMA, "strict": True}
            how["response_format"] = {"type": "json_schema", "json_schema": form}
        if self.case.stop:
            how["stop"] = ["never", STOP]
        if self.way != "whole":
            how["stream_options"] = {"include_usage": True}
        async with openai.AsyncOpenAI(
            api_key="x",
            base_url=f"{self.url}/v1",
            http_client=openai.DefaultAsyncHttpxClient(**HTTP),
            max_retries=0,
            _strict_response_validation=True,
        ) as client:
            match self.way:
                case "whole":
                    answer: Any = await client.chat.completions.create(**how)
                case "helper" if self.case.reason == "stop":
                    async with client.chat.completions.stream(**how) as stream:
                        answer = await stream.get_final_completion()
                case _:  # the helper raises for what is cut
                    return await self._read(
                        await client.chat.completions.create(**how, stream=True)
                    )
        (choice,) = answer.choices
        message, usage = choice.message, answer.usage
        self.history.append(message.model_dump(exclude_none=True))
        calls = [
            (call.id, call.function.name, json.loads(call.function.arguments))
            for call in message.tool_calls or ()
        ]
        tokens = (usage.prompt_tokens, usage.completion_tokens)
        return Got(message.content or "", choice.finish_reason, answer.model, tokens, calls)

    async def _read(self, stream: Any) -> Got:
        text, ended, model, tokens = "", "", "", (0, 0)
        calls: list[list[str]] = []
        async for chunk in stream:
            model = chunk.model
            if chunk.usage is not None:
                tokens = (chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
            for choice in chunk.choices:
                text += choice.delta.content or ""
                ended = choice.finish_reason or ended
                for call in choice.delta.tool_calls or ():
                    if call.id:
                        assert call.index == len(calls)
                        calls.append([call.id, call.function.name, ""])
                    calls[call.index][2] += call.function.arguments or ""
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = [
                {"id": name, "type": "function", "function": {"name": tool, "arguments": given}}
                for name, tool, given in calls
            ]
        self.history.append(message)
        made = [(name, tool, json.loads(given)) for name, tool, given in calls]
        return Got(text, ended, model, tokens, made)


class Responses(Client):
    """`responses.create`, whole and streamed, and `.stream()`."""

    ways = ("whole", "streamed", "helper")
    words = {
        "stop": "completed", "length": "incomplete", "calls": "completed", "found": "completed"
    }  # fmt: skip
    can_stop = False

    def _question(self, text: str) -> Any:
        image = [{"type": "input_image", "image_url": PICTURE}] if self.case.image else []
        return {"role": "user", "content": [{"type": "input_text", "text": text}, *image]}

    def _results(self, got: Got, results: Sequence[str]) -> list[Any]:
        return [
            {"type": "function_call_output", "call_id": call[0], "output": result}
            for call, result in zip(got.calls, results, strict=True)
        ]

    async def _next(self) -> Got:
        how: dict[str, Any] = {
            "model": MODEL,
            "max_output_tokens": self.case.most,
            "input": self.history,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if self.case.rounds:
            tool = {"name": "read_file", "parameters": PARAMETERS, "strict": True}
            how["tools"] = [{"type": "function", **tool}]
        if self.case.form:
            form = {"type": "json_schema", "name": "title", "schema": SCHEMA, "strict": True}
            how["text"] = {"format": form}
        async with openai.AsyncOpenAI(
            api_key="x",
            base_url=f"{self.url}/v1",
            http_client=openai.DefaultAsyncHttpxClient(**HTTP),
            max_retries=0,
            _strict_response_validation=True,
        ) as client:
            match self.way:
                case "whole":
                    answer: Any = await client.responses.create(**how)
                case "helper" if self.case.reason == "stop":
                    async with client.responses.stream(**how) as stream:
                        answer = await stream.get_final_response()
                case _:  # the helper raises for what is cut
                    answer = await self._read(await client.responses.create(**how, stream=True))
        self.history += [item.model_dump(exclude_none=True) for item in answer.output]
        calls = [
            (item.call_id, item.name, json.loads(item.arguments))
            for item in answer.output
            if item.type == "function_call"
        ]
        tokens = (answer.usage.input_tokens, answer.usage.output_tokens)
        thought = "".join(s.text for i in answer.output if i.type == "reasoning" for s in i.summary)
        return Got(answer.output_text, str(answer.status), answer.model, tokens, calls, thought)

    async def _read(self, stream: Any) -> Any:
        """The response that ends a stream, which must be what its events added up to."""
        numbers, text, answer = [], "", None
        async for event in stream:
            numbers.append(event.sequence_number)
            if event.type == "response.output_text.delta":
                text += event.delta
            elif event.type in ("response.completed", "response.incomplete"):
                answer = event.response
        assert numbers == list(range(len(numbers)))
        assert answer is not None
        assert answer.output_text == text
        return answer


class Ollama(Client):
    """`chat`, whole and streamed, of a model that runs elsewhere."""

    ways = ("whole", "streamed")
    words = {"stop": "stop", "length": "length", "calls": "stop", "found": "stop"}
    has_ids = False

    def _question(self, text: str) -> Any:
        images = [base64.b64decode(pixel())] if self.case.image else None
        return {"role": "user", "content": text, **({"images": images} if images else {})}

    def _results(self, got: Got, results: Sequence[str]) -> list[Any]:
        return [
            {"role": "tool", "tool_name": call[1], "content": result}
            for call, result in zip(got.calls, results, strict=True)
        ]

    async def _next(self) -> Got:
        options: dict[str, Any] = {"num_predict": self.case.most}
        how: dict[str, Any] = {"model": MODEL, "messages": self.history, "think": False}
        if self.case.rounds:
            function = {"name": "read_file", "parameters": PARAMETERS}
            how["tools"] = [{"type": "function", "function": function}]
        if self.case.form:
            how["format"] = SCHEMA
        if self.case.stop:
            options["stop"] = ["never", STOP]
        client = AsyncClient(self.url, **HTTP)
        try:
            if self.way == "whole":
                parts = [await client.chat(**how, options=options)]
            else:
                parts = [
                    part async for part in await client.chat(**how, options=options, stream=True)
                ]
        finally:
            await client.close()  # type: ignore[no-untyped-call]
        assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
        last = parts[-1]
        text = "".join(part.message.content or "" for part in parts)
        made = [call for part in parts for call in part.message.tool_calls or ()]
        self.history.append(
            {"role": "assistant", "content": text, "tool_calls": [c.model_dump() for c in made]}
        )
        calls = [("", call.function.name, dict(call.function.arguments)) for call in made]
        tokens = (last.prompt_eval_count or 0, last.eval_count or 0)
        thought = "".join(part.message.thinking or "" for part in parts)
        return Got(text, str(last.done_reason), str(last.model), tokens, calls, thought)


CLIENTS: dict[str, type[Client]] = {
    "anthropic": Anthropic,
    "openai-chat": Chat,
    "openai-responses": Responses,
    "ollama": Ollama,
}
