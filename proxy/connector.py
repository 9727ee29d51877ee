"""Connections to upstreams: where they may lead, and which of the pool may be used again.

Owns the check of the peer on local legs and of connections that were kept. It must not know what is
sent over them. Facts about aiohttp are those of 3.14: `connect` hands out every connection, new or
kept; `socket_factory` is asked before each attempt to connect.
"""

import asyncio
import select
import socket
from collections.abc import Callable
from functools import partial
from typing import Final, NoReturn

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import AddrInfoType, Connection
from aiohttp.tracing import Trace

from proxy.errors import Refused

KEEP: Final = 4.0
"""Seconds that an idle connection is kept. Common servers close theirs after 5 (Node's for one; its
client keeps 4), and a request that meets this moment is lost: it is never sent twice."""

_ELSEWHERE: Final = "this address is not at home"


class NotLocal(OSError):
    """An address to connect to is not on the list. Always the same text, so that the failures of
    several addresses are reported as one."""

    def __init__(self) -> None:
        super().__init__(_ELSEWHERE)


class Connector(aiohttp.TCPConnector):
    """No limit on connections, no memory of names: each connection resolves its own.

    `allowed`: which peers a connection may have, by IP address; None for any.
    """

    def __init__(
        self,
        allowed: Callable[[str], bool] | None = None,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._allowed = allowed
        super().__init__(
            limit=0,
            use_dns_cache=False,
            resolver=resolver,
            keepalive_timeout=KEEP,
            socket_factory=self._socket,
        )
        peer: Callable[..., ResponseHandler] = _Peer
        self._factory = partial(peer, loop=self._loop)

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 (the library's own signature)
    ) -> Connection:
        """A connection on which nothing was written since it was checked."""
        while True:
            connection = await super().connect(req, traces, timeout)
            peer = connection.protocol
            assert isinstance(peer, _Peer)
            if peer.has_news():
                connection.close()
                continue
            # SECURITY: the peer of this very connection, before the first byte of a request.
            if self._allowed is not None and not self._allowed(peer.address):
                connection.close()
                _refuse()
            return connection

    def _socket(self, info: AddrInfoType) -> socket.socket:
        # SECURITY: before the handshake of TCP, and so before that of TLS, which comes before
        # `connect` returns.
        if self._allowed is not None and not self._allowed(str(info[4][0])):
            raise NotLocal
        return socket.socket(family=info[0], type=info[1], proto=info[2])


def _refuse() -> NoReturn:
    raise Refused("home-not-local", reason=_ELSEWHERE)


class _Peer(ResponseHandler):
    """The other end of one connection."""

    address = ""
    _poll: "select.poll | None" = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if peer := transport.get_extra_info("peername"):
            self.address = str(peer[0])

    def resume_reading(self, resume_parser: bool = True) -> None:
        """aiohttp resumes after every read of a body, and has its parser look at no bytes; only
        where reading rests is there anything to resume."""
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def has_news(self) -> bool:
        """Whether it has been used before and has something to read: where nothing was asked, that
        is its end, or an answer to nobody."""
        if self._poll is not None:
            return bool(self._poll.poll(0))
        assert self.transport is not None
        self._poll = select.poll()
        self._poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return False
