"""An upstream's answer as it arrives: its headers made fit to relay, its body chunk by chunk.

Owns which headers of an answer go on, the limit between two chunks, and how an answer that breaks
off is told from one that ends. It must not know what is done with the bytes.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NoReturn, Self

import aiohttp
from aiohttp import HttpVersion10, HttpVersion11

from policies.decision import Leg
from proxy.answer import Answer
from proxy.config import UpstreamSettings
from proxy.dialects.streams import kind_of
from proxy.errors import Refused
from proxy.exchange import Response
from proxy.failures import gone, late
from proxy.headers import HOP_BY_HOP
from proxy.patience import Patience

_REDIRECTS: Final = frozenset({300, 301, 302, 303, 305, 307, 308})
_VERSIONS: Final = (HttpVersion11, HttpVersion10)
_STAYING: Final = HOP_BY_HOP | {"alt-svc"}
_PLAIN: Final = frozenset({"", "identity"})


def answer_of(response: Response, upstream: UpstreamSettings, *, idle: float) -> Answer:
    """The answer whose status has just arrived. `idle`: seconds between two chunks.

    Raises `Refused` for a protocol switch that nobody asked for, for what the library reads but no
    client would (status 0, HTTP/0.9), and for a redirect on a local leg: the model at home would
    not be the one that answers.
    """
    status, headers = response.status, response.headers
    if status == 101:
        response.close()
        raise gone(upstream, "it switched to another protocol")
    if status < 200 or response.version not in _VERSIONS:
        response.close()
        raise gone(upstream, "what it answered is not HTTP")
    if upstream.leg is Leg.LOCAL and status in _REDIRECTS:
        response.close()
        raise Refused("home-not-local", reason="the local server redirects elsewhere")
    reason = response.reason or ""
    coded = "Content-Encoding" in headers and _is_coded(headers.getall("Content-Encoding"))
    chunks = _Chunks(response, upstream, idle)
    return Answer(
        status,
        _headers(response, upstream),
        chunks,
        "" if coded else kind_of(headers.getall("Content-Type", ("",))[-1]),
        reason if reason.isprintable() else "",
        coded,
        idle,
        chunks.close,
        whole=chunks.all if chunks.here else None,
    )


def _is_coded(codings: Sequence[str]) -> bool:
    return ",".join(codings).strip().lower() not in _PLAIN


def _headers(response: Response, upstream: UpstreamSettings) -> list[tuple[str, str]]:
    headers = response.headers
    ending = set()
    if "Connection" in headers:
        named = ",".join(headers.getall("Connection"))
        ending = {token.strip().lower() for token in named.split(",")}
    if "Transfer-Encoding" in headers:
        ending.add("content-length")
    if upstream.auth != "caller" and "Set-Cookie" in headers:
        ending.add("set-cookie")
    going = [pair for pair in headers.items() if not _stays(pair[0])]
    if ending:
        going = [pair for pair in going if pair[0].lower() not in ending]
    fit = "".join([value for _, value in going])
    return going if fit.isascii() and fit.isprintable() else list(_fitting(going))


def _fitting(headers: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for name, value in headers:
        # What is not UTF-8 came as lone surrogates, which the server would drop in silence; what
        # cannot stand in a header it would not send at all.
        if not value.isascii():
            value = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        if value.replace("\t", " ").isprintable():
            yield name, value


@lru_cache(1024)
def _stays(name: str) -> bool:
    """Whether no header of this name goes on."""
    low = name.lower()
    return low in _STAYING or low.startswith("x-transom-") or not name.isprintable()


class _Chunks:
    """The body of an answer, chunk by chunk as they arrive. An iterator and no generator: it ends
    when it is told to, not when somebody collects it."""

    def __init__(self, response: Response, upstream: UpstreamSettings, idle: float) -> None:
        self._response = response
        self._upstream = upstream
        self._idle = idle
        self._patience: Patience | None = None  # until somebody waits
        self._silent = False

    @property
    def here(self) -> bool:
        """Whether nothing is awaited, and nothing can be missing."""
        body = self._response.content
        return body.is_eof() and body.exception() is None and self._bounded

    def all(self) -> bytes:
        """All that is here."""
        return self._response.content.read_nowait()

    def close(self) -> None:
        """Give up the rest, at once. Harmless when there is none."""
        self._stop()
        self._response.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        body = self._response.content
        if body.at_eof() and body.exception() is None:
            return self._end()
        try:
            if body.is_eof():  # all of it is here: nobody waits
                return body.read_nowait()
            if self._patience is None:
                self._patience = Patience(self._idle, self._lost)
            self._patience.begin()
            chunk = await body.readany()
            self._patience.done()
        except (aiohttp.ClientError, OSError):
            self._stop()
            if self._silent:
                raise late(self._upstream, "it fell silent in the middle of its answer") from None
            raise gone(self._upstream, "its answer broke off") from None
        return chunk or self._end()

    def _end(self) -> NoReturn:
        self._stop()
        if self._cut_short():
            raise gone(self._upstream, "its answer broke off")
        raise StopAsyncIteration

    def _stop(self) -> None:
        if self._patience is not None:
            self._patience.stop()

    def _lost(self) -> None:
        self._silent = True
        self._response.close()

    def _cut_short(self) -> bool:
        """A body that ends with its connection ends just so when that is reset; only here is it
        told."""
        lost_with = self._response.protocol.exception()
        return not self._bounded and isinstance(lost_with, aiohttp.ClientOSError)

    @property
    def _bounded(self) -> bool:
        headers = self._response.headers
        return "Content-Length" in headers or "Transfer-Encoding" in headers
