"""Answers from home as the real SDKs read them: every kind of answer, in every dialect, streamed
and whole, in one piece and byte by byte."""

import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import ollama
import openai
import pytest

from proxy.demo.upstream import Reply, ScriptedUpstream
from tests.proxy.local.writers.telling import (
    ANSWERS,
    NOW,
    READ,
    WRITTEN,
    Answer,
    script,
)
from tests.scenes.bodies import MODEL

ASK: Any = [{"role": "user", "content": "Go on."}]
USAGE: Any = {"stream_options": {"include_usage": True}}
CUTS = {"whole": (False, False), "stream": (True, False), "bytes": (True, True)}
MATRIX = pytest.mark.parametrize(
    ("answer", "stream", "bytewise"),
    [(answer, *cut) for answer, cut in itertools.product(ANSWERS.values(), CUTS.values())],
    ids=[f"{name}-{cut}" for name, cut in itertools.product(ANSWERS, CUTS)],
)


@pytest.fixture
async def door() -> AsyncIterator[ScriptedUpstream]:
    async with ScriptedUpstream(lambda request: Reply.of({})) as upstream:
        yield upstream


def same(calls: list[tuple[str, Any]], answer: Answer) -> bool:
    """Whether these calls are those of the answer, to the last digit."""
    return json.dumps(calls) == json.dumps([[*call] for call in answer.calls])


@MATRIX
async def test_anthropics_sdk_reads_it(
    door: ScriptedUpstream, answer: Answer, stream: bool, bytewise: bool
) -> None:
    """Blocks in order, none empty, a stop reason that makes the client run its tools, usage."""
    door.script = script("anthropic_messages", answer.speech, stream=stream, bytewise=bytewise)
    how: Any = {"model": MODEL, "max_tokens": 9, "messages": ASK}
    async with anthropic.AsyncAnthropic(api_key="x", base_url=door.url) as client:
        if stream:
            async with client.messages.stream(**how) as events:
                message: Any = await events.get_final_message()
        else:
            message = await client.messages.create(**how)
    texts = [block.text for block in message.content if block.type == "text"]
    thoughts = [block for block in message.content if block.type == "thinking"]
    calls = [block for block in message.content if block.type == "tool_use"]
    assert "".join(texts) == answer.text
    assert all(text.strip() for text in texts)
    assert "".join(block.thinking for block in thoughts) == answer.thought
    assert not any(block.signature for block in thoughts)
    assert same([(block.name, block.input) for block in calls], answer)
    assert len({block.id for block in calls}) == len(calls)
    reason = {"stop": "end_turn", "length": "max_tokens"}[answer.reason]
    assert message.stop_reason == ("tool_use" if calls else reason)
    assert (message.model, message.stop_sequence) == (MODEL, None)
    assert (message.usage.input_tokens, message.usage.output_tokens) == (READ, WRITTEN)


@MATRIX
async def test_openais_sdk_reads_a_completion(
    door: ScriptedUpstream, answer: Answer, stream: bool, bytewise: bool
) -> None:
    """One choice with all of it, and the tokens where they were asked for."""
    asked = USAGE if stream else {}
    door.script = script(
        "openai_chat", answer.speech, stream=stream, bytewise=bytewise, asked=asked
    )
    how: Any = {"model": MODEL, "messages": ASK, **asked}
    async with openai.AsyncOpenAI(api_key="x", base_url=f"{door.url}/v1") as client:
        if stream:
            async with client.chat.completions.stream(**how) as events:
                try:
                    completion: Any = await events.get_final_completion()
                except openai.LengthFinishReasonError as cut:  # how the helper tells it
                    completion = cut.completion
        else:
            completion = await client.chat.completions.create(**how)
    [choice] = completion.choices
    calls = choice.message.tool_calls or []
    assert (choice.message.content or "") == answer.text
    assert (choice.message.model_extra or {}).get("reasoning", "") == answer.thought
    assert same([(c.function.name, json.loads(c.function.arguments)) for c in calls], answer)
    assert len({call.id for call in calls}) == len(calls)
    assert choice.finish_reason == ("tool_calls" if calls else answer.reason)
    assert (completion.model, completion.created) == (MODEL, NOW)
    assert completion.usage.total_tokens == READ + WRITTEN


@MATRIX
async def test_openais_sdk_reads_a_response(
    door: ScriptedUpstream, answer: Answer, stream: bool, bytewise: bool
) -> None:
    """Items in order, completed or incomplete, with arguments that are the same everywhere."""
    door.script = script("openai_responses", answer.speech, stream=stream, bytewise=bytewise)
    how: Any = {"model": MODEL, "input": "Go on."}
    async with openai.AsyncOpenAI(api_key="x", base_url=f"{door.url}/v1") as client:
        if not stream:
            response: Any = await client.responses.create(**how)
        elif answer.reason == "length":  # the helper takes an incomplete response for none
            *_, last = [e async for e in await client.responses.create(**how, stream=True)]
            assert last.type == "response.incomplete"
            response = last.response
        else:
            async with client.responses.stream(**how) as events:
                response = await events.get_final_response()
    calls = [item for item in response.output if item.type == "function_call"]
    thoughts = [item for item in response.output if item.type == "reasoning"]
    assert response.output_text == answer.text
    assert "".join(part.text for item in thoughts for part in item.summary) == answer.thought
    assert same([(item.name, json.loads(item.arguments)) for item in calls], answer)
    assert len({item.id for item in response.output}) == len(response.output)
    assert len({item.call_id for item in calls}) == len(calls)
    cut = answer.reason == "length"
    assert response.status == ("incomplete" if cut else "completed")
    assert bool(response.incomplete_details) is cut
    assert (response.model, response.created_at) == (MODEL, NOW)
    assert response.usage.total_tokens == READ + WRITTEN


@MATRIX
async def test_ollamas_sdk_reads_it(
    door: ScriptedUpstream, answer: Answer, stream: bool, bytewise: bool
) -> None:
    """Lines that add up to the message, the last one done with its reason and the tokens."""
    door.script = script("ollama_chat", answer.speech, stream=stream, bytewise=bytewise)
    client = ollama.AsyncClient(door.url)
    if stream:
        parts = [part async for part in await client.chat(MODEL, ASK, stream=True)]
    else:
        parts = [await client.chat(MODEL, ASK)]
    await client.close()  # type: ignore[no-untyped-call]
    calls = [call.function for part in parts for call in part.message.tool_calls or ()]
    assert "".join(part.message.content or "" for part in parts) == answer.text
    assert "".join(part.message.thinking or "" for part in parts) == answer.thought
    assert same([(call.name, call.arguments) for call in calls], answer)
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
    assert (parts[-1].done_reason, parts[-1].model) == (answer.reason, MODEL)
    assert (parts[-1].prompt_eval_count, parts[-1].eval_count) == (READ, WRITTEN)


@pytest.mark.parametrize("bytewise", [False, True])
async def test_signs_of_life_change_nothing(door: ScriptedUpstream, bytewise: bool) -> None:
    """Between any two events of any answer, in every dialect."""
    answer = ANSWERS["text and call"]

    def alive(dialect: str) -> Any:
        return script(dialect, answer.speech, stream=True, bytewise=bytewise, alive=2)

    door.script = alive("anthropic_messages")
    async with (
        anthropic.AsyncAnthropic(api_key="x", base_url=door.url) as claude,
        claude.messages.stream(model=MODEL, max_tokens=9, messages=ASK) as message,
    ):
        blocks: Any = (await message.get_final_message()).content
    assert [block.type for block in blocks] == ["text", "tool_use"]
    async with openai.AsyncOpenAI(api_key="x", base_url=f"{door.url}/v1") as gpt:
        door.script = alive("openai_chat")
        async with gpt.chat.completions.stream(model=MODEL, messages=ASK) as chat:
            completion: Any = await chat.get_final_completion()
        door.script = alive("openai_responses")
        async with gpt.responses.stream(model=MODEL, input="Go on.") as stream:
            response = await stream.get_final_response()
    assert completion.choices[0].message.content == response.output_text == answer.text
    client = ollama.AsyncClient(door.url)
    door.script = alive("ollama_chat")
    parts = [part async for part in await client.chat(MODEL, ASK, stream=True)]
    await client.close()  # type: ignore[no-untyped-call]
    assert "".join(part.message.content or "" for part in parts) == answer.text
