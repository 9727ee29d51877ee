"""A scripted HTTP/1.1 upstream on a raw loopback socket that records every byte it is sent.

Owns the listener and the scripted conversation on each connection. It must not know a dialect, an
SDK or the relay, and uses no HTTP library: what it recorded is the evidence against which
everything that claims "not a byte left" is checked.
"""

import asyncio
import socket
import struct
from collections.abc import Callable, Coroutine, Iterable
from types import TracebackType
from typing import Self

from proxy.demo.connection import Connection, Recorded, Unreadable
from proxy.demo.reply import Fault, Framing, Headers, Reply, Step, compact, steps

__all__ = [
    "Connection",
    "Fault",
    "Framing",
    "Headers",
    "Recorded",
    "Reply",
    "Script",
    "ScriptedUpstream",
    "Step",
    "compact",
]

Script = Callable[[Recorded], Reply | Fault]
"""Decides from the recorded request alone. A fault instead of a reply comes before its status."""


class _Over(Exception):
    """This connection is done with."""


class ScriptedUpstream:
    """`async with ScriptedUpstream(script) as upstream:` listens on 127.0.0.1, a free port.

    `requests` grows when a request has been read whole, `connections` when one is accepted.
    `script` may be exchanged between requests. What a script raises drops the connection and is
    raised again at the end of the `async with`.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[Recorded] = []
        self.connections: list[Connection] = []
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._failures: list[BaseException] = []
        self._arrived = asyncio.Condition()

    @property
    def accepted(self) -> int:
        """How many connections were ever accepted."""
        return len(self.connections)

    @property
    def received(self) -> list[bytes]:
        """Every byte that ever arrived, one string per connection, in the order of acceptance."""
        return [bytes(connection.received) for connection in self.connections]

    @property
    def port(self) -> int:
        """The port that was given. Only while it listens."""
        if self._server is None:
            raise RuntimeError("the upstream is not listening: use it with `async with`")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    @property
    def url(self) -> str:
        """The origin to point a client at, without a trailing slash."""
        return f"http://127.0.0.1:{self.port}"

    async def arrived(self, count: int, seconds: float = 5.0) -> None:
        """Wait until so many requests have been read whole. `TimeoutError` after `seconds`."""
        async with self._arrived, asyncio.timeout(seconds):
            await self._arrived.wait_for(lambda: len(self.requests) >= count)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in self.connections:
            connection.writer.transport.abort()
        await self._server.wait_closed()
        await asyncio.sleep(0)  # lets the aborted transports close their sockets
        if self._failures and error is None:
            raise self._failures[0]

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer)
        self.connections.append(connection)
        self._start(connection.pump())
        self._start(self._serve(connection, len(self.connections) - 1))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (failure := task.exception()) is not None:
            self._failures.append(failure)

    async def _serve(self, connection: Connection, index: int) -> None:
        try:
            while True:
                request = await connection.request(index)
                self.requests.append(request)
                async with self._arrived:
                    self._arrived.notify_all()
                await self._answer(connection, request)
        except Unreadable as problem:
            await _write(connection, steps(Reply(400, chunks=(str(problem).encode(),))))
        except (EOFError, ConnectionError, _Over):
            pass
        finally:
            connection.writer.close()

    async def _answer(self, connection: Connection, request: Recorded) -> None:
        match self.script(request):
            case Reply() as reply:
                await _write(connection, steps(reply, head_only=request.method == "HEAD"))
                if _last(request, reply):
                    raise _Over
            case fault:
                await _write(connection, (fault,))


def _last(request: Recorded, reply: Reply) -> bool:
    asked = {request.header("connection").lower()}
    asked |= {value.lower() for name, value in reply.headers if name.lower() == "connection"}
    return "close" in asked or reply.framing in (Framing.CLOSE, Framing.RAW)


def _reset(writer: asyncio.StreamWriter) -> None:
    endpoint: socket.socket = writer.get_extra_info("socket")
    endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _write(connection: Connection, answer: Iterable[Step]) -> None:
    writer = connection.writer
    for step in answer:
        match step:
            case bytes():
                writer.write(step)
                await writer.drain()
            case asyncio.Event():
                await step.wait()
            case Fault.RESET:
                _reset(writer)
                raise _Over
            case Fault.CLOSE:
                raise _Over
            case Fault.STALL:
                await connection.closed.wait()
                raise _Over
            case seconds:
                await asyncio.sleep(seconds)
