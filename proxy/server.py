"""Listeners, signals, draining, and the reading of a body.

Owns sockets and the life of the process between start and stop. It must not know what a request
means: that is the handler's. Nothing here reads a configuration.
"""

import asyncio
import contextlib
import ctypes
import gc
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TextIO

from aiohttp import StreamReader, web
from aiohttp.web_protocol import RequestPayloadError

from proxy.errors import Refused
from proxy.notify import READY, STOPPING
from proxy.patience import Patience
from proxy.server_protocol import Dress, Handler, Server

__all__ = [
    "CannotListen",
    "Dress",
    "Handler",
    "Listener",
    "read_body",
    "run",
    "settle",
    "share_memory",
    "share_time",
]

DRAIN_SECONDS: Final = 30.0
_BACKLOG: Final = 1024
_STEP: Final = 0.05
_MOMENT: Final = 0.3
_YOUNG: Final = 50_000
_AGAIN, _ALL = 2, 40
_M_ARENA_MAX: Final = -8  # malloc.h
_TURN: Final = 0.001  # seconds


class CannotListen(Exception):
    """An address cannot be listened on; the message names it and the way out."""


@dataclass(slots=True)
class Listener:
    """One address. Bound first, so that its real port is known, then started."""

    host: str
    port: int
    sockets: Sequence[socket.socket]
    _servers: list[asyncio.Server] = field(default_factory=list)
    _web: Server | None = None

    @classmethod
    def bind(cls, host: str, port: int) -> "Listener":
        """Reserve `host` and `port`; 0 takes a free one. Raises `CannotListen`."""
        sockets: list[socket.socket] = []
        failure: OSError | None = None
        for family, address in _resolve(host, port):
            try:
                real = sockets[0].getsockname()[1] if sockets else address[1]
                sockets.append(_socket(family, (address[0], real)))
            except OSError as problem:
                failure = problem
        if not sockets:
            raise CannotListen(_trouble(host, port, failure))
        return cls(host, sockets[0].getsockname()[1], sockets)

    @property
    def url(self) -> str:
        """`http://HOST:PORT` with the real port."""
        bare = ":" in self.host and not self.host.startswith("[")
        return f"http://[{self.host}]:{self.port}" if bare else f"http://{self.host}:{self.port}"

    async def start(
        self, handler: Handler, *, dress: Dress, note: Callable[[str], None] = lambda kind: None
    ) -> None:
        """Accept. `dress` makes answers to what is no request; `note` hears the kind of whatever
        `handler` lets escape."""
        self._web = Server(handler, dress=dress, note=note)
        loop = asyncio.get_running_loop()
        for each in self.sockets:
            server = await loop.create_server(self._web, sock=each, backlog=_BACKLOG)
            self._servers.append(server)

    async def stop(self, seconds: float, at_once: asyncio.Event | None = None) -> None:
        """Accept nothing more and let requests in flight end, for at most `seconds` or until
        `at_once` is set; then cancel them."""
        for server in self._servers:
            server.close()
        for each in self.sockets:
            each.close()
        if self._web is None:
            return
        deadline = asyncio.get_running_loop().time() + seconds
        while self._web.retire() and asyncio.get_running_loop().time() < deadline:
            if at_once is not None and at_once.is_set():
                break
            await asyncio.sleep(_STEP)
        await self._web.cut()


async def run(
    listeners: Sequence[Listener],
    *,
    reload: Callable[[], Awaitable[None]],
    drain: float = DRAIN_SECONDS,
    words: TextIO | None = None,
    tell: Callable[[str], None] = lambda state: None,
) -> None:
    """Announce the listeners, then serve until SIGTERM or SIGINT, then drain; a second signal ends
    the draining at once. SIGHUP calls `reload`, one call at a time; it must not raise. `tell` hears
    when the node is ready and when it begins to end, in the words of `proxy.notify`."""
    loop = asyncio.get_running_loop()
    stop, at_once, again = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def stopped() -> None:
        (at_once if stop.is_set() else stop).set()

    handled = ((signal.SIGTERM, stopped), (signal.SIGINT, stopped), (signal.SIGHUP, again.set))
    for number, action in handled:
        loop.add_signal_handler(number, action)
    reloading = asyncio.create_task(_reload_when(again, reload))
    try:
        for listener in listeners:
            _say(f"listening {listener.url}", words)
        tell(READY)
        await stop.wait()
        tell(STOPPING)
        await _end(listeners, drain, at_once, words)
    finally:
        reloading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reloading
        for number, _ in handled:
            loop.remove_signal_handler(number)


async def _end(
    listeners: Sequence[Listener], drain: float, at_once: asyncio.Event, words: TextIO | None
) -> None:
    """Drain, and say so where it takes longer than a moment: nothing else would be seen."""
    stopping = asyncio.gather(*(listener.stop(drain, at_once) for listener in listeners))
    try:
        await asyncio.wait({stopping}, timeout=_MOMENT)
        if not stopping.done():
            limit = f"for at most {drain:g} seconds; a second signal ends them"
            _say(f"ending: requests in flight go on, {limit}", words)
        await stopping
    finally:
        stopping.cancel()


def _say(line: str, words: TextIO | None) -> None:
    """A plain line. Where nobody reads it any more a node serves and drains all the same."""
    with contextlib.suppress(OSError):
        print(line, file=words or sys.stderr, flush=True)


async def _reload_when(again: asyncio.Event, reload: Callable[[], Awaitable[None]]) -> None:
    while True:
        await again.wait()
        again.clear()
        await reload()


def share_memory() -> None:
    """Before any thread starts: all of them take memory from one pool, so that what one has freed
    the others use. glibc gives each a pool of its own, which matters little to threads that take
    turns anyway. Measured with tool results of 1 MB: 245 MB with many pools, 211 MB with one."""
    if hasattr(c := ctypes.CDLL(None), "mallopt"):  # glibc alone
        c.mallopt(_M_ARENA_MAX, 1)


def share_time() -> None:
    """Before any thread starts: who waits for the interpreter has it after a millisecond and not
    after five. While a thread reads a large body, the loop waits so at every read and write of a
    socket. Measured with 2 MB that are new: the loop was held for 19 ms at most, and is for 7."""
    sys.setswitchinterval(_TURN)


def settle() -> None:
    """After start-up: what is there stays, so the collector need not look at it again. Measured:
    to walk all of it holds the loop for 35 ms; throughput is the same either way. What has survived
    is looked at again before there is much of it, and all of it as seldom as ever: a body of 30 000
    parts held the loop for twice as long."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _AGAIN, _ALL)


async def read_body(
    request: web.BaseRequest,
    *,
    limit: int,
    idle: float,
    length: int | None = None,
    awaits: bool = False,
) -> bytes:
    """The body as it stood on the wire, at most `limit` bytes, with at most `idle` seconds between
    two pieces. `length` and `awaits` as the door found them. Raises `Refused`: `body-too-large`,
    `body-invalid`."""
    if length is not None and length > limit:
        raise _too_large(limit)
    if awaits:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0
    arrived = request.content
    try:
        # Most bodies have arrived with their head; nobody waits, so nobody needs a clock.
        body = arrived.read_nowait() if arrived.is_eof() else await _awaited(arrived, limit, idle)
    except TimeoutError:
        raise Refused("body-invalid", reason="the rest of it did not arrive in time") from None
    except RequestPayloadError:
        raise Refused("body-invalid", reason="its chunks cannot be read") from None
    if len(body) > limit:
        raise _too_large(limit)
    return body


async def _awaited(arriving: StreamReader, limit: int, idle: float) -> bytes:
    """All of it, or a little more than `limit` bytes. Raises `TimeoutError`."""
    pieces, total = [], 0
    async with asyncio.timeout(None) as clock:
        # A piece begins a wait anew, which costs less than a timer of its own.
        patience = Patience(idle, lambda: clock.reschedule(0))
        patience.begin()
        try:
            while total <= limit and (piece := await arriving.readany()):
                pieces.append(piece)
                total += len(piece)
                patience.begin()
            return b"".join(pieces)
        finally:
            patience.stop()
            # Where the client has left, the error holds this frame, and a ring holds the error.
            piece = b""
            pieces.clear()


def _too_large(limit: int) -> Refused:
    mebi = limit / 2**20
    words = f"{mebi:g} MiB" if mebi >= 1 else f"{limit} bytes"
    return Refused("body-too-large", limit=words)


def _resolve(host: str, port: int) -> Iterable[tuple[int, tuple[str, int]]]:
    try:
        found = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except socket.gaierror:
        raise CannotListen(f"{host} is not an address of this machine; see `listen.host`") from None
    return [(family, (str(address[0]), port)) for family, _, _, _, address in found]


def _socket(family: int, address: tuple[str, int]) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.setblocking(False)
        made.bind(address)
    except OSError:
        made.close()
        raise
    return made


def _trouble(host: str, port: int, failure: OSError | None) -> str:
    why = failure.strerror if failure else "it has no address"
    return f"cannot listen on {host}:{port}: {why}. Stop what uses it, or choose `listen.port`"
