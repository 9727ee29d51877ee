"""One request over one connection: what is written, and when the connection may be used again."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp.http_exceptions import HttpProcessingError

from proxy import exchange as exchanging
from proxy.connector import Connector
from proxy.exchange import Exchange, Response, Silent

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
LIMITS = aiohttp.ClientTimeout(total=None, connect=2, sock_connect=2)


@dataclass
class Peer:
    """A raw server. `act` is called with everything that a connection has sent so far; what it
    returns is said."""

    act: Callable[[bytearray], bytes]
    url: str = ""
    heard: list[bytearray] = field(default_factory=list)
    ended: list[asyncio.Event] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard, ended = bytearray(), asyncio.Event()
        self.heard.append(heard)
        self.ended.append(ended)
        try:
            while data := await reader.read(65536):
                heard += data
                writer.write(self.act(heard))
        except ConnectionError:
            pass
        finally:
            ended.set()
            writer.close()


@asynccontextmanager
async def peer(act: Callable[[bytearray], bytes]) -> AsyncIterator[Peer]:
    one = Peer(act)
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0)
    async with server:
        one.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield one


@pytest.fixture
async def exchange() -> AsyncIterator[Exchange]:
    made = Exchange(Connector())
    yield made
    await made.close()


async def ask(
    exchange: Exchange, base_url: str, body: bytes = b"", method: str = "POST", patience: float = 9
) -> Response:
    return await exchange.ask(
        base_url, method, "/a?b=c", [("x-one", "1")], body, limits=LIMITS, first_byte=patience
    )


def whole(size: int) -> Callable[[bytearray], bytes]:
    """Answer when the head and `size` bytes of a body have come."""

    def act(heard: bytearray) -> bytes:
        end = heard.find(b"\r\n\r\n")
        return OK if end > 0 and len(heard) == end + 4 + size else b""

    return act


@pytest.mark.parametrize("size", [0, 1, 64 * 1024, 64 * 1024 + 1, 2**20, 2**20 + 1, 5 * 2**20])
async def test_a_body_of_any_length_is_written_whole(exchange: Exchange, size: int) -> None:
    """With its head, behind it, or piece by piece: the bytes are the same."""
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    async with peer(whole(size)) as server:
        response = await ask(exchange, server.url, body)
        assert (response.status, await response.content.read()) == (200, b"{}")
        (heard,) = server.heard
    head, _, sent = bytes(heard).partition(b"\r\n\r\n")
    assert sent == body
    host = server.url.removeprefix("http://")
    lines = [
        "POST /a?b=c HTTP/1.1",
        f"Host: {host}",
        "x-one: 1",
        f"Content-Length: {size}",
    ]
    assert head.decode().split("\r\n") == lines


async def test_the_path_of_a_base_url_stands_before_every_other(exchange: Exchange) -> None:
    """It is written as it stands in the configuration."""
    async with peer(lambda heard: OK) as server:
        await ask(exchange, f"{server.url}/some%2Fwhere/deep")
        assert server.heard[0].startswith(b"POST /some%2Fwhere/deep/a?b=c HTTP/1.1\r\n")


async def test_a_connection_goes_back_when_its_answer_has_ended(exchange: Exchange) -> None:
    """And not before: a second request at the same time takes another."""
    begun = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{"
    async with peer(lambda heard: begun if heard.count(b"POST") == 1 else OK) as server:
        first = await ask(exchange, server.url)
        second = await ask(exchange, server.url)
        assert len(server.heard) == 2
        for each in (first, second):
            each.close()
            each.close()
        third = await ask(exchange, server.url)
        assert len(server.heard) == 3
        third.close()


@pytest.mark.parametrize("at_once", [2**20, 2**30])
async def test_who_answers_before_hearing_all_is_not_asked_again_there(
    exchange: Exchange, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is still to be written of the first request would stand before the second; whether it
    waits in a task or in the transport."""
    monkeypatch.setattr(exchanging, "_AT_ONCE", at_once)
    hear_on = asyncio.Event()

    async def early(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)
        await hear_on.wait()
        writer.close()

    server = await asyncio.start_server(early, "127.0.0.1", 0, limit=1024)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        response = await ask(exchange, url, bytes(32 * 2**20))
        assert await response.content.read() == b"{}"
        assert not response.protocol.is_connected()
        await ask(exchange, url)
        hear_on.set()


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbegun"])
async def test_a_reset_in_the_middle_of_a_long_body(exchange: Exchange, said: bytes) -> None:
    """Who waits for the answer, or for its rest, is told; the task that writes ends in silence."""
    heard = asyncio.Event()

    async def gone(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        if said:
            await heard.wait()
        writer.transport.abort()

    server = await asyncio.start_server(gone, "127.0.0.1", 0, limit=1024)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with pytest.raises(aiohttp.ClientError):
            await told(await ask(exchange, url, bytes(32 * 2**20)), heard)


async def told(response: Response, heard: asyncio.Event) -> None:
    """Hear the answer out once the upload has ended, and leave nothing behind."""
    heard.set()
    assert response._upload is not None
    await asyncio.wait([response._upload], timeout=5)
    try:
        await response.content.read()
    finally:
        response.close()


async def test_what_only_announces_an_answer_is_none(exchange: Exchange) -> None:
    """Early hints and the like are passed over; the answer behind them counts."""
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    async with peer(lambda heard: hints + OK) as server:
        response = await ask(exchange, server.url, b"{}")
        assert (response.version, response.status, response.reason) == ((1, 1), 200, "OK")
        assert "Link" not in response.headers


async def test_an_answer_to_head_has_no_body(exchange: Exchange) -> None:
    """Whatever length it tells; the connection is free at once."""
    async with peer(lambda heard: b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n") as server:
        for _ in range(2):
            response = await ask(exchange, server.url, method="HEAD")
            assert await response.content.read() == b""
        assert len(server.heard) == 1
        assert b"content-length" not in bytes(server.heard[0]).lower()


async def test_silence_before_the_head_of_an_answer(exchange: Exchange) -> None:
    """It ends by itself and leaves no connection behind."""
    async with peer(lambda heard: b"HTTP/1.1 200") as server:
        with pytest.raises(Silent):
            await ask(exchange, server.url, patience=0.1)
        await asyncio.wait_for(server.ended[0].wait(), 1)


@pytest.mark.parametrize("size", [10, 8 * 2**20])
async def test_who_stops_waiting_stops_what_is_being_written(exchange: Exchange, size: int) -> None:
    """A cancelled request closes its connection; nothing of a long body goes on."""
    async with peer(lambda heard: b"") as server:
        task = asyncio.create_task(ask(exchange, server.url, bytes(size)))
        while not server.heard:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(server.ended[0].wait(), 1)
        names = [each.get_coro().__qualname__ for each in asyncio.all_tasks()]
        assert "_upload" not in names


async def test_what_is_no_http_is_the_parsers_error(exchange: Exchange) -> None:
    """The caller has a name for it; the connection is gone."""
    async with peer(lambda heard: b"ICY 200 OK\r\n\r\n") as server:
        with pytest.raises(HttpProcessingError):
            await ask(exchange, server.url)
        await asyncio.wait_for(server.ended[0].wait(), 1)


async def test_a_head_that_could_split_is_never_written(exchange: Exchange) -> None:
    """The last look at a line break is the writer's own; nothing was sent then."""
    split = [("/a", f"1{mark}y: 2") for mark in ("\r\n", "\n", "\r", "\0")]
    async with peer(lambda heard: OK) as server:
        for address, value in [*split, ("/a HTTP/1.1\r\nx: y", "1")]:
            with pytest.raises(ValueError, match="header"):
                await exchange.ask(
                    server.url, "GET", address, [("x", value)], b"", limits=LIMITS, first_byte=1
                )
        assert server.heard == []


async def test_the_limit_runs_for_connecting_as_well(
    exchange: Exchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`connect` is the connector's; it ends in the library's own error."""

    async def never(*args: object) -> object:
        return await asyncio.sleep(60)

    monkeypatch.setattr(Connector, "_create_connection", never)
    short = aiohttp.ClientTimeout(total=None, connect=0.05)
    with pytest.raises(TimeoutError):
        await exchange.ask("http://127.0.0.1:9", "GET", "/", [], b"", limits=short, first_byte=9)


def test_the_sizes_are_in_order() -> None:
    """Together with the head, at once, in pieces: a piece is no longer than what goes at once."""
    assert exchanging._TOGETHER <= exchanging._SLICE <= exchanging._AT_ONCE
