"""One connection: what cannot be read as HTTP gets a typed error, and nobody may be slow for ever.

Owns the bounds on a request's head (bytes, time) and the errors that arise before there is a
request. It must not know what a request means; `dress` makes the answer. The input is never
repeated, neither in an answer nor in a log.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.helpers import set_exception
from aiohttp.http import SERVER_SOFTWARE, RawRequestMessage
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_protocol import RequestHandler, RequestPayloadError, _ErrInfo

from proxy.at_once import at_once
from proxy.door import HEAD_LIMIT, TOO_LARGE, dress
from proxy.errors import Refused

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Dress = Callable[[Refused, str], web.StreamResponse]
"""A refusal and the name of a dialect → the answer."""

HEAD_SECONDS: Final = 30.0
"""How long a request line with its headers may take to arrive."""

IDLE_SECONDS: Final = 600.0
"""How long a connection may rest between requests; longer than clients keep theirs."""

LINGER_SECONDS: Final = 5.0
"""How long the rest of a refused body is read and thrown away."""

TURN_SECONDS: Final = 0.4
"""How long a connection may rest unread behind one request."""

_FIELDS: Final = 256
_AT_ONCE: Final = 0.001  # to aiohttp, 0 means for ever
_UNWIND_SECONDS: Final = 1.0
_UNREADABLE: Final = "it is not HTTP that can be read for certain"
_EARLY: Final = "too much was sent before its turn"
_LATE: Final = "its headers took too long to arrive"


class Connection(RequestHandler):
    """aiohttp's connection with typed errors and bounds on the head of a request."""

    __slots__ = (
        "_ahead_timer",
        "_body",
        "_broken",
        "_dress",
        "_handlers_loop",
        "_head",
        "_head_size",
        "_head_timer",
        "_note",
    )

    def __init__(self, manager: "Server", *, dress: Dress, note: Callable[[str], None]) -> None:
        super().__init__(
            manager,
            loop=manager.loop,
            access_log=None,  # type: ignore[arg-type] # aiohttp's own way to have none
            auto_decompress=False,
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=LINGER_SECONDS,
            max_line_size=HEAD_LIMIT,
            max_field_size=HEAD_LIMIT,
            max_headers=_FIELDS,
        )
        self._dress, self._note = dress, note
        self._handlers_loop = manager.handlers_loop
        self._head = bytearray()
        self._head_size = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._ahead_timer: asyncio.TimerHandle | None = None
        self._body: StreamReader = EMPTY_PAYLOAD
        self._broken = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._loop = self._handlers_loop
        self._watch()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._unwatch()
        if self._ahead_timer is not None:
            self._ahead_timer.cancel()
        if exc is not None:
            # aiohttp keeps it with the request, and its traceback the frames that wrote, with what
            # they wrote: a ring that would wait for the collector.
            exc.__traceback__ = None
        if self._task_handler is not None:
            self._task_handler.add_done_callback(_let_go)
        super().connection_lost(exc)
        self._body = EMPTY_PAYLOAD  # which knows its connection

    def data_received(self, data: bytes) -> None:
        if self._broken:
            return
        before, in_head = self._request_count, self._in_head
        super().data_received(data)
        arrived = self._request_count != before
        read = arrived and not isinstance(self._messages[-1][0], _ErrInfo)
        if in_head and data and not read:
            # What is remembered tells how to dress an error; what follows a head is its body.
            self._remember(data, data.find(b"\r\n\r\n") if arrived else -1)
        if arrived:
            self._arrived()
        elif in_head and self._head_size > HEAD_LIMIT:
            self._fail(TOO_LARGE)
        elif self._head_size and self._head_timer is None:
            self._watch()
        if self._ahead_timer is None and self._ahead():
            self._await_turn()

    def resume_reading(self, resume_parser: bool = True) -> None:
        """aiohttp resumes after every read of a body, and has its parser look at no bytes; only
        where reading rests is there anything to resume."""
        if self._reading_paused or self._buffer_paused:
            super().resume_reading(resume_parser)

    def retire(self) -> None:
        """Close after the request in flight, whose body still arrives; at once if there is none."""
        if self._waiter is not None and not self._waiter.done():
            self.force_close()
        elif self._in_head:
            self.close()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to what could not be read (`status` 400), or whose handler failed."""
        if status != 400:
            self._note(type(exc).__name__)
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun already")
        if status == 400:
            answer = self._dress(Refused("door-refused", reason=_reason(exc)), _dialect(self._head))
        else:
            answer = self._dress(Refused("internal-error"), dress(request.raw_path, ()))
        answer.force_close()
        return answer

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """aiohttp's, and after the last answer a while for the client to read it: closing at once
        on one that still sends would reset the connection and lose the answer."""
        written = await super().finish_response(request, resp, start_time)
        if self._broken and not self._messages and self.transport is not None:
            self.transport.write_eof()
            await asyncio.sleep(LINGER_SECONDS)  # ends early when the client closes
        return written

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """Only the kind: aiohttp's own words repeat what was sent."""
        exc = kw.get("exc_info")
        if not isinstance(exc, RequestPayloadError):
            self._note(type(exc).__name__)

    @property
    def _in_head(self) -> bool:
        return self._body.is_eof() or self._body.exception() is not None

    def _remember(self, data: bytes, end: int) -> None:
        if not self._head_size:
            self._head.clear()
        self._head_size += len(data)
        room = HEAD_LIMIT - len(self._head)
        self._head += data[: room if end < 0 else min(end, room)]

    def _arrived(self) -> None:
        """A request has come, or something that is none."""
        message, body = self._messages[-1]
        self._unwatch()
        self._head_size = 0
        if isinstance(message, _ErrInfo):
            self._broken = True
            self._forsake()  # the parser forgets the body that it was reading
        else:
            self._body = body

    def _ahead(self) -> bool:
        """Whether reading rests because more came than may wait behind the request in flight."""
        if self._buffer_paused or not self._reading_paused:
            return self._buffer_paused
        if self._current_request is None:
            return len(self._messages) > 1
        return self._current_request.content is not self._body

    def _await_turn(self) -> None:
        self._ahead_timer = self._loop.call_later(
            TURN_SECONDS, self._overtaken, self._current_request
        )

    def _overtaken(self, then: web.BaseRequest | None) -> None:
        """A connection that is not read does not tell that its client has left. So where nothing
        moves on, it is read again and what comes is thrown away."""
        self._ahead_timer = None
        if self._broken or not self._ahead():
            return
        if then is None or then is not self._current_request:
            self._await_turn()
            return
        self._fail(_EARLY)
        self._forsake()
        self._resume_transport_reading()

    def _forsake(self) -> None:
        """No more of the body under way will come; its reader would wait for ever."""
        if not self._in_head:
            set_exception(self._body, RequestPayloadError("broken"))

    def _fail(self, reason: str) -> None:
        """Answer, after whatever is in flight, that this head is refused; read nothing more."""
        self._broken = True
        self._unwatch()
        refusal = _ErrInfo(400, _Unfit(reason), "")
        self._messages.append((refusal, EMPTY_PAYLOAD))
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _watch(self) -> None:
        self._head_timer = self._loop.call_later(HEAD_SECONDS, self._late)

    def _unwatch(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _late(self) -> None:
        self._head_timer = None
        if self._head_size:
            self._fail(_LATE)
        else:
            self.force_close()


class Request(web.BaseRequest):
    """A request whose answer does not tell which library and version wrote it."""

    async def _prepare_hook(self, response: web.StreamResponse) -> None:
        if response.headers.get("Server") == SERVER_SOFTWARE:
            del response.headers["Server"]


class Server(web.Server):
    """Makes a `Connection` for each client; a client that goes away cancels its handler."""

    def __init__(self, handler: Handler, *, dress: Dress, note: Callable[[str], None]) -> None:
        super().__init__(handler, handler_cancellation=True, request_factory=self._request)
        self.loop, self.handlers_loop = self._loop, at_once(self._loop)
        self._dress, self._note = dress, note

    def __call__(self) -> RequestHandler:
        return Connection(self, dress=self._dress, note=self._note)

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> Request:
        return Request(message, payload, protocol, writer, task, self._loop)

    def retire(self) -> int:
        """Close what rests. How many connections are left."""
        for connection in self.connections:
            if isinstance(connection, Connection):
                connection.retire()
        return len(self.connections)

    async def cut(self) -> None:
        """Cancel every handler, close every connection, and wait shortly for both."""
        tasks = [each._task_handler for each in self.connections if each._task_handler is not None]
        await self.shutdown(_AT_ONCE)
        if tasks:
            await asyncio.wait(tasks, timeout=_UNWIND_SECONDS)


def _let_go(task: "asyncio.Task[None]") -> None:
    """A task that was cancelled keeps its error, and so the frames of a request that knows it:
    another ring. Who asks for the error takes it away."""
    if task.cancelled():
        with suppress(asyncio.CancelledError):
            task.exception()


class _Unfit(BadHttpMessage):
    """Refused by our own bounds; the message holds our words."""


def _reason(exc: BaseException | None) -> str:
    return exc.message if isinstance(exc, _Unfit) else _UNREADABLE


def _dialect(head: bytearray) -> str:
    """The dialect of a head of which only a part may have come, or which is none."""
    lines = bytes(head).decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    pairs = (line.partition(":") for line in lines[1:])
    headers = [(name, value.strip()) for name, colon, value in pairs if colon]
    return dress(words[1] if len(words) > 1 else "", headers)
