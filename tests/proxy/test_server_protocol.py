"""Typed errors for what is no request, bounds on slow clients, handlers that end early."""

import asyncio
import json
import random
import sys

import pytest
from aiohttp import web

from tests.proxy.stage import CANARY, HOST, post, stage

__all__ = ["stage"]


# What is no request


@pytest.mark.parametrize(
    ("sent", "dialect"),
    [
        (CANARY + b"\r\n\r\n", "openai_chat"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + CANARY, "openai_chat"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "openai_chat"),
        (b"POST /v1/messages HTTP/1.1\r\n" + CANARY + b"\r\n\r\n", "anthropic_messages"),
        (b"POST /v1/messages HTTP/1.1\n" + HOST + b"\r\n", "anthropic_messages"),
        (b"POST /v1/messages HTTP/9\r\n\r\n", "anthropic_messages"),
        (b"POST /v1/responses HTTP/1.1\r\n\r\n", "openai_responses"),
        (b"POST /t/tok/api/chat HTTP/1.1\r\nHost\r\n\r\n", "ollama_chat"),
        (b"GET /v1/models HTTP/1.1\r\nAnthropic-Version: 1\r\n" + CANARY, "anthropic_messages"),
        (b"POST /v1/chat/completions HTTP/1.1\r\nX: a\x00b\r\n\r\n", "openai_chat"),
        (b"POST /api/chat HTTP/1.1\r\n" + HOST + HOST + b"\r\n", "ollama_chat"),
        (b"GET /\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n", "openai_chat"),
        (b"GET http:///" + CANARY + b" HTTP/1.1\r\n" + HOST + b"\r\n", "openai_chat"),
        (b"GET /v1/messages HTTP/1.1\r\n" + HOST + b" folded: x\r\n\r\n", "anthropic_messages"),
        (post(b"/v1/messages", b"Content-Length: 1", b"Content-Length: 1"), "anthropic_messages"),
        (
            post(b"/v1/messages", b"Content-Length: 1", b"Transfer-Encoding: chunked"),
            "anthropic_messages",
        ),
        (post(b"/v1/messages", b"Content-Length: " + CANARY), "anthropic_messages"),
        (post(b"/v1/messages", b"Transfer-Encoding: gzip"), "anthropic_messages"),
        (post(b"/api/chat", *[b"X-%d: y" % n for n in range(300)]), "ollama_chat"),
    ],
)  # fmt: skip
async def test_what_is_no_http_gets_a_typed_error(stage, sent, dialect):
    """JSON in the nearest dialect, nothing of the input in it, and the connection ends."""
    client = await (await stage.open()).send(sent)
    if not sent.endswith(b"\r\n\r\n") and sent.startswith(b"GET /v1/models"):
        await client.send(b"\r\n\r\n")
    status, headers, body = await client.answer()
    assert (status, headers["content-type"]) == (400, "application/json; charset=utf-8")
    assert json.loads(body)["dialect"] == dialect
    assert json.loads(body)["said"].startswith("[door-refused]")
    assert CANARY not in body
    assert "server" not in headers
    assert await client.closed() == b""
    assert stage.notes == []


@pytest.mark.parametrize("pieces", [1, 50])
@pytest.mark.parametrize(
    "header", [b"X: " + b"y" * 70_000, b"y" * 70_000 + b": x"], ids=["value", "name"]
)
async def test_a_header_of_70_kb(stage, header, pieces):
    """Refused in the dialect of the path, whether it comes at once or in pieces."""
    whole = b"POST /v1/responses HTTP/1.1\r\n" + HOST + header
    step = len(whole) // pieces + 1
    client = await stage.open()
    await client.send(*(whole[at : at + step] for at in range(0, len(whole), step)), pause=0.002)
    status, _, body = await client.answer()
    assert (status, json.loads(body)["dialect"]) == (400, "openai_responses")
    assert await client.closed() == b""


async def test_many_headers_that_are_too_large_together(stage):
    """The bound is on the whole head, not on each header, and holds before it has come whole."""
    client = await (await stage.open()).send(b"POST /api/chat HTTP/1.1\r\n" + HOST)
    for number in range(70):
        await client.send(b"X-%d: " % number + b"y" * 1000 + b"\r\n", pause=0)
    status, _, body = await client.answer()
    assert status == 400
    assert json.loads(body)["dialect"] == "ollama_chat"
    assert "64 kB" in json.loads(body)["said"]


async def test_a_long_address(stage):
    """A request line has no bound of its own that would be smaller."""
    client = await (await stage.open()).send(
        b"GET /v1/messages?" + b"a" * 60_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n"
    )
    assert (await client.answer())[0] == 200


async def test_garbage_behind_a_request(stage):
    """The request is answered, then the garbage is refused, then the connection ends."""
    client = await (await stage.open()).send(post(b"/x"), CANARY + b"\r\n\r\n", b"more\r\n" * 9)
    assert (await client.answer())[0] == 200
    status, _, body = await client.answer()
    assert status == 400
    assert CANARY not in body
    assert await client.closed() == b""


async def test_an_oversized_head_behind_a_request_in_flight(stage):
    """The answer in flight is not cut off by what follows it."""
    release = asyncio.Event()

    async def slow(request):
        await release.wait()
        return web.Response(text="done")

    stage.handle = slow
    client = await (await stage.open()).send(post(b"/x"), b"POST /v1/messages HTTP/1.1\r\n")
    await client.send(*[b"X: " + b"y" * 10_000 + b"\r\n"] * 8)
    release.set()
    assert (await client.answer())[2] == b"done"
    assert (await client.answer())[0] == 400


async def test_broken_chunks_end_the_reading_at_once(stage):
    """The reader of the body is told; it does not wait for its idle limit."""
    client = await (await stage.open()).send(
        post(b"/v1/messages", b"Transfer-Encoding: chunked"), b"2\r\nab\r\n", CANARY + b"\r\n"
    )
    status, _, body = await client.answer(seconds=2)
    assert (status, json.loads(body)["dialect"]) == (400, "handler")
    assert "[body-invalid]" in json.loads(body)["said"]
    assert await client.closed() == b""


async def test_random_bytes_never_break_the_server(stage):
    """Mutated requests get an answer or an end; nothing escapes, nothing is noted."""
    draw = random.Random(7)
    seed = post(b"/v1/messages?beta=true", b"Content-Length: 2", b"X: y") + b"{}"
    for _ in range(150):
        data = bytearray(seed)
        for _ in range(draw.randint(1, 6)):
            data[draw.randrange(len(data))] = draw.choice(b"\x00\r\n :/%#\xff\x80Aa1{")
        client = await (await stage.open()).send(bytes(data), pause=0)
        client.writer.write_eof()
        await client.closed()
    assert stage.notes == []


# Slow clients


async def test_a_head_that_does_not_arrive(stage, monkeypatch):
    """Half a head is answered after the limit; a silent connection is closed without a word."""
    monkeypatch.setattr("proxy.server_protocol.HEAD_SECONDS", 0.2)
    half = await (await stage.open()).send(b"POST /api/chat HTTP/1.1\r\nX: ")
    silent = await stage.open()
    status, _, body = await half.answer()
    assert (status, json.loads(body)["dialect"]) == (400, "ollama_chat")
    assert "too long" in json.loads(body)["said"]
    assert await silent.closed() == b""


async def test_a_drip_of_header_bytes_does_not_prolong_the_limit(stage, monkeypatch):
    """One byte now and then holds a connection no longer than silence does."""
    monkeypatch.setattr("proxy.server_protocol.HEAD_SECONDS", 0.3)
    client = await stage.open()
    await client.send(b"POST /v1/messages?", *[b"x"] * 30, pause=0.02)
    async with asyncio.timeout(1):
        assert b"[door-refused]" in await client.closed()


async def test_a_second_head_on_the_same_connection_is_bounded_too(stage, monkeypatch):
    """Rest between requests is free; a head that has begun is not."""
    monkeypatch.setattr("proxy.server_protocol.HEAD_SECONDS", 0.2)
    client = await (await stage.open()).send(post(b"/x"))
    assert (await client.answer())[0] == 200
    await asyncio.sleep(0.4)
    await client.send(post(b"/x"))
    assert (await client.answer())[0] == 200
    await client.send(b"POST /v1/mess")
    assert (await client.answer())[0] == 400


# Clients that leave, handlers that fail


@pytest.mark.parametrize("phase", ["reading", "waiting", "streaming"])
async def test_a_client_that_leaves_cancels_its_handler(stage, phase):
    """Within a second, in every phase."""
    ended, begun = asyncio.Event(), asyncio.Event()

    async def handler(request):
        try:
            begun.set()
            if phase == "reading":
                return await stage.count(request)
            response = web.StreamResponse()
            if phase == "streaming":
                await response.prepare(request)
            while True:
                await asyncio.sleep(0.01)
                if phase == "streaming":
                    await response.write(b"x")
        finally:
            ended.set()

    stage.handle = handler
    client = await (await stage.open()).send(
        post(b"/x", b"Content-Length: 10" if phase == "reading" else b"X: y")
    )
    await begun.wait()
    client.leave()
    async with asyncio.timeout(1):
        await ended.wait()


async def test_a_handler_that_fails(stage):
    """The client gets a typed error; the note is the kind alone, not the words."""

    async def broken(request):
        raise ValueError(CANARY.decode())

    stage.handle = broken
    client = await (await stage.open()).send(post(b"/v1/messages"))
    status, _, body = await client.answer()
    assert status == 500
    assert json.loads(body)["dialect"] == "anthropic_messages"
    assert json.loads(body)["said"].startswith("[internal-error]")
    assert CANARY not in body
    assert await client.closed() == b""
    assert stage.notes == ["ValueError"]


async def test_a_handler_that_fails_in_the_middle_of_its_answer(stage):
    """Nothing is appended to an answer that has begun; the connection ends."""

    async def broken(request):
        response = web.StreamResponse(headers={"Content-Length": "10"})
        await response.prepare(request)
        await response.write(b"ab")
        raise ValueError(CANARY.decode())

    stage.handle = broken
    client = await (await stage.open()).send(post(b"/v1/messages"))
    assert (await client.closed()).endswith(b"\r\n\r\nab")
    assert stage.notes == ["ValueError"]


async def test_a_handler_that_returns_nothing(stage):
    """Even that bug ends in an answer, and is noted."""

    async def forgetful(request):
        return None

    stage.handle = forgetful
    client = await (await stage.open()).send(post(b"/x"))
    assert (await client.answer())[0] == 500
    assert stage.notes


async def test_a_connection_serves_many_requests(stage):
    """Keep-alive, also when requests come before their predecessors are answered."""
    client = await stage.open()
    await client.send(post(b"/x") * 40)
    for _ in range(40):
        assert (await client.answer())[2] == b"got 0"


async def test_a_handler_begins_at_once_in_the_task_of_its_connection(stage):
    """No task is made for a request, and no turn of the loop waits for one; the client that leaves
    takes that very task along."""
    tasks = []

    async def handler(request):
        tasks.append(asyncio.current_task())
        return web.Response(text="ok")

    stage.handle = handler
    client = await stage.open()
    for _ in range(3):
        await client.send(post(b"/x"))
        assert (await client.answer())[0] == 200
    assert len(set(tasks)) == (1 if sys.version_info < (3, 12) else 3)
    client.leave()
    async with asyncio.timeout(1):
        await asyncio.wait([tasks[0]])
