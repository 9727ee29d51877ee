"""The one outbound door, for every leg.

Owns sessions without redirects, environment proxies, cookies, decompression, automatic headers or
retries; who gets a credential; how the failures on the way are called; and the guard on local legs.
It must not know a dialect, a policy or a client. For a cloud it takes only what the proof cleared.

Answers are asked for without a content coding, so that observers and filters can read them and a
stream that breaks off can be ended with an event. One that is coded all the same passes as it is.
"""

import asyncio
import io
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from types import TracebackType
from typing import Final, Self

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from policies.decision import Leg
from policies.prove import Cleared
from proxy.answer import Answer
from proxy.config import Timeouts, UpstreamSettings
from proxy.connector import FLIGHT, Connector, Flight
from proxy.errors import Refused
from proxy.failures import late, unsent
from proxy.incoming import answer_of
from proxy.lazyjson import dump
from proxy.local.addresses import is_local
from proxy.local.guard import Guard, Unknown, check_name
from proxy.sent_headers import Headers, credentials_for, plain, whole

SHOW: Final = "/api/show"
"""Where Ollama tells what is behind a model name; asking runs no model."""

SHOW_LIMIT: Final = 16 * 1024 * 1024
_HEAD_LIMIT: Final = 64 * 1024
_HEADERS: Final = 1000
_COPY_ABOVE: Final = 1024 * 1024  # bytes; larger bodies are written in pieces
_AUTOMATIC: Final = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


class Outbound:
    """Everything that leaves this node goes through here. `async with Outbound(...) as outbound`.

    `resolver` replaces the system's. One per node, inside a running loop.
    """

    def __init__(
        self,
        timeouts: Timeouts,
        *,
        tailnet: bool = False,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._timeouts = timeouts
        self._tailnet = tailnet
        self._resolver = resolver

    async def __aenter__(self) -> Self:
        self._guard = Guard(asyncio.get_running_loop().time)
        self._cloud = _session(Connector(resolver=self._resolver))
        self._local = _session(Connector(self._at_home, self._resolver))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._guard.close()
        await self._cloud.close()
        await self._local.close()

    def reload(self, timeouts: Timeouts, *, tailnet: bool) -> None:
        """Requests from now on keep these limits; those under way keep their own."""
        self._timeouts = timeouts
        self._tailnet = tailnet

    async def send_cloud(
        self,
        upstream: UpstreamSettings,
        *,
        method: str,
        path: str,
        query: str,
        headers: Headers,
        credentials: Headers,
        family: str,
        cleared: Cleared,
    ) -> Answer:
        """Send what was cleared to a cloud, and return as soon as its status is there.

        `path` is the table's, `query` without `?`. `headers` and `credentials` come from the door;
        `family` is the endpoint's and says in which header a key of our own goes. Raises
        `Refused`: `upstream-unreachable`, `upstream-timeout`.
        """
        # SECURITY: the type is the proof; nothing that merely looks like it may leave.
        if type(cleared) is not Cleared:
            raise TypeError("only what the proof cleared may leave for a cloud")
        sent = [*plain(headers), *credentials_for(upstream, credentials, family)]
        url = _url(upstream, path, query)
        return await self._send(self._cloud, upstream, method, url, sent, cleared.body)

    async def send_local(
        self,
        upstream: UpstreamSettings,
        *,
        method: str,
        path: str,
        query: str,
        headers: Headers,
        body: bytes,
        model: str,
    ) -> Answer:
        """Send to a model at home, and return as soon as the status is there.

        `model` as the body names it, empty where no model is run. No credential goes along.
        Where Ollama does not know the model, its own answer to that question is the answer and
        nothing of the request was sent. Raises `Refused`: `home-not-local` for an address, a model
        or a redirect that leads elsewhere, `home-unavailable`, `upstream-timeout`.
        """
        # SECURITY: a leg is what the configuration calls it; a mistake further in sends nothing.
        if upstream.leg is not Leg.LOCAL:
            raise TypeError(f"{upstream.name} is not a local upstream")
        if unknown := await self._vouch(upstream, path, body, model):
            return _told(unknown)
        url = _url(upstream, path, query)
        return await self._send(self._local, upstream, method, url, plain(headers), body)

    async def _vouch(
        self, upstream: UpstreamSettings, path: str, body: bytes, model: str
    ) -> Unknown | None:
        check_name(model)
        if "ollama" not in upstream.dialects or path == SHOW:
            return None
        if model:
            ask = partial(self._show, upstream)
            return await self._guard.vouch(upstream.base_url, model, ask)
        if body:
            # SECURITY: Ollama also takes `MODEL`; a name that we did not see was not asked about.
            raise Refused("home-not-local", reason="the request names no model")
        return None

    async def _show(self, upstream: UpstreamSettings, model: str) -> tuple[int, bytes]:
        headers = [("content-type", "application/json")]
        body = dump({"model": model})
        url = _url(upstream, SHOW, "")
        answer = await self._send(self._local, upstream, "POST", url, headers, body)
        shown = bytearray()
        try:
            async for chunk in answer.chunks:
                shown += chunk
                if len(shown) > SHOW_LIMIT:
                    raise Refused("home-not-local", reason="what it shows of the model is too long")
        finally:
            answer.close()
        return answer.status, bytes(shown)

    def _at_home(self, address: str) -> bool:
        return is_local(address, tailnet=self._tailnet)

    async def _send(
        self,
        session: aiohttp.ClientSession,
        upstream: UpstreamSettings,
        method: str,
        url: URL,
        headers: Headers,
        body: bytes,
    ) -> Answer:
        timeouts, flight = self._timeouts, Flight()
        arrived = False
        token = FLIGHT.set(flight)
        try:
            async with asyncio.timeout(timeouts.first_byte):
                response = await session.request(
                    method,
                    url,
                    headers=whole(headers),
                    data=(io.BytesIO(body) if len(body) > _COPY_ABOVE else body) or None,
                    allow_redirects=False,
                    timeout=aiohttp.ClientTimeout(
                        total=None, connect=timeouts.connect, sock_connect=timeouts.connect
                    ),
                    middlewares=(partial(_once, upstream),),
                )
            answer = answer_of(response, flight, upstream, idle=timeouts.idle)
            arrived = True
        except TimeoutError:
            raise late(upstream, "no first byte") from None
        finally:
            FLIGHT.reset(token)
            if not arrived:
                # Not closed but aborted: closing would first write what is still to be written.
                flight.abort()
        return answer


async def _once(
    upstream: UpstreamSettings,
    request: aiohttp.ClientRequest,
    handler: Callable[[aiohttp.ClientRequest], Awaitable[aiohttp.ClientResponse]],
) -> aiohttp.ClientResponse:
    """Call a failure by its name here: the session would send some requests again on others."""
    try:
        return await handler(request)
    except (aiohttp.ClientError, OSError) as error:
        raise unsent(upstream, error) from None


def _session(connector: Connector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        skip_auto_headers=_AUTOMATIC,
        auto_decompress=False,
        trust_env=False,
        max_line_size=_HEAD_LIMIT,
        max_field_size=_HEAD_LIMIT,
        max_headers=_HEADERS,
    )


def _url(upstream: UpstreamSettings, path: str, query: str) -> URL:
    # `encoded`: the table's path goes out as it is, `%2F` and all.
    return URL(f"{upstream.base_url}{path}{'?' if query else ''}{query}", encoded=True)


def _told(unknown: Unknown) -> Answer:
    """What the local server said about a model that it does not run."""
    headers = [("content-type", "application/json"), ("content-length", str(len(unknown.body)))]
    return Answer(unknown.status, headers, _chunk(unknown.body))


async def _chunk(body: bytes) -> AsyncIterator[bytes]:
    yield body
