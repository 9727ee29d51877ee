"""Listeners, typed errors for what is no request, bounds on slow clients, draining."""

import asyncio
import gc
import json
import random
import socket

import pytest
from aiohttp import web

from policies.notices import NOTICES, words
from proxy.errors import Refused
from proxy.server import CannotListen, Listener, read_body, settle

HOST = b"Host: 127.0.0.1\r\n"
CANARY = b"canary-of-the-client"


def dressed(refused: Refused, dialect: str) -> web.Response:
    said = words(refused.code, refused.facts)
    return web.json_response(
        {"dialect": dialect, "said": said}, status=NOTICES[refused.code].status
    )


class Stage:
    """A listener with a handler that can be exchanged, and what it had to note."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.clients: list[Client] = []
        self.loop_errors: list[dict] = []
        self.handle = self.count
        self.limit, self.idle = 1000, 5.0
        self.listener = Listener.bind("127.0.0.1", 0)

    async def count(self, request: web.BaseRequest) -> web.StreamResponse:
        awaits = "Expect" in request.headers
        length = int(request.headers.get("Content-Length", 0)) or None
        body = await read_body(
            request, limit=self.limit, idle=self.idle, length=length, awaits=awaits
        )
        return web.Response(text=f"got {len(body)}")

    async def start(self) -> None:
        async def handler(request: web.BaseRequest) -> web.StreamResponse:
            try:
                return await self.handle(request)
            except Refused as refused:
                return dressed(refused, "handler")

        asyncio.get_running_loop().set_exception_handler(
            lambda loop, context: self.loop_errors.append(context)
        )
        await self.listener.start(handler, dress=dressed, note=self.notes.append)

    async def open(self) -> "Client":
        client = Client(*await asyncio.open_connection("127.0.0.1", self.listener.port))
        self.clients.append(client)
        return client


class Client:
    """A raw connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def send(self, *parts: bytes, pause: float = 0.02) -> "Client":
        for part in parts:
            if not self.writer.transport.is_closing():
                self.writer.write(part)
            await asyncio.sleep(pause)
        return self

    async def answer(self, seconds: float = 5) -> tuple[int, dict[str, str], bytes]:
        """Status, headers in lower case, body."""
        async with asyncio.timeout(seconds):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            lines = head.split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
            body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return int(lines[0].split()[1]), headers, body

    async def closed(self, seconds: float = 5) -> bytes:
        """What still comes until the server closes."""
        async with asyncio.timeout(seconds):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""

    def leave(self) -> None:
        self.writer.transport.abort()


@pytest.fixture
async def stage():
    made = Stage()
    await made.start()
    yield made
    await made.listener.stop(0)
    for client in made.clients:
        client.leave()
    await asyncio.sleep(0.01)
    assert made.loop_errors == []


def post(path: bytes, *headers: bytes) -> bytes:
    return (
        b"POST " + path + b" HTTP/1.1\r\n" + HOST + b"".join(h + b"\r\n" for h in headers) + b"\r\n"
    )


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


async def test_a_body_that_stops_arriving(stage):
    """The idle limit runs between two pieces, and ends in a typed error."""
    stage.idle = 0.2
    client = await (await stage.open()).send(post(b"/v1/messages", b"Content-Length: 10"))
    await client.send(b"ab", b"cd", pause=0.15)
    status, _, body = await client.answer(2)
    assert status == 400
    assert "[body-invalid]" in json.loads(body)["said"]


# Bodies


@pytest.mark.parametrize("size", [0, 1, 999, 1000])
async def test_a_body_within_the_limit(stage, size):
    """Read whole, whether its length is declared or not."""
    plain = post(b"/x", b"Content-Length: %d" % size) + b"x" * size
    chunks = b"".join(b"1\r\nx\r\n" for _ in range(size)) + b"0\r\n\r\n"
    client = await stage.open()
    await client.send(plain, post(b"/x", b"Transfer-Encoding: chunked"), chunks)
    assert (await client.answer())[2] == b"got %d" % size
    assert (await client.answer())[2] == b"got %d" % size


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_beyond_the_limit(stage, declared):
    """413 as soon as it is known, from the declared length or from what came."""
    client = await stage.open()
    if declared:
        await client.send(post(b"/x", b"Content-Length: 1001"))
    else:
        await client.send(post(b"/x", b"Transfer-Encoding: chunked"), b"3e9\r\n" + b"x" * 1001)
    status, _, body = await client.answer(2)
    assert status == 413
    assert "1000 bytes" in json.loads(body)["said"]


async def test_limits_are_told_in_mebibytes(stage):
    """The words name the limit as the configuration does."""
    stage.limit = 64 * 2**20
    client = await (await stage.open()).send(post(b"/x", b"Content-Length: 99999999"))
    assert "64 MiB" in json.loads((await client.answer())[2])["said"]


async def test_continue_is_said_when_the_body_is_wanted(stage):
    """`100 Continue` comes before the body, and the answer after it is whole."""
    client = await (await stage.open()).send(
        post(b"/x", b"Content-Length: 2", b"Expect: 100-continue")
    )
    assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    await client.send(b"{}")
    assert (await client.answer())[::2] == (200, b"got 2")


async def test_continue_is_not_said_to_what_is_refused(stage):
    """A body that is too large is not asked for."""
    client = await (await stage.open()).send(
        post(b"/x", b"Content-Length: 2000", b"Expect: 100-continue")
    )
    assert (await client.answer())[0] == 413


async def test_large_bodies_come_whole(stage):
    """Flow control does not lose or stall a body of several megabytes."""
    stage.limit, size = 8 * 2**20, 5 * 2**20
    client = await stage.open()
    await client.send(post(b"/x", b"Content-Length: %d" % size), b"x" * size)
    assert (await client.answer())[2] == b"got %d" % size


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


# Listening and draining


async def test_the_real_port_is_known_before_anything_is_accepted():
    """Port 0 takes a free one; the address is written as a client needs it."""
    listener = Listener.bind("127.0.0.1", 0)
    assert listener.port > 0
    assert listener.url == f"http://127.0.0.1:{listener.port}"
    await listener.stop(0)


async def test_a_name_with_two_addresses_has_one_port():
    """`localhost` listens on each of its addresses, under the same port."""
    listener = Listener.bind("localhost", 0)
    assert {each.getsockname()[1] for each in listener.sockets} == {listener.port}
    await listener.stop(0)


@pytest.mark.parametrize(("host", "url"), [("::1", "http://[::1]:9"), ("[::1]", "http://[::1]:9")])
def test_ipv6_addresses_are_written_in_brackets(host, url):
    """Both spellings of the configuration give one that a client takes."""
    assert Listener(host, 9, ()).url == url


def test_an_address_that_is_taken():
    """The error names the address and the way out, and leaves no socket behind."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(CannotListen, match=rf"127\.0\.0\.1:{port}: .*in use.*listen\.port"):
            Listener.bind("127.0.0.1", port)


def test_an_address_that_is_none():
    """A host that does not resolve is told as such."""
    with pytest.raises(CannotListen, match=r"listen\.host"):
        Listener.bind("no such host.invalid", 0)


async def test_draining_lets_requests_end(stage):
    """New connections are refused, resting ones closed, an upload and an answer end whole."""
    release = asyncio.Event()

    async def slow(request):
        response = await stage.count(request)
        await release.wait()
        return response

    stage.handle = slow
    resting, upload = await stage.open(), await stage.open()
    await upload.send(post(b"/x", b"Content-Length: 4"), b"ab")
    stopping = asyncio.create_task(stage.listener.stop(5))
    assert await resting.closed() == b""
    with pytest.raises(ConnectionError):
        await stage.open()
    await upload.send(b"cd")
    release.set()
    assert (await upload.answer())[2] == b"got 4"
    assert await upload.closed() == b""
    async with asyncio.timeout(1):
        await stopping


@pytest.mark.parametrize("how", ["limit", "signal"])
async def test_draining_ends(stage, how):
    """What has not ended at the limit, or when told so, is cancelled."""
    ended, begun, at_once = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def endless(request):
        try:
            begun.set()
            await asyncio.sleep(60)
        finally:
            ended.set()

    stage.handle = endless
    client = await (await stage.open()).send(post(b"/x"))
    await begun.wait()
    stopping = asyncio.create_task(stage.listener.stop(0.2 if how == "limit" else 60, at_once))
    await asyncio.sleep(0.1)
    assert not ended.is_set()
    if how == "signal":
        at_once.set()
    async with asyncio.timeout(2):
        await stopping
    assert ended.is_set()
    assert await client.closed() == b""


async def test_a_connection_serves_many_requests(stage):
    """Keep-alive, also when requests come before their predecessors are answered."""
    client = await stage.open()
    await client.send(post(b"/x") * 40)
    for _ in range(40):
        assert (await client.answer())[2] == b"got 0"


def test_settling_freezes_what_is_there():
    """The collector leaves start-up's objects alone and runs less often."""
    before = gc.get_threshold()
    try:
        settle()
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold()[0] == 50_000
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
