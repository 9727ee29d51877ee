"""Content codings of request bodies, undone under limits: what is screened is what will be sent.

Owns the list of codings that are read and the bounds on what they may grow to. It must not know
JSON, headers other than the coding, or where the body goes. A coded body is never sent on as it
came (DESIGN 2, Read).
"""

import io
import sys
import zlib
from typing import Final, Protocol

from proxy.errors import Refused

if sys.version_info >= (3, 14):
    from compression import zstd  # pragma: no cover
else:
    from backports import zstd

MAX_PARTS: Final = 4096
"""Gzip members or zstd frames in one body; more of them is work without content."""

_STEP: Final = 256 * 1024  # bytes in or out of one call: a bomb costs no more memory than this
_FREE: Final = 1024 * 1024  # decoded bytes up to which the ratio is nobody's business
_WINDOW: Final[dict[int, int]] = {zstd.DecompressionParameter.window_log_max: 23}  # 8 MiB
_ALIASES: Final = {"x-gzip": "gzip"}
# Only a name from this list is ever repeated in an answer: the header is the client's.
_NAMED: Final = frozenset({"br", "compress", "x-compress", "dcb", "dcz", "exi", "aes128gcm"})


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


def decode(body: bytes, codings: str | None, limit: int, ratio: int = 200) -> bytes:
    """`body` without its content coding; the identical object where there is none.

    `codings` is the value of Content-Encoding, several header lines joined by commas. `limit` is in
    decoded bytes; beyond 1 MiB the result may also be at most `ratio` times as long as `body`.
    Raises `Refused`: `coding-unknown` (also for stacked codings), `body-too-large`,
    `body-invalid` (damaged, cut short, something after the end).
    """
    coding = _coding(codings) if codings else "identity"
    if len(body) > limit:
        raise Refused("body-too-large", limit=_size(limit))
    if coding == "identity" or not body:
        return body
    return _Inflater(coding, body, limit, ratio).run()


def _coding(codings: str) -> str:
    tokens = [token.strip(" \t").lower() for token in codings.split(",")]
    named = [token for token in tokens if token]
    if not named:
        return "identity"
    if len(named) > 1:
        # SECURITY: whoever undoes one layer only would screen what is not sent.
        raise Refused("coding-unknown", coding="of several layers")
    coding = _ALIASES.get(named[0], named[0])
    if coding in ("identity", "gzip", "deflate", "zstd"):
        return coding
    if coding in _NAMED:
        raise Refused("coding-unknown", coding=coding)
    raise Refused("coding-unknown")


def _size(limit: int) -> str:
    if limit % (1024 * 1024) == 0:
        return f"{limit // (1024 * 1024)} MiB"
    return f"{limit} bytes"


class _Inflater:
    """One body on its way through one decompressor after the other, step by step."""

    def __init__(self, coding: str, body: bytes, limit: int, ratio: int) -> None:
        self._coding = coding
        self._body = body
        self._limit = limit
        self._ratio = ratio
        self._parts = 0
        self._out = io.BytesIO()

    def run(self) -> bytes:
        at = 0
        while self._parts < MAX_PARTS:
            at = self._part(at)
            self._parts += 1
            if at == len(self._body):
                return self._out.getvalue()
            if self._coding == "deflate":
                raise self._broken("")
        raise self._invalid(f"the {{}} data has more than {MAX_PARTS} parts")

    def _part(self, at: int) -> int:
        """Decode one member or frame that begins at `at`; returns where the next one begins."""
        part = self._decompressor(at)
        while not part.eof:
            if at >= len(self._body):
                raise self._broken("the {} data is cut short")
            data = self._body[at : at + _STEP]
            at += len(data)
            self._feed(part, data)
        return at - len(part.unused_data)

    def _feed(self, part: _Decompressor, data: bytes) -> None:
        try:
            while True:
                piece = part.decompress(data, _STEP)
                self._take(piece)
                data = getattr(part, "unconsumed_tail", b"")
                if part.eof or (not data and len(piece) < _STEP):
                    return
        except (zlib.error, zstd.ZstdError):
            raise self._broken("the {} data is damaged, or is not {}") from None

    def _take(self, piece: bytes) -> None:
        self._out.write(piece)
        size = self._out.tell()
        if size > self._limit:
            raise Refused("body-too-large", limit=_size(self._limit))
        if size > max(_FREE, self._ratio * len(self._body)):
            raise Refused("body-too-large", limit=f"{self._ratio} times its packed size")

    def _decompressor(self, at: int) -> _Decompressor:
        match self._coding:
            case "gzip":
                return zlib.decompressobj(wbits=31)
            case "deflate":
                # RFC 9110 means the zlib format; many senders write bare deflate.
                return zlib.decompressobj(wbits=15 if _is_zlib(self._body) else -15)
            case _:
                return zstd.ZstdDecompressor(options=_WINDOW)

    def _broken(self, reason: str) -> Refused:
        return self._invalid("something follows the end of the {} data" if self._parts else reason)

    def _invalid(self, reason: str) -> Refused:
        return Refused("body-invalid", reason=reason.replace("{}", self._coding))


def _is_zlib(body: bytes) -> bool:
    return body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
