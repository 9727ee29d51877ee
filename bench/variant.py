"""`python -m bench.variant NAME serve -c FILE`: a node as it is, but for one setting.

Each variant undoes or replaces one choice of the product by a patch, so that the product needs no
switch for what nobody should turn. `python -m bench.settings` measures them.
"""

import asyncio
import gc
import importlib.util
import logging
import os
import sys
from asyncio import selector_events
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from aiohttp import StreamReader
from aiohttp.client_proto import ResponseHandler
from aiohttp.web_protocol import RequestHandler

from proxy import cli, incoming, journal, serve
from proxy.connector import Connector
from proxy.owner import Owner


@dataclass(frozen=True)
class Variant:
    """`kept`: what the product does instead, and what that is for. `patch` runs in the process of
    the node before it starts; `needs` names a package without which there is nothing to try."""

    tried: str
    kept: str
    patch: Callable[[], None]
    needs: str = ""


def _replace(owner: object, name: str, by: object) -> None:
    """`AttributeError` where the product has no such thing any more: a patch of nothing would be
    measured as a setting that does not matter."""
    getattr(owner, name)
    setattr(owner, name, by)


def _access_log() -> None:
    """aiohttp's own line for each request, formatted, into nothing."""
    logger = logging.getLogger("bench.access")
    logger.addHandler(logging.FileHandler(os.devnull))
    logger.setLevel(logging.INFO)
    logger.propagate = False
    begin = RequestHandler.__init__

    def logged(self: RequestHandler, *args: Any, **named: Any) -> None:
        begin(self, *args, **{**named, "access_log": logger})

    _replace(RequestHandler, "__init__", logged)


def _no_request_line() -> None:
    _replace(journal.Line, "end", lambda self, *, bytes_out: None)


def _chunk_by_chunk() -> None:
    """`iter_chunks()` instead of `iter_any()`: every chunk of the wire is one of the relay."""

    async def readchunk(self: StreamReader) -> bytes:
        data: bytes = b""
        while not data:
            data, ended = await self.readchunk()
            if not data and not ended:
                break
        return data

    class Reading:
        """The body of an answer; whoever takes what is there takes one chunk."""

        def __init__(self, body: StreamReader) -> None:
            self._body = body

        async def readany(self) -> bytes:
            return await readchunk(self._body)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._body, name)

    begin = incoming._Chunks.__init__

    def begun(self: Any, response: Any, *rest: Any, **named: Any) -> None:
        response.content = Reading(response.content)
        begin(self, response, *rest, **named)

    _replace(incoming._Chunks, "__init__", begun)


def _collector(settle: Callable[[], None]) -> Callable[[], None]:
    return partial(_replace, serve, "settle", settle)


def _freeze_alone() -> None:
    gc.collect()
    gc.freeze()


def _high_alone() -> None:
    gc.set_threshold(50_000, *gc.get_threshold()[1:])


def _off() -> None:
    _freeze_alone()
    gc.disable()


def _limit() -> None:
    begin = Connector.__init__

    def limited(self: Connector, *args: Any, **named: Any) -> None:
        begin(self, *args, **named)
        assert self._limit == 0
        self._limit = 100

    _replace(Connector, "__init__", limited)


def _large_buffers() -> None:
    """What may have arrived before the upstream is made to wait: 1 MiB instead of 64 KiB."""
    ask = ResponseHandler.set_response_params

    def asked(self: ResponseHandler, **named: Any) -> None:
        ask(self, **{**named, "read_bufsize": 2**20})

    _replace(ResponseHandler, "set_response_params", asked)


def _small_reads() -> None:
    """At most 64 KiB from a socket at once instead of 256: a client that never reads keeps less."""
    transport = selector_events._SelectorTransport  # type: ignore[attr-defined]
    _replace(transport, "max_size", 64 * 1024)


def _uvloop() -> None:
    import uvloop  # type: ignore[import-not-found] # where it is installed

    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())


def _pools() -> None:
    _replace(serve, "share_memory", lambda: None)


def _long_turns() -> None:
    _replace(serve, "share_time", lambda: None)


def _nobody_told() -> None:
    """No event, no counter, no audit, and nobody who reads answers."""

    async def decided(self: Owner, *given: object) -> None:
        pass

    _replace(Owner, "decided", decided)
    _replace(Owner, "listen", lambda self, *given: ())


def _nothing() -> None:
    """The product as it is, against itself: what the figures below scatter."""


VARIANTS = {
    "as-built": Variant("nothing at all", "the scatter of this table", _nothing),
    "access-log": Variant("aiohttp's access log", "off", _access_log),
    "no-request-line": Variant(
        "no `request` line in the log", "written: the owner's only record", _no_request_line
    ),
    "chunk-by-chunk": Variant("`iter_chunks()`", "`iter_any()`", _chunk_by_chunk),
    "gc-default": Variant(
        "collector as Python has it", "freeze and 50 000", _collector(lambda: None)
    ),
    "gc-freeze": Variant("`gc.freeze()` alone", "freeze and 50 000", _collector(_freeze_alone)),
    "gc-threshold": Variant("threshold 50 000 alone", "freeze and 50 000", _collector(_high_alone)),
    "gc-off": Variant(
        "collector off", "freeze and 50 000: cycles would stay for ever", _collector(_off)
    ),
    "connector-limit": Variant("100 connections to upstreams", "no limit", _limit),
    "large-buffers": Variant("read buffers of 1 MiB", "64 KiB", _large_buffers),
    "small-reads": Variant("64 KiB from a socket at once", "256 KiB", _small_reads),
    "nobody-told": Variant(
        "no events, counters, audit, nor readers of answers",
        "what the owner is told",
        _nobody_told,
    ),
    "memory-pools": Variant("a pool of memory per thread", "one for all", _pools),
    "long-turns": Variant(
        "threads and loop take turns of 5 ms", "turns of a millisecond", _long_turns
    ),
    "uvloop": Variant("uvloop", "asyncio", _uvloop, needs="uvloop"),
}


def available() -> dict[str, Variant]:
    """Those that can be tried here."""
    return {
        name: one
        for name, one in VARIANTS.items()
        if not one.needs or importlib.util.find_spec(one.needs) is not None
    }


def main() -> None:
    """Patch, then be `transom`."""
    VARIANTS[sys.argv.pop(1)].patch()
    cli.main()


if __name__ == "__main__":
    main()
