"""How an answer stands on a client's connection: its length, its chunks, its end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from proxy.wire import Wire

Act = Callable[[web.BaseRequest], Awaitable[Wire]]
Pairs = list[tuple[str, str]]


@asynccontextmanager
async def asked(act: Act, request: bytes) -> AsyncIterator[asyncio.StreamReader]:
    server = web.Server(act, access_log=None)
    listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*listener.sockets[0].getsockname()[:2])
    try:
        writer.write(request)
        yield reader
    finally:
        writer.transport.abort()
        listener.close()
        await server.shutdown(1)


async def heard(act: Act, line: bytes, headers: bytes = b"Connection: close\r\n") -> bytes:
    request = b"%b\r\nHost: here\r\n%b\r\n" % (line, headers)
    async with asked(act, request) as reader, asyncio.timeout(5):
        return await reader.read(-1)


def says(headers: Pairs, *chunks: bytes, status: int = 200) -> Act:
    async def act(request: web.BaseRequest) -> Wire:
        wire = Wire(request, status, None, headers)
        for chunk in chunks:
            wire.chunk(chunk)
        wire.end()
        return wire

    return act


@pytest.mark.parametrize(
    ("line", "headers", "status", "body", "framing"),
    [
        (b"GET / HTTP/1.1", [], 200, b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", b"Transfer-Encoding"),
        (b"GET / HTTP/1.1", [("Content-Length", "3")], 200, b"abc", b"Content-Length: 3"),
        (b"GET / HTTP/1.1", [("content-length", "2")], 200, b"ab", b"content-length: 2"),
        (b"GET / HTTP/1.0", [], 200, b"abc", b""),
        (b"HEAD / HTTP/1.1", [("Content-Length", "3")], 200, b"", b"Content-Length: 3"),
        (b"HEAD / HTTP/1.1", [], 200, b"", b""),
        (b"GET / HTTP/1.1", [("Content-Length", "3")], 204, b"", b""),
        (b"GET / HTTP/1.1", [("Content-Length", "3")], 304, b"", b""),
    ],
)
async def test_the_end_of_a_body_can_be_told(
    line: bytes, headers: Pairs, status: int, body: bytes, framing: bytes
) -> None:
    """By its length, by its chunks or by the end of the connection; where there is none, not at
    all, and nothing more than was told ever follows."""
    head, _, sent = (await heard(says(headers, b"ab", b"", b"c", status=status), line)).partition(
        b"\r\n\r\n"
    )
    assert sent == body
    assert [name for name in (b"transfer-encoding", b"content-length") if name in head.lower()] == (
        [framing.partition(b":")[0].lower()] if framing else []
    )
    assert framing in head


@pytest.mark.parametrize(
    ("line", "headers", "said"),
    [
        (b"GET / HTTP/1.1", b"Connection: close\r\n", b"Connection: close"),
        (b"GET / HTTP/1.0", b"Connection: keep-alive\r\n", b"Connection: keep-alive"),
        (b"GET / HTTP/1.0", b"", b""),
        (b"GET / HTTP/1.1", b"", b""),
    ],
)
async def test_what_becomes_of_the_connection_is_said_where_it_is_not_usual(
    line: bytes, headers: bytes, said: bytes
) -> None:
    """HTTP/1.1 keeps it, HTTP/1.0 closes it."""
    act = says([("Content-Length", "1")], b"x")
    request = b"%b\r\nHost: here\r\n%b\r\n" % (line, headers)
    async with asked(act, request) as reader, asyncio.timeout(5):
        head = await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(1) == b"x"
    assert [each for each in head.split(b"\r\n") if each.startswith(b"Connection")] == (
        [said] if said else []
    )


async def test_the_head_leaves_with_the_first_chunk_or_when_it_is_told_to() -> None:
    """Once, however often it is asked for."""
    written: list[int] = []

    async def act(request: web.BaseRequest) -> Wire:
        wire = Wire(request, 200, None, [])
        written.append(request.writer.output_size)
        wire.begin()
        written.append(request.writer.output_size)
        wire.begin()
        written.append(request.writer.output_size)
        wire.end()
        return wire

    data = await heard(act, b"GET / HTTP/1.1")
    assert written == [0, len(data) - 5, len(data) - 5]


async def test_an_answer_without_its_end_ends_the_connection() -> None:
    """What follows would be taken for the rest of it."""

    async def act(request: web.BaseRequest) -> Wire:
        wire = Wire(request, 200, None, [("Content-Length", "9")])
        wire.chunk(b"half")
        return wire

    assert (await heard(act, b"GET / HTTP/1.1", b"")).endswith(b"half")


async def test_nothing_is_written_to_who_has_left() -> None:
    """Writing says so."""
    outcome: list[str] = []

    async def act(request: web.BaseRequest) -> Wire:
        wire = Wire(request, 200, None, [])
        assert request.transport is not None
        request.transport.close()
        wire.begin()
        for write in (wire.end, lambda: wire.chunk(b"x")):
            try:
                write()
            except ConnectionError:
                outcome.append("left")
        return wire

    assert await heard(act, b"GET / HTTP/1.1") == b""
    assert outcome == ["left"] * 2
