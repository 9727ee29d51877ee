"""Undeclared calls: gone from golden streams under every split, and the SDKs read what is left."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import ollama
import openai
import pytest

from proxy.demo.upstream import Reply, ScriptedUpstream
from proxy.dialects import ALL
from proxy.dialects.streams import Event, Kind, decoder
from proxy.errors import Refused
from proxy.filtering import Filter
from proxy.undeclared import drop_undeclared_call
from proxy.undeclared.editing import LEFT

FOLDER = Path(__file__).parents[2] / "wire" / "streams"
DIALECTS = ("anthropic_messages", "openai_chat", "openai_responses", "ollama_chat")
STORIES = ("mixed", "only", "text")
EACH = [(dialect, story) for dialect in DIALECTS for story in STORIES]
GOLDEN = pytest.mark.parametrize(("dialect", "story"), EACH)
DECLARED = frozenset({"read_file"})
SAID = {"mixed": "Näh, I look 🧅.", "only": LEFT, "text": "Well, done."}


def raw(dialect: str, story: str, kind: str = "") -> bytes:
    return (FOLDER / f"{dialect}.{story}{kind}.txt").read_bytes()


def kind_of(dialect: str) -> Kind:
    return "ndjson" if dialect == "ollama_chat" else "sse"


def dropping(dialect: str, told: list[str] | None = None, *, stream: bool = True) -> Filter:
    heard = [] if told is None else told
    return drop_undeclared_call(ALL[dialect], DECLARED, stream=stream, told=heard.append)


def through(given: Filter, kind: Kind, *chunks: bytes) -> bytes:
    came = events(kind, *chunks)
    return b"".join(let_go.raw for event in came for let_go in given.event(event))


def events(kind: Kind, *chunks: bytes) -> list[Event]:
    decoding = decoder(kind)
    return [event for chunk in chunks for event in decoding.feed(chunk)] + decoding.end()


@GOLDEN
def test_calls_are_gone_under_every_split(dialect: str, story: str) -> None:
    """Cut anywhere, and byte by byte: always the same stream, and it is the golden one. A filter
    sees events, and they are the same wherever the bytes were cut."""
    data, kind, golden = raw(dialect, story), kind_of(dialect), raw(dialect, story, ".dropped")
    assert b"rm_rf" not in golden
    whole = events(kind, data)
    for at in range(len(data)):
        assert events(kind, data[:at], data[at:]) == whole
        if at % 61 == 0:
            assert through(dropping(dialect), kind, data[:at], data[at:]) == golden
    single = [data[at : at + 1] for at in range(len(data))]
    assert through(dropping(dialect), kind, *single) == golden


@GOLDEN
def test_each_is_told(dialect: str, story: str) -> None:
    """Once for every call that is dropped."""
    told: list[str] = []
    through(dropping(dialect, told), kind_of(dialect), raw(dialect, story))
    assert told == ["rm_rf"] * (2 if story == "mixed" else 1)


@GOLDEN
def test_where_all_is_declared_the_very_bytes_pass(dialect: str, story: str) -> None:
    """No event is written anew, whatever it says."""
    fine = drop_undeclared_call(
        ALL[dialect], {"read_file", "rm_rf"}, stream=True, told=lambda tool: pytest.fail(tool)
    )
    assert through(fine, kind_of(dialect), raw(dialect, story)) == raw(dialect, story)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_events_that_stay_keep_their_bytes(dialect: str) -> None:
    """All but numbers, the end and what was dropped is as it came."""
    kind = kind_of(dialect)
    came = {event.raw for event in decoder(kind).feed(raw(dialect, "mixed"))}
    went = decoder(kind).feed(raw(dialect, "mixed", ".dropped"))
    new = [event for event in went if event.raw not in came]
    assert len(new) < len(went)
    for event in new:
        assert event.data is not None
        assert any(mark in event.data for mark in ("index", "tool_calls", "sequence_number"))


class Served:
    """The real SDKs, served one stream or body."""

    def __init__(self, door: ScriptedUpstream) -> None:
        self.door = door

    def gives(self, dialect: str, body: bytes, *, stream: bool) -> None:
        kind = "application/x-ndjson" if dialect == "ollama_chat" else "text/event-stream"
        if stream:
            self.door.script = lambda request: Reply.stream([body], kind)
        else:
            self.door.script = lambda request: Reply.of(json.loads(body))

    async def read(self, dialect: str, *, stream: bool) -> tuple[str, list[Any], str]:
        """What the SDK's own helper makes of it: text, arguments of calls, why it stopped."""
        return await getattr(self, dialect)(stream)  # type: ignore[no-any-return]

    async def anthropic_messages(self, stream: bool) -> tuple[str, list[Any], str]:
        how: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
        async with anthropic.AsyncAnthropic(api_key="x", base_url=self.door.url) as client:
            if stream:
                async with client.messages.stream(**how) as came:
                    message: Any = await came.get_final_message()
            else:
                message = await client.messages.create(**how)
        text = "".join(block.text for block in message.content if block.type == "text")
        calls = [block.input for block in message.content if block.type == "tool_use"]
        return text, calls, message.stop_reason

    async def openai_chat(self, stream: bool) -> tuple[str, list[Any], str]:
        how: Any = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
        async with openai.AsyncOpenAI(api_key="x", base_url=self.door.url) as client:
            if stream:
                async with client.chat.completions.stream(**how) as came:
                    completion: Any = await came.get_final_completion()
            else:
                completion = await client.chat.completions.create(**how)
        [choice] = completion.choices
        calls = [json.loads(c.function.arguments) for c in choice.message.tool_calls or ()]
        return choice.message.content or "", calls, choice.finish_reason

    async def openai_responses(self, stream: bool) -> tuple[str, list[Any], str]:
        async with openai.AsyncOpenAI(api_key="x", base_url=self.door.url) as client:
            if stream:
                async with client.responses.stream(model="m", input="x") as came:
                    numbers = [event.sequence_number async for event in came]
                    response: Any = await came.get_final_response()
                assert numbers == list(range(len(numbers)))
            else:
                response = await client.responses.create(model="m", input="x")
        calls = [json.loads(i.arguments) for i in response.output if i.type == "function_call"]
        return response.output_text, calls, response.status

    async def ollama_chat(self, stream: bool) -> tuple[str, list[Any], str]:
        client = ollama.AsyncClient(self.door.url)
        ask: Any = [{"role": "user", "content": "x"}]
        if stream:
            parts = [part async for part in await client.chat("m", ask, stream=True)]
        else:
            parts = [await client.chat("m", ask)]
        await client.close()  # type: ignore[no-untyped-call]
        calls = [c.function.arguments for p in parts for c in p.message.tool_calls or ()]
        text = "".join(part.message.content or "" for part in parts)
        return text, calls, str(parts[-1].done_reason)


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    async with ScriptedUpstream(lambda request: Reply.of({})) as door:
        yield Served(door)


STOPS = {
    "anthropic_messages": ("tool_use", "end_turn"),
    "openai_chat": ("tool_calls", "stop"),
    "openai_responses": ("completed", "completed"),
    "ollama_chat": ("stop", "stop"),
}


@GOLDEN
async def test_the_sdks_read_what_is_left(served: Served, dialect: str, story: str) -> None:
    """Their stream helpers: the text, the calls that were declared, and a stop that fits."""
    served.gives(dialect, raw(dialect, story, ".dropped"), stream=True)
    calls = [{"path": "a.md"}, {"path": "b"}] if story == "mixed" else []
    stop = STOPS[dialect][story != "mixed"]
    assert await served.read(dialect, stream=True) == (SAID[story], calls, stop)


async def whole_of(served: Served, dialect: str, story: str) -> bytes:
    """A whole answer with what the stream says, as the SDK gathers it."""
    match dialect:
        case "openai_responses":
            last = decoder("sse").feed(raw(dialect, story))[-1]
            return json.dumps(json.loads(last.data or "")["response"]).encode()
        case "ollama_chat":
            lines = [json.loads(line) for line in raw(dialect, story).splitlines()]
            message = {"role": "assistant", "content": ""}
            calls = [c for line in lines for c in line["message"].get("tool_calls", ())]
            message["content"] = "".join(line["message"]["content"] for line in lines)
            return json.dumps({**lines[-1], "message": {**message, "tool_calls": calls}}).encode()
    served.gives(dialect, raw(dialect, story), stream=True)
    ask: Any = [{"role": "user", "content": "x"}]
    if dialect == "anthropic_messages":
        async with (
            anthropic.AsyncAnthropic(api_key="x", base_url=served.door.url) as claude,
            claude.messages.stream(model="m", max_tokens=9, messages=ask) as came,
        ):
            return (await came.get_final_message()).to_json().encode()
    async with (
        openai.AsyncOpenAI(api_key="x", base_url=served.door.url) as client,
        client.chat.completions.stream(model="m", messages=ask) as chunks,
    ):
        return (await chunks.get_final_completion()).to_json().encode()


@GOLDEN
async def test_whole_answers_lose_them_too(served: Served, dialect: str, story: str) -> None:
    """The same of a body that is no stream."""
    body = await whole_of(served, dialect, story)
    told: list[str] = []
    went = through(dropping(dialect, told, stream=False), "", body)
    assert told == ["rm_rf"] * (2 if story == "mixed" else 1)
    assert b"rm_rf" not in went
    served.gives(dialect, went, stream=False)
    calls = [{"path": "a.md"}, {"path": "b"}] if story == "mixed" else []
    stop = STOPS[dialect][story != "mixed"]
    assert await served.read(dialect, stream=False) == (SAID[story], calls, stop)
    fine = drop_undeclared_call(
        ALL[dialect], {"read_file", "rm_rf"}, stream=False, told=lambda tool: pytest.fail(tool)
    )
    assert through(fine, "", body) == body


def chunk(delta: Any, finish: str | None = None, index: int = 0, **more: Any) -> bytes:
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice], **more}).encode() + b"\n\n"


def answers(given: bytes) -> list[Any]:
    return [json.loads(event.data or "") for event in decoder("sse").feed(given)]


def test_functions_of_old_go_like_calls() -> None:
    """`function_call`, in fragments and whole."""
    call = {"name": "rm_rf", "arguments": ""}
    parts = [
        chunk({"role": "assistant", "content": None, "function_call": call}),
        chunk({"function_call": {"arguments": "{}"}}),
        chunk({}, "function_call"),
    ]
    went = answers(through(dropping("openai_chat"), "sse", *parts))
    assert [one["choices"][0]["delta"] for one in went] == [
        {"role": "assistant", "content": None},
        {"content": LEFT},
    ]
    assert went[-1]["choices"][0]["finish_reason"] == "stop"
    fine = [chunk({"function_call": {"name": "read_file", "arguments": ""}}), *parts[1:]]
    assert through(dropping("openai_chat"), "sse", *fine) == b"".join(fine)
    message = {"role": "assistant", "content": None, "function_call": call}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "function_call"}]}
    whole = through(dropping("openai_chat", stream=False), "", json.dumps(body).encode())
    assert json.loads(whole)["choices"][0] == {
        "index": 0,
        "message": {"role": "assistant", "content": LEFT},
        "finish_reason": "stop",
    }


def test_each_choice_is_one_for_itself() -> None:
    """What is dropped of one changes no number and no end of another."""
    bad = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "rm_rf", "input": "x"}}
    good = {"index": 0, "id": "b", "type": "function", "function": {"name": "read_file"}}
    parts = [
        chunk({"tool_calls": [bad]}),
        chunk({"tool_calls": [good]}, index=1),
        chunk({}, "tool_calls"),
        chunk({}, "tool_calls", index=1),
        chunk({"tool_calls": [{**bad, "index": 3}]}, usage={"total_tokens": 1}, index=2),
    ]
    went = answers(through(dropping("openai_chat"), "sse", *parts))
    assert [one["choices"][0]["finish_reason"] for one in went] == [
        None,
        "stop",
        "tool_calls",
        None,
    ]
    assert went[-1]["usage"] == {"total_tokens": 1}


def test_items_that_come_done_at_once_are_looked_at_too() -> None:
    """Codex is content with streams that hold nothing else."""

    def item(name: str, **more: Any) -> Any:
        return {"type": "function_call", "call_id": "c", "name": name, "arguments": "{}", **more}

    def done(at: int, given: Any) -> bytes:
        event = {"type": "response.output_item.done", "output_index": at, "item": given}
        return b"data: " + json.dumps(event).encode() + b"\n\n"

    custom = {**item("rm_rf"), "type": "custom_tool_call"}
    spaced = item("read_file", namespace="other")
    parts = [done(0, custom), done(1, spaced), done(2, item("read_file"))]
    [left] = answers(through(dropping("openai_responses"), "sse", *parts))
    assert left["output_index"] == 0
    assert left["item"] == item("read_file")


def test_what_the_upstream_carries_out_stays() -> None:
    """Server tools and items of the vendor's side need no declaration by name, nor do the tools of
    a toolset that is declared."""
    inner = {"type": "tool_use", "id": "t", "name": "x", "toolset_name": "read_file", "input": {}}
    body = json.dumps({"type": "message", "content": [inner]}).encode()
    assert through(dropping("anthropic_messages", stream=False), "", body) == body
    block = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    given = b"data: " + json.dumps(start).encode() + b"\n\n"
    assert through(dropping("anthropic_messages"), "sse", given) == given
    call = {"type": "web_search_call", "id": "w", "action": {}}
    event = {"type": "response.output_item.added", "output_index": 0, "item": call}
    given = b"data: " + json.dumps(event).encode() + b"\n\n"
    assert through(dropping("openai_responses"), "sse", given) == given


BUILT_IN = {
    "local_shell_call": ("local_shell", {"action": {"type": "exec", "command": ["rm"]}}),
    "shell_call": ("shell", {"action": {"commands": ["rm"]}, "environment": {"type": "local"}}),
    "apply_patch_call": ("apply_patch", {"operation": {"type": "delete_file", "path": "x"}}),
    "computer_call": ("computer", {"action": {"type": "screenshot"}, "pending_safety_checks": []}),
}


@pytest.mark.parametrize("kind", BUILT_IN)
def test_tools_without_a_name_go_like_others(kind: str) -> None:
    """A shell, a patch or a screen that nobody declared: item and deltas, whole and streamed."""
    tool, fields = BUILT_IN[kind]
    item = {"type": kind, "id": "i", "call_id": "c", "status": "completed", **fields}
    said = {"type": "message", "id": "m", "role": "assistant", "content": []}
    steps = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": f"response.{kind}.delta", "output_index": 0, "delta": "rm"},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 1, "item": said},
    ]
    parts = [b"data: " + json.dumps(step).encode() + b"\n\n" for step in steps]
    told: list[str] = []
    [left] = answers(through(dropping("openai_responses", told), "sse", *parts))
    assert (left["output_index"], left["item"]) == (0, said)
    assert told == [tool]
    whole = json.dumps({"object": "response", "output": [item, said]}).encode()
    [left] = [json.loads(through(dropping("openai_responses", stream=False), "", whole))]
    assert left["output"] == [said]
    for name in (tool, *(["computer_use_preview"] if tool == "computer" else [])):
        fine = drop_undeclared_call(
            ALL["openai_responses"], {name}, stream=True, told=lambda tool: pytest.fail(tool)
        )
        assert through(fine, "sse", *parts) == b"".join(parts)


def test_a_shell_that_the_upstream_runs_stays() -> None:
    """It runs in a container of the vendor's; nobody here is to carry anything out."""
    place = {"type": "container_reference", "container_id": "x"}
    item = {"type": "shell_call", "id": "i", "action": {"commands": ["ls"]}, "environment": place}
    whole = json.dumps({"object": "response", "output": [item]}).encode()
    assert through(dropping("openai_responses", stream=False), "", whole) == whole


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "data",
    ['{"type":"x"}', '{"type":1,"index":"a","choices":1,"message":2,"response":3}', "{}", "[1]",
     '{"type":"content_block_start"}', '{"type":"message_delta"}', '{"choices":[{"index":0}]}',
     '{"choices":[{"index":0,"delta":null}]}', '{"type":"response.completed","response":{}}',
     '{"error":"x"}', '{"message":{"tool_calls":"x"}}', "no json", '{"output":{}}'],
)  # fmt: skip
def test_odd_events_pass(dialect: str, data: str) -> None:
    """What is no call, in whatever shape, is none of the filter's business."""
    given = data.encode() + b"\n" if dialect == "ollama_chat" else f"data: {data}\n\n".encode()
    assert through(dropping(dialect), kind_of(dialect), given) == given
    assert through(dropping(dialect, stream=False), "", data.encode()) == data.encode()


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_cannot_be_read_for_certain_ends_the_answer(dialect: str, stream: bool) -> None:
    """Of two equal keys one reader takes the first, another the last."""
    data = b'{"type":"message","type":"x"}'
    end = b"\n" if dialect == "ollama_chat" else b"\n\n"
    given = (b"" if dialect == "ollama_chat" else b"data: ") + data + end if stream else data
    with pytest.raises(Refused, match="upstream-unreachable"):
        through(dropping(dialect, stream=stream), kind_of(dialect) if stream else "", given)
