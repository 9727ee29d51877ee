"""A listener with a handler that can be exchanged, and raw connections to it."""

import asyncio

import pytest
from aiohttp import web

from policies.notices import NOTICES, words
from proxy.errors import Refused
from proxy.server import Listener, read_body

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
