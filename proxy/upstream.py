"""The one outbound door, for every leg.

Owns the two pools of connections, one per kind of leg; who gets a credential; how the failures on
the way are called; and the guard on local legs. Nothing is followed, repeated, kept or added on the
way (`proxy.exchange`). It must not know a dialect, a policy or a client. For a cloud it takes only
what the proof cleared.

Answers are asked for without a content coding, so that observers and filters can read them and a
stream that breaks off can be ended with an event. One that is coded all the same passes as it is.
"""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from types import TracebackType
from typing import Final, Self

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.http_exceptions import HttpProcessingError

from policies.decision import Leg
from policies.prove import Cleared
from proxy.answer import Answer
from proxy.config import Timeouts, UpstreamSettings
from proxy.connector import Connector
from proxy.errors import Refused
from proxy.exchange import Exchange, Silent
from proxy.failures import gone, late, unsent
from proxy.incoming import answer_of
from proxy.lazyjson import dump
from proxy.local.addresses import is_local
from proxy.local.guard import Guard, Unknown, check_name
from proxy.local.ollama import Model
from proxy.sent_headers import Headers, credentials_for, plain, whole

SHOW: Final = "/api/show"
"""Where Ollama tells what is behind a model name; asking runs no model."""

VERSION: Final = "/api/version"
"""Where an Ollama tells that it is one."""

SHOW_LIMIT: Final = 16 * 1024 * 1024


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
        self._timeouts, self._limits = timeouts, _limits(timeouts)
        self._tailnet = tailnet
        self._resolver = resolver

    async def __aenter__(self) -> Self:
        self._guard = Guard(asyncio.get_running_loop().time)
        self._cloud = Exchange(Connector(resolver=self._resolver))
        self._local = Exchange(Connector(self._at_home, self._resolver))
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
        self._timeouts, self._limits = timeouts, _limits(timeouts)
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
        address = f"{path}?{query}" if query else path
        return await self._send(self._cloud, upstream, method, address, sent, cleared.body)

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
        first_byte: float | None = None,
    ) -> Answer:
        """Send to a model at home, and return as soon as the status is there.

        `model` as the body names it, empty where no model is run. No credential goes along.
        `first_byte`: seconds, where another limit than the general one holds.
        Where Ollama does not know the model, its own answer to that question is the answer and
        nothing of the request was sent. Raises `Refused`: `home-not-local` for an address, a model
        or a redirect that leads elsewhere, `home-unavailable`, `upstream-timeout`.
        """
        # SECURITY: a leg is what the configuration calls it; a mistake further in sends nothing.
        if upstream.leg is not Leg.LOCAL:
            raise TypeError(f"{upstream.name} is not a local upstream")
        if unknown := await self._vouch(upstream, path, body, model):
            return _told(unknown)
        address = f"{path}?{query}" if query else path
        sent = plain(headers)
        return await self._send(self._local, upstream, method, address, sent, body, first_byte)

    async def told(self, upstream: UpstreamSettings, model: str) -> Model:
        """What a local Ollama tells of a model, which runs there. Raises `Refused`: as
        `send_local`, and `home-unavailable` where it has no such model."""
        ask = partial(self._show, upstream)
        if await self._guard.vouch(upstream.base_url, model, ask):
            raise gone(upstream, "it does not have the model of that name")
        return self._guard.shown(upstream.base_url, model)

    def doubt(self, upstream: UpstreamSettings, model: str) -> None:
        """An answer has told otherwise about a model of a local Ollama than was told before."""
        self._guard.forget(upstream.base_url, model)

    async def _vouch(
        self, upstream: UpstreamSettings, path: str, body: bytes, model: str
    ) -> Unknown | None:
        check_name(model)
        check_name(path)  # `/v1/models/MODEL` is asked of the cloud, too
        if path == SHOW or not (model or body) or not await self._is_ollama(upstream):
            return None
        if model:
            ask = partial(self._show, upstream)
            return await self._guard.vouch(upstream.base_url, model, ask)
        # SECURITY: Ollama also takes `MODEL`; a name that we did not see was not asked about.
        raise Refused("home-not-local", reason="no model is named where it is looked for")

    async def _is_ollama(self, upstream: UpstreamSettings) -> bool:
        if "ollama" in upstream.dialects:
            return True
        # SECURITY: Ollama speaks the other dialects as well, and forwards under them, too.
        return await self._guard.is_ollama(upstream.base_url, partial(self._version, upstream))

    async def _version(self, upstream: UpstreamSettings, _: str) -> tuple[int, bytes]:
        return await self._told(upstream, "GET", VERSION, [], b"")

    async def _show(self, upstream: UpstreamSettings, model: str) -> tuple[int, bytes]:
        headers = [("content-type", "application/json")]
        return await self._told(upstream, "POST", SHOW, headers, dump({"model": model}))

    async def _told(
        self, upstream: UpstreamSettings, method: str, path: str, headers: Headers, body: bytes
    ) -> tuple[int, bytes]:
        """Status and body of a short answer, which is for us alone."""
        answer = await self._send(self._local, upstream, method, path, headers, body)
        shown = bytearray()
        try:
            async for chunk in answer.chunks:
                shown += chunk
                if len(shown) > SHOW_LIMIT:
                    raise Refused("home-not-local", reason="what it says of itself is too long")
        finally:
            answer.close()
        return answer.status, bytes(shown)

    def _at_home(self, address: str) -> bool:
        return is_local(address, tailnet=self._tailnet)

    async def _send(
        self,
        exchange: Exchange,
        upstream: UpstreamSettings,
        method: str,
        address: str,
        headers: Headers,
        body: bytes,
        first_byte: float | None = None,
    ) -> Answer:
        timeouts = self._timeouts
        try:
            response = await exchange.ask(
                upstream.base_url,
                method,
                address,
                whole(headers),
                body,
                limits=self._limits,
                first_byte=timeouts.first_byte if first_byte is None else first_byte,
            )
        except Silent:
            raise late(upstream, "no first byte") from None
        except (aiohttp.ClientError, HttpProcessingError, OSError) as error:
            raise unsent(upstream, error) from None
        return answer_of(response, upstream, idle=timeouts.idle)


def _limits(timeouts: Timeouts) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(
        total=None, connect=timeouts.connect, sock_connect=timeouts.connect
    )


def _told(unknown: Unknown) -> Answer:
    """What the local server said about a model that it does not run."""
    headers = [("content-type", "application/json"), ("content-length", str(len(unknown.body)))]
    return Answer(unknown.status, headers, _chunk(unknown.body))


async def _chunk(body: bytes) -> AsyncIterator[bytes]:
    yield body
