"""Runs of base64, hex and base32: what they stand for, and whether it could be read at all.

Owns decoding and the judgement of opaque content. It must not know the rules. One bounded pass
gives everything that the runs of a text decode to in one buffer, for the next pass to read.
"""

import re
from collections.abc import Callable, Container, Iterator, Set
from dataclasses import dataclass, field

from policies.screening import codecs
from policies.screening.checks import fedimint_raw, wif
from policies.screening.engine import linear
from policies.screening.images import inflated, media_type, packed_texts
from policies.screening.signs import (
    HEX_GROUP,
    NUL_GROUP,
    NUL_HEX_GROUP,
    TEXT_GROUP,
    WIDE,
    WIDE_HEX,
)
from policies.screening.work import Work

SHORTEST = 24
LONG = 4096
"""A run of this many characters that reads as nothing is ambiguous."""
SEPARATOR = b"\n\0\n"
INFLATED = 200_000
"""Bytes that are read of one compressed stream; a longer one is ambiguous."""
_RATIO = 50

_ALPHABET = re.sub(rb"[^A-Za-z0-9+/_-]", b"", bytes(range(256)))
_RUNS_ALONE = bytes(code if code in _ALPHABET else 32 for code in range(256))
_HEX = re.compile(rb"[0-9a-fA-F]+")
_HEX_RUN = re.compile(rb"[0-9a-fA-F]{32,}")
_BASE32 = re.compile(rb"[A-Z2-7]{32,}|[a-z2-7]{32,}")
_PROMISING = linear(b"(?:%s){5,}|%s|(?:%s){3,}" % (TEXT_GROUP, WIDE, NUL_GROUP))
_HEX_PROMISING = linear(b"(?:%s){16,}|(?:%s){8,}|%s" % (HEX_GROUP, NUL_HEX_GROUP, WIDE_HEX))
_STREAM = re.compile(rb"(?:^|[+/_-])(?P<head>H4sI|e[AFJN])")
_WALLET_KEY = re.compile(rb"(?:^|[+/_-])([5KL9c6][1-9A-HJ-NP-Za-km-z]{50,57})(?=$|[+/_-])")
_SHORTEST_WALLET_KEY = 50
_URI = re.compile(
    rb"data:([a-z]{1,16}/[a-z0-9.+-]{1,64})(?:;[a-z0-9=-]{1,40}){0,4};base64,"
    rb"([A-Za-z0-9+/_-]{%d})" % SHORTEST
)
_PRINTABLE = bytes(range(32, 127)) + b"\t\n\r\x1b"
_STRETCH = re.compile(rb"[\t\n\r -~]{8,}")
_GLUED = 256
"""Characters of a path or a mark that a stream may be glued to."""
_ASKED = 160
"""Characters from which on asking is cheaper than looking."""
_PNG = b"iVBORw0KGgo"
_BASE64 = ("text", "wide", "nuls")
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


@dataclass(slots=True)
class Decoded:
    """`text`: all text that the runs decode to. `raw`: content that is not text as a whole, with
    what there is of text in it in `text` as well. `kinds`: seen from the bytes themselves.
    `opaque`: why something could not be read, else empty."""

    text: bytes = field(default=b"", repr=False)
    raw: bytes = field(default=b"", repr=False)
    kinds: set[str] = field(default_factory=set)
    opaque: str = ""


def heads(raw: bytes) -> Iterator[str]:
    """Kinds that binary content shows by its first bytes and proves by its structure."""
    for magic, kind, check in _HEADS:
        if raw.startswith(magic) and check(raw):
            yield kind


def decode(
    data: bytes,
    seen: Set[str],
    ask: Callable[[bytes], Set[str]],
    work: Work,
    media: str = "",
) -> Decoded:
    """Decode every run of 24 characters and more that is what the tests have `seen` somewhere;
    `ask` puts the tests to one run. `media`: the type that the field beside the text claims, for
    the first run, where a wrapped image has its magic; content of another type is opaque."""
    found, parts = Decoded(), list[bytes]()
    claims = {uri[2]: uri[1].decode() for uri in _URI.finditer(data)} if "uri" in seen else {}
    for run in data.translate(_RUNS_ALONE).split():
        if len(run) < SHORTEST:
            continue
        work.spend("decode", 2 * len(run))
        claimed, media = media or claims.get(run[:SHORTEST], ""), ""
        if "base32" in seen:
            parts += map(codecs.base32_any, _BASE32.findall(run))
        # An image goes to `parts` as a whole.
        image = len(run) >= LONG and media_type(_raw(run[:64])) != ""
        asked = seen if len(run) < _ASKED else ask(run) | (seen & {"hextext"})
        texts = [] if image else list(_texts(run, asked, work))
        parts += texts
        streams = list(_streams(run, work)) if "packed" in seen else []
        parts += streams
        if any(len(text) >= INFLATED for text in streams):
            found.opaque = "inflate-limit"
        elif (
            claimed
            or run.startswith(_PNG)
            or (len(run) >= LONG and not streams and not any(map(_is_text, texts)))
        ):
            found.opaque = found.opaque or _opaque(run, claimed, parts, work)
    readable = [_is_text(part) for part in parts]
    found.raw = SEPARATOR.join(part for part, text in zip(parts, readable, strict=True) if not text)
    found.text = SEPARATOR.join(
        part if text else _stretches(part) for part, text in zip(parts, readable, strict=True)
    )
    return found


def wallet_keys(data: bytes) -> Iterator[str]:
    """The kind of a private key in wallet import format, once for each run that holds one."""
    for run in data.translate(_RUNS_ALONE).split():
        if len(run) > _SHORTEST_WALLET_KEY and any(map(_wallet_key, _WALLET_KEY.findall(run))):
            yield "wif"


def _stretches(raw: bytes) -> bytes:
    """The stretches of printable characters in binary content, each on a line of its own."""
    return b"\n".join(_STRETCH.findall(raw))


def _texts(run: bytes, seen: Container[str], work: Work) -> Iterator[bytes]:
    """What the run stands for, once for each place where its groups of characters may begin: at its
    start, or elsewhere if it is glued to a path or a mark."""
    if len(set(run[:4096])) < 4:
        return
    if _HEX.fullmatch(run):
        promising, group = _HEX_PROMISING, 2
    elif "hextext" in seen and (glued := _HEX_RUN.findall(run)):
        # Hex digits that are a part of a path or a name.
        for part in glued:
            yield from _texts(part, seen, work)
        return
    elif any(name in seen for name in _BASE64):
        promising, group = _PROMISING, 4
    else:
        return
    first = promising.search(run)
    tried: set[int] = set()
    while first and len(tried) < group:
        phase = first.start() % group
        if phase not in tried:
            tried.add(phase)
            work.spend("decode", len(run))
            raw = _raw(run[phase:])
            if 3 * raw.count(0) >= len(raw):
                # UTF-16: nothing else has a zero in every second place.
                raw = raw.replace(b"\0", b"")
            yield raw
            if 10 * len(raw.translate(None, _PRINTABLE)) <= len(raw) or _is_text(raw):
                return
        work.spend("decode", 16)
        first = promising.search(run, first.end())


def _wallet_key(part: bytes) -> bool:
    return len(set(part)) > 12 and wif(part)


def _raw(run: bytes) -> bytes:
    if _HEX.fullmatch(run):
        return codecs.hex_run(run)
    return codecs.base64_run(run)


def _opaque(run: bytes, claimed: str, parts: list[bytes], work: Work) -> str:
    """Why a long run, or one that claims to be something, cannot be read; what can be goes to
    `parts` whole."""
    raw = _raw(run)
    seen = media_type(raw)
    if claimed.startswith("image/") and seen != claimed.replace("/jpg", "/jpeg"):
        if not _is_text(raw):
            return "image-mismatch"
    elif not seen and len(run) >= LONG and not _known(raw) and not _is_filler(run):
        return "opaque-run"
    parts.append(raw)
    for packed in packed_texts(raw):
        work.spend("decode", len(packed))
        text = inflated(packed, INFLATED)
        if text is None or len(text) >= INFLATED:
            return "inflate-limit"
        parts.append(text)
    return ""


def _streams(run: bytes, work: Work) -> Iterator[bytes]:
    """What compressed content in the run holds, each up to the bound."""
    if _HEX.fullmatch(run):
        starts = [0] if run[:2].lower() in (b"1f", b"78") else []
    else:
        starts = [match.start("head") for match in _STREAM.finditer(run, 0, _GLUED)]
    for start in starts:
        raw = _raw(run[start:])
        work.spend("decode", len(raw))
        text = inflated(raw, INFLATED)
        if text is not None:
            work.spend("decode", len(text) // _RATIO)
            yield text


def _known(raw: bytes) -> bool:
    """Content of which all is seen: text, and the public half of a key."""
    return _is_text(raw) or codecs.pgp_public(raw)


def _is_text(raw: bytes) -> bool:
    if len(raw.translate(None, _PRINTABLE)) * 100 <= 3 * len(raw):
        return True
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return False
    # Nor is the blank of the Far East printable.
    marks = "".join(text[:4096].split())
    return sum(map(str.isprintable, marks)) * 100 >= 90 * len(marks)


def _is_filler(run: bytes) -> bool:
    """Rulers, padding, digits: too few different characters to carry anything encoded."""
    return run.isdigit() or (len(set(run[:256])) < 8 and len(set(run)) < 8)
