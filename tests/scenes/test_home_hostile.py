"""A local server that fails, lies or never ends: a typed error or a clean answer, never the cloud,
never a seat that is lost."""

import itertools
import json
import resource
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.config import Config
from proxy.demo.files import nsec
from proxy.demo.upstream import Fault, Reply
from proxy.dialects.finals import LINES
from tests.scenes import bodies
from tests.scenes.hearth import Home, at_home, lines, ollama
from tests.scenes.staging import Heard

PATHS = bodies.PATHS
SECRET = nsec()
ERRORS = ("home-unavailable", "home-not-local", "upstream-timeout")


def asking(dialect: str, *, stream: bool) -> dict[str, Any]:
    body: dict[str, Any] = getattr(bodies, dialect)(f"key = {SECRET}")
    return {**body, "stream": stream}


def clean(dialect: str, answer: Heard, *, stream: bool) -> bool:
    """Whether it is an answer from its beginning to its end; else it must be a typed error."""
    if answer.status != 200:
        assert answer.headers["x-transom-notice"] in ERRORS
        assert "x-transom-leg" not in answer.headers
        return False
    if not stream:
        assert answer.json()
        return True
    values = [json.loads(data) for data in _data(answer.body)]
    if any(code.replace("-", "_").encode() in answer.body.replace(b"-", b"_") for code in ERRORS):
        return False
    last = values[-1]
    match dialect:
        case "anthropic_messages":
            assert last["type"] == "message_stop"
        case "openai_chat":
            assert answer.body.endswith(b"data: [DONE]\n\n")
        case "openai_responses":
            assert last["type"] in ("response.completed", "response.incomplete")
        case _:
            assert last["done"] is True
    return True


def _data(body: bytes) -> Iterable[bytes]:
    for line in body.splitlines():
        data = line.removeprefix(b"data: ")
        if data.startswith(b"{"):
            yield data


async def asked(stage: Home, dialect: str, *, stream: bool) -> bool:
    """One request; whether its answer was a clean one. What must hold in any case is checked."""
    answer = await stage.post(PATHS[dialect], asking(dialect, stream=stream))
    assert stage.node.parts.hearth.home.busy == 0
    assert stage.upstream.accepted == 0
    assert SECRET.encode() not in answer.body
    return clean(dialect, answer, stream=stream)


def ndjson(*parts: bytes | float | Fault) -> Reply:
    return Reply.stream(parts, LINES)


@pytest.mark.parametrize(
    ("stream", "fault"), [*itertools.product((False, True), (Fault.CLOSE, Fault.RESET))]
)
async def test_it_may_die_at_each_byte(stream: bool, fault: Fault) -> None:
    """Only an answer whose last line came is one. Each way dies at every fourth byte, all of them
    at each."""
    body = b"".join(lines({"content": "Hi"}, {"content": "", "tool_calls": [CALL]}))
    dialects = [*PATHS]
    first = 2 * stream + (fault is Fault.CLOSE)
    async with at_home() as stage:
        for at in range(first, len(body) + 1, 4):
            stage.home.script = ollama(ndjson(body[:at], fault))
            found = await asked(stage, dialects[at // 4 % 4], stream=stream)
            assert found <= (at >= len(body) - 1), at
        stage.home.script = ollama(ndjson(body, Fault.STALL))
        for dialect in dialects:
            assert await asked(stage, dialect, stream=stream)


CALL = {"function": {"name": "read_file", "arguments": {"path": "a"}}}
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
FUNCTION = st.fixed_dictionaries(
    {}, optional={"name": JUNK | st.just("read_file"), "arguments": JUNK, "index": JUNK}
)
MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": JUNK,
        "content": JUNK | st.text(max_size=9),
        "thinking": JUNK,
        "tool_calls": JUNK
        | st.lists(
            JUNK | st.fixed_dictionaries({"function": JUNK | FUNCTION}, optional={"id": JUNK}),
            max_size=3,
        ),
        "images": JUNK,
    },
)
LINE = st.fixed_dictionaries(
    {},
    optional={
        "model": JUNK,
        "created_at": JUNK,
        "message": JUNK | MESSAGE,
        "done": JUNK,
        "done_reason": JUNK | st.sampled_from(["stop", "length", "load"]),
        "prompt_eval_count": JUNK,
        "eval_count": JUNK,
        "error": st.none() | JUNK,
    },
)


@pytest.mark.parametrize("dialect", PATHS)
async def test_whatever_its_fields_are(dialect: str) -> None:
    """Wrong types, NaN, huge numbers, halves of characters, in any field of any line."""
    async with at_home() as stage:
        drawn: list[bytes] = []

        @settings(max_examples=30)
        @given(st.lists(JUNK | LINE, max_size=4), st.booleans())
        def draw(values: list[Any], ends: bool) -> None:
            told = b"".join(json.dumps(value).encode() + b"\n" for value in values)
            drawn.append(told + (lines()[0] if ends else b""))

        draw()
        for number, told in enumerate(drawn):
            stage.home.script = ollama(ndjson(told))
            await asked(stage, dialect, stream=number % 2 == 0)


LARGE = b'{"message":{"content":"' + b"a" * (8 * 1024 * 1024) + b'"},"done":false}\n'
BROKEN = {
    "NaN": b'{"message":{"content":"a"},"eval_count":NaN,"done":false}\n',
    "a number of nobody": b'{"message":{"content":"a"},"eval_count":1e999,"done":false}\n',
    "no UTF-8": b'{"message":{"content":"\xff\xfe"},"done":false}\n{"done":tru\n',
    "too deep": b'{"message":' + b"[" * 200_000 + b"\n",
    "a line beyond its limit": LARGE,
    "a line that never ends": LARGE[:-1],
    "no lines at all": b"<html>" * 1000,
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("what", BROKEN)
async def test_what_cannot_be_read_is_a_typed_error(what: str, stream: bool) -> None:
    """At whatever size; the line that ends an answer behind it changes nothing."""
    async with at_home(ndjson(BROKEN[what], lines()[0])) as stage:
        assert not await asked(stage, "anthropic_messages", stream=stream)


ENDLESS = {
    "words": lines({"content": "and so on " * 100})[0],
    "thoughts": lines({"content": "", "thinking": "and so on " * 100})[0],
    "nothing": b'{"done":false}\n' * 100,
    "blank lines": b"\n" * 4096,
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("what", ENDLESS)
async def test_a_server_without_end_is_given_up(
    what: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before it takes all memory, whether or not it says anything."""
    monkeypatch.setattr("proxy.local.heard.LIMIT", 2 * 1024 * 1024)
    sent = 0

    def endless() -> Iterable[bytes]:
        nonlocal sent
        while True:
            sent += len(ENDLESS[what])
            yield ENDLESS[what]

    async with at_home(lambda _: Reply.stream(endless(), LINES)) as stage:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert not await asked(stage, "openai_responses", stream=stream)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 64 * 1024, f"{grown} kB for {sent} bytes"
        assert sent < 16 * 1024 * 1024


@pytest.mark.parametrize("stream", [False, True])
async def test_slow_headers_are_a_typed_error(stream: bool) -> None:
    """The server takes the question and says nothing for longer than the owner waits."""

    def hasty(config: Config) -> Config:
        return replace(config, timeouts=replace(config.timeouts, home_first_byte=0.2))

    async with at_home(Fault.STALL, change=hasty) as stage:
        for dialect in PATHS:
            assert not await asked(stage, dialect, stream=stream)
        assert len(stage.asked) == 4
