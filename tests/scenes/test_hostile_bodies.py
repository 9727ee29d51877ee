"""Bodies that are broken, wrong, huge or meant to burst: a typed error or a clean pass-through."""

import asyncio
import copy
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from backports import zstd

from policies.decision import Leg
from proxy.config import Config
from tests.scenes.bodies import BODIES, PATHS
from tests.scenes.staging import Heard, Stage, staged
from tests.scenes.talk import Talk, request

DIALECTS = pytest.mark.parametrize("dialect", PATHS)
CANARY = "a canary, of the body"  # no shape in which a name may be logged
REFUSALS = {"body-invalid", "body-too-large", "coding-unknown", "egress-ambiguous"}


def checked(heard: Heard, dialect: str, *codes: str) -> str:
    """The notice of a refusal that is typed, dressed in its dialect, and repeats nothing."""
    code = heard.headers["x-transom-notice"]
    assert code in (codes or REFUSALS)
    assert heard.headers["x-should-retry"] == "false"
    assert "x-transom-leg" not in heard.headers
    assert CANARY not in heard.body.decode()
    told = heard.json()
    match dialect:
        case "anthropic_messages":
            said = told["error"]["message"]
            assert told["type"] == "error"
        case "ollama_chat":
            said = told["error"]
        case _:
            said = told["error"]["message"]
            assert told["error"]["code"] == code.replace("-", "_")
    assert said.startswith(f"[{code}] ")
    return code


def quiet(stage: Stage) -> None:
    """Nothing of a body in the log, and no bug of ours."""
    log = stage.log.getvalue()
    assert CANARY not in log
    assert "internal-error" not in log
    assert "exception" not in log


@DIALECTS
async def test_a_body_cut_at_any_byte_is_refused(dialect: str) -> None:
    """Whatever stands at the cut (string, escape, number, brace): one refusal, nothing sent, and
    the connection is good for the next request."""
    body = BODIES[dialect](f'{CANARY} \u00e9 "quoted" \\ 1e5')
    body["x"] = [1.5e3, True, None, -0.0]
    whole = json.dumps(body, ensure_ascii=False).encode()
    async with staged() as stage, Talk(stage.node.parts.listener.port) as talk:
        for end in range(1, len(whole)):
            heard = await talk.ask(PATHS[dialect], whole[:end])
            assert (heard.status, checked(heard, dialect)) == (400, "body-invalid")
        assert (await talk.ask(PATHS[dialect], whole)).status == 200
        assert talk.opened == 1
        assert len(stage.upstream.requests) == 1
        quiet(stage)


def places(value: Any, way: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to every value below."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for step, inner in members:
        yield (*way, step)
        if isinstance(inner, dict | list):
            yield from places(inner, (*way, step))


def put(body: Mapping[str, Any], way: tuple[str | int, ...], value: Any) -> Any:
    changed: Any = copy.deepcopy(body)
    inner = changed
    for step in way[:-1]:
        inner = inner[step]
    inner[way[-1]] = value
    return changed


WRONG = (None, True, -1, 1.5, "", CANARY, [], {}, [[CANARY]], {CANARY: {}}, [None], [{"type": 7}])


@DIALECTS
@pytest.mark.parametrize("leg", Leg)
async def test_a_wrong_type_anywhere_is_passed_or_refused(dialect: str, leg: Leg) -> None:
    """Each value of a body in turn becomes each kind of wrong: it leaves as it is for the upstream
    to judge, or is refused in so many words. Never a bug of ours."""
    body = BODIES[dialect]("fine", after=True)
    async with staged(leg=leg) as stage, Talk(stage.node.parts.listener.port) as talk:
        for way in places(body):
            for wrong in WRONG:
                heard = await talk.ask(PATHS[dialect], put(body, way, wrong))
                if heard.status == 200:
                    assert heard.json() == {"ok": True}
                else:
                    checked(heard, dialect, *REFUSALS, "home-not-local")
        quiet(stage)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" ",
        b"null",
        b"[]",
        b'"a"',
        b"0",
        b"{",
        b"{}{}",
        b"{} x",
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{\x00}\x00",
        b'{"model":"\xff"}',
        b'{"model":"\xed\xa0\x80"}',
        b'{"a":1,"a":2}',
        b'{"a":1,"\\u0061":2}',
        b'{"messages":[],"Messages":[]}',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":01}',
        b'{"a":1,}',
        b'{"a":"\n"}',
        b"{'a':1}",
        b'{"a":\x00}',
        b'{"a":"\\ud800"}',
    ],
)
async def test_what_is_no_strict_json_does_not_leave(raw: bytes) -> None:
    """Whatever two readers could read in two ways is refused on the cloud leg."""
    async with staged() as stage, Talk(stage.node.parts.listener.port) as talk:
        heard = await talk.ask("/v1/messages", raw, {"content-length": str(len(raw))})
        assert (heard.status, checked(heard, "anthropic_messages")) == (400, "body-invalid")
        assert stage.upstream.accepted == 0
        quiet(stage)


@DIALECTS
async def test_ten_thousand_messages_pass(dialect: str) -> None:
    """A long history is no error, and no byte of it changes."""
    key = "input" if dialect == "openai_responses" else "messages"
    many = [{"role": ("user", "assistant")[i % 2], "content": f"{i}"} for i in range(10_000)]
    raw = json.dumps({"model": "m", "stream": False, key: many}).encode()
    async with staged() as stage, Talk(stage.node.parts.listener.port) as talk:
        assert (await talk.ask(PATHS[dialect], raw)).status == 200
        assert stage.upstream.requests[0].body == raw


def nested(levels: int, opening: str, closing: str) -> bytes:
    return f'{{"model":"m","x":{opening * levels}1{closing * levels}}}'.encode()


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
@pytest.mark.parametrize("leg", Leg)
async def test_depth_has_a_bound(opening: str, closing: str, leg: Leg) -> None:
    """100 levels pass; 101 and 100 000 are refused alike, closed or not."""
    levels = opening.count("[") + opening.count("{")
    async with staged(leg=leg) as stage, Talk(stage.node.parts.listener.port) as talk:
        fine = nested(98 // levels, opening, closing)
        assert (await talk.ask("/v1/messages", fine)).status == 200
        accepted = len(stage.upstream.requests)
        for raw in (
            nested(100 // levels + 1, opening, closing),
            nested(100_000, opening, closing),
            f'{{"x":{opening * 100_000}'.encode(),
        ):
            heard = await talk.ask("/v1/messages", raw)
            assert (heard.status, checked(heard, "anthropic_messages")) == (400, "body-invalid")
        assert len(stage.upstream.requests) == accepted
        quiet(stage)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("values", b'{"model":"m","x":[' + b"0," * 1_000_000 + b"0]}"),
        ("members", json.dumps({"model": "m", **{f"k{i}": i for i in range(2_000)}}).encode()),
        (
            "messages",
            b'{"model":"m","messages":[' + b'{"role":"user"},' * 100_000 + b'{"role":"user"}]}',
        ),
    ],
)
async def test_numbers_have_bounds(name: str, raw: bytes) -> None:
    """More values, top-level members or messages than anyone sends are refused, with the bound in
    the words."""
    async with staged() as stage, Talk(stage.node.parts.listener.port) as talk:
        heard = await talk.ask("/v1/messages", raw)
        assert (heard.status, checked(heard, "anthropic_messages")) == (400, "body-invalid")
        assert f"0 {name}" in heard.body.decode()
        assert stage.upstream.accepted == 0


async def test_huge_strings_and_keys_pass_unchanged() -> None:
    """A text of 8 MB, a key of 1 MB and 100 000 members below the top are no reason to refuse."""
    text = "The rain in Spain stays mainly in the plain. " * (8_000_000 // 45)
    schema = {"k" * 1_000_000: 1, **{f"k{i}": i for i in range(100_000)}}
    body = {"model": "m", "metadata": schema, "messages": [{"role": "user", "content": text}]}
    raw = json.dumps(body).encode()
    async with staged() as stage, Talk(stage.node.parts.listener.port) as talk:
        assert (await talk.ask("/v1/messages", raw)).status == 200
        assert stage.upstream.requests[0].body == raw


def small(limit: int) -> Callable[[Config], Config]:
    return lambda config: replace(config, listen=replace(config.listen, max_body=limit))


async def test_one_byte_too_many_is_refused_before_it_is_read() -> None:
    """A declared length over the default of 64 MiB costs one head, whatever is behind it."""
    async with staged() as stage, Talk(stage.node.parts.listener.port) as talk:
        heard = await talk.ask("/v1/messages", b"{", {"content-length": str(2**26 + 1)})
        assert (heard.status, checked(heard, "anthropic_messages")) == (413, "body-too-large")
        assert "64 MiB" in heard.body.decode()
        assert stage.upstream.accepted == 0


@pytest.mark.parametrize("extra", [0, 1])
async def test_chunks_are_counted_as_they_come(extra: int) -> None:
    """Without a declared length the same bound holds to the byte."""
    body = b'{"model":"m","messages":[]}'
    raw = body + b" " * (10_000 + extra - len(body))
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in raw) + b"0\r\n\r\n"
    async with staged(change=small(10_000)) as stage, Talk(stage.node.parts.listener.port) as talk:
        head = request(talk.port, "/v1/messages", b"", {"transfer-encoding": "chunked"})
        await talk.send(head + chunks)
        heard = await talk.hear()
        assert heard.status == (413 if extra else 200)
        assert stage.upstream.accepted == 1 - extra


ZEROES = bytes(64 * 2**20 + 1)
BOMBS = {
    "gzip": lambda: gzip.compress(ZEROES, 6),
    "gzip, members": lambda: gzip.compress(bytes(2**20), 6) * 2000,
    "deflate": lambda: zlib.compress(ZEROES, 6),
    "zstd": lambda: zstd.compress(ZEROES),
    "zstd, frames": lambda: zstd.compress(bytes(2**20)) * 4000,
    "zstd, wide window": lambda: zstd.compress(
        ZEROES, options={zstd.CompressionParameter.window_log: 27}
    ),
    "gzip, empty members": lambda: gzip.compress(b"") * 100_000,
}


@pytest.mark.parametrize("name", BOMBS)
async def test_a_bomb_is_refused(name: str) -> None:
    """A body that grows beyond all measure is given up on the way, in any coding."""
    raw = BOMBS[name]()
    coding = name.partition(",")[0]
    async with staged() as stage, Talk(stage.node.parts.listener.port) as talk:
        heard = await talk.ask("/v1/messages", raw, {"content-encoding": coding})
        checked(heard, "anthropic_messages", "body-too-large", "body-invalid")
        assert stage.upstream.accepted == 0
        quiet(stage)


async def test_the_loop_goes_on_while_a_large_body_is_read() -> None:
    """12 MB of new text, framed, screened and proved: others are answered meanwhile, again and
    again. A count and no time: what the machine does else may stretch both alike."""
    text = "A plain line of text, and one more of them.\n" * (12_000_000 // 44)
    body = BODIES["anthropic_messages"](text)
    async with staged() as stage:
        port = stage.node.parts.listener.port
        async with Talk(port) as large, Talk(port) as other:
            asking = asyncio.create_task(large.ask("/v1/messages", body))
            async with asyncio.timeout(20):
                await asyncio.sleep(0.05)
                turns = 0
                while not asking.done():
                    assert (await other.ask("/healthz", method="GET")).status == 200
                    turns += 1
            assert (await asking).status == 200
            assert turns >= 5
