"""Runs of base64, hex and base32: what they stand for, and whether it could be read at all.

Owns decoding and the judgement of opaque content. It must not know the rules. One bounded pass
gives everything that the runs of a text decode to in one buffer, for the next pass to read.
"""

import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import re2  # type: ignore[import-untyped]

from policies.screening import codecs
from policies.screening.checks import fedimint_raw, wif
from policies.screening.work import Work

SHORTEST = 24
LONG = 4096
"""A run of this many characters that reads as nothing is ambiguous."""
SEPARATOR = b"\n\0\n"
_INFLATED = 200_000
_RATIO = 50


def _linear(pattern: bytes) -> "re2._Regexp":
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    return re2.compile(pattern, options)


_RUN = _linear(rb"[A-Za-z0-9+/_-]{%d,}" % SHORTEST)
_HEX = re.compile(rb"[0-9a-fA-F]+")
_BASE32 = re.compile(rb"[A-Z2-7]{32,}")
_WALLET_KEY = re.compile(rb"(?:^|[+/_-])([5KL9c6][1-9A-HJ-NP-Za-km-z]{50,57})(?=$|[+/_-])")
_WITHIN = re.compile(rb"[+/_-]+")
_MEDIA = re.compile(rb"data:([a-z]+/[a-z0-9.+-]+)(?:;[a-z0-9=-]+)*;base64,$")
_PRINTABLE = bytes(range(32, 127)) + b"\t\n\r\x1b"
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"%PDF-", "application/pdf"),
)
_HEADS: tuple[tuple[bytes, str, Callable[[bytes], bool]], ...] = (
    (b"\x02", "macaroon", codecs.macaroon_v2),
    (b"00", "macaroon", codecs.macaroon_v1),
    (b"crawB", "cashu", lambda raw: codecs.cbor_end(raw, 5) is not None),
    (b"\x02", "fedimint", fedimint_raw),
    (b"\x03", "fedimint", fedimint_raw),
    (b"\x04", "fedimint", fedimint_raw),
    (b"\x30", "private_key_der", lambda raw: len(raw) >= 44 and codecs.der_private_key(raw)),
    (b"openssh-key-v1\0", "ssh_private_key", lambda raw: len(raw) > 64),
)

_FIRST_BYTES = bytes({magic[0] for magic, _, _ in _HEADS})


@dataclass(slots=True)
class Decoded:
    """`text`: all that the runs decode to. `kinds`: seen from the bytes themselves. `opaque`: why
    something could not be read, else empty."""

    text: bytes = field(default=b"", repr=False)
    kinds: set[str] = field(default_factory=set)
    opaque: str = ""


def heads(raw: bytes) -> Iterator[str]:
    """Kinds that binary content shows by its first bytes and proves by its structure."""
    for magic, kind, check in _HEADS:
        if raw.startswith(magic) and check(raw):
            yield kind


def media_type(raw: bytes) -> str:
    """The type that the first bytes show, or nothing. Only what an API takes as an image or a
    document is known here."""
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp"
    return next((name for magic, name in _MAGIC if raw.startswith(magic)), "")


def decode(data: bytes, work: Work, media: str = "") -> Decoded:
    """Decode every run of 24 characters and more. `media`: the type that the field beside the
    text claims; content of another type is opaque."""
    found, parts = Decoded(), list[bytes]()
    for match in _RUN.finditer(data):
        run = match[0]
        work.spend("decode", 2 * len(run))
        if len(run) >= 51:
            found.kinds |= _wallet_keys(run)
        first = len(parts)
        # What follows a slash, plus or dash may be a run of its own, glued to a path or a mark.
        later = _WITHIN.split(run)[1:] if len(run) <= LONG else []
        later += [run.lstrip(b"+/_-")] if run[0] in b"+/_-" else []
        for part in (run, *(part for part in later if len(part) >= SHORTEST)):
            parts.append(_raw(part))
            if parts[-1][:1] in _FIRST_BYTES:
                found.kinds.update(heads(parts[-1]))
        if _BASE32.fullmatch(run):
            parts.append(codecs.base32_any(run))
        raw = parts[first]
        if len(run) >= 64 or raw[:1] in b"\x1f\x78":
            # A wrapped image has its magic in the first line alone.
            claimed = media if not match.start() else _claimed(data, match.start())
            found.opaque = found.opaque or _packed(run, raw, claimed, parts, work)
    found.text = SEPARATOR.join(parts)
    return found


def _raw(run: bytes) -> bytes:
    if _HEX.fullmatch(run):
        return bytes.fromhex(run[: len(run) // 2 * 2].decode())
    return codecs.base64_run(run)


def _wallet_keys(run: bytes) -> set[str]:
    """Base58 keys have no prefix to anchor on: any part of their length is tried."""
    return {"wif" for part in _WALLET_KEY.findall(run) if wif(part)}


def _claimed(data: bytes, start: int) -> str:
    uri = _MEDIA.search(data, max(0, start - 96), start)
    return uri[1].decode() if uri else ""


def _packed(run: bytes, raw: bytes, claimed: str, parts: list[bytes], work: Work) -> str:
    """Compressed content goes to `parts`; what can be read neither way is named."""
    seen = media_type(raw)
    if claimed.startswith("image/") and seen != claimed.replace("/jpg", "/jpeg"):
        return "" if _is_text(raw) else "image-mismatch"
    if raw[:2] == b"\x1f\x8b" or (raw[:1] == b"\x78" and raw[1:2] in b"\x01\x5e\x9c\xda"):
        inflated = _inflated(raw)
        if inflated is not None:
            work.spend("decode", len(inflated) // _RATIO + len(raw))
            parts.append(inflated)
            return "inflate-limit" if len(inflated) >= _INFLATED else ""
    if len(run) < LONG or seen or _is_text(raw) or _is_filler(run):
        return ""
    return "opaque-run"


def _inflated(raw: bytes) -> bytes | None:
    # 32 + 15: zlib or gzip, by its header.
    inflater = zlib.decompressobj(47)
    try:
        return inflater.decompress(raw, _INFLATED)
    except zlib.error:
        return None


def _is_text(raw: bytes) -> bool:
    if len(raw.translate(None, _PRINTABLE)) * 100 <= 3 * len(raw):
        return True
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return False
    return sum(map(str.isprintable, text[:4096])) * 100 >= 90 * min(len(text), 4096)


def _is_filler(run: bytes) -> bool:
    """Rulers, padding, digits: too few different characters to carry anything encoded."""
    return len(set(run)) < 8 or run.isdigit()
