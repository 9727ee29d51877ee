"""Images: what their bytes say they are, and the words in them that are not in the open.

Owns magic numbers and the text chunks of PNG. It must not know where an image stood.
"""

import struct
import zlib
from collections.abc import Iterator

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"%PDF-", "application/pdf"),
)
_CHUNKS = 4096
"""Chunks of a PNG that are looked at; text stands among the first or the last few."""


def media_type(raw: bytes) -> str:
    """The type that the first bytes show, or nothing. Only what an API takes as an image or a
    document is known here."""
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp"
    return next((name for magic, name in _MAGIC if raw.startswith(magic)), "")


def packed_texts(raw: bytes) -> Iterator[bytes]:
    """The compressed part of each `zTXt`, `iTXt` and `iCCP` chunk of a PNG; texts in the open need
    no opening."""
    at, count = 8, 0
    while raw.startswith(b"\x89PNG") and at + 12 <= len(raw) and count < _CHUNKS:
        size, kind = struct.unpack_from(">I4s", raw, at)
        body = raw[at + 8 : at + 8 + size]
        if kind in (b"zTXt", b"iCCP"):
            yield body.partition(b"\0")[2][1:]
        elif kind == b"iTXt":
            _, _, rest = body.partition(b"\0")
            if rest[:1] == b"\1":
                yield rest[2:].partition(b"\0")[2].partition(b"\0")[2]
        at, count = at + 12 + size, count + 1


def inflated(raw: bytes, limit: int) -> bytes | None:
    """What a zlib or gzip stream holds, `limit` bytes of it at most; None where it is neither."""
    # 32 + 15: zlib or gzip, by its header.
    inflater = zlib.decompressobj(47)
    try:
        return inflater.decompress(raw, limit)
    except zlib.error:
        return None
