"""Encodings with a checksum or a structure: bech32, base58check, base62 CRC, CBOR, DER, macaroons.

Owns decoding and validation, each after its public specification. It must not know which kind of
secret an encoding belongs to. Everything is linear and gives `None` or `False` on bad input.
"""

import base64
import binascii
import hashlib
import re
import zlib

BECH32 = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_BECH32_VALUE = {char: value for value, char in enumerate(BECH32)}
_GENERATOR = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_BASE58 = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BASE58_VALUE = {char: value for value, char in enumerate(_BASE58)}
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_STANDARD = bytes.maketrans(b"-_", b"+/")
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")


def bech32(text: bytes) -> tuple[bytes, bytes] | None:
    """Human-readable part and payload bytes of a bech32 text of either case (BIP-173)."""
    prefix, _, data = text.lower().rpartition(b"1")
    values = [_BECH32_VALUE.get(char, -1) for char in data]
    if not prefix or len(values) < 6 or -1 in values:
        return None
    check = 1
    for value in (*(c >> 5 for c in prefix), 0, *(c & 31 for c in prefix), *values):
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_GENERATOR):
            check ^= generator if top >> bit & 1 else 0
    if check != 1:
        return None
    number, count = 0, len(values) - 6
    for value in values[:-6]:
        number = number << 5 | value
    return prefix, (number >> count * 5 % 8).to_bytes(count * 5 // 8, "big")


def base58check(text: bytes) -> bytes | None:
    """Payload of a base58 text whose last four bytes are its double SHA-256."""
    number = 0
    for char in text:
        value = _BASE58_VALUE.get(char)
        if value is None:
            return None
        number = number * 58 + value
    zeros = len(text) - len(text.lstrip(b"1"))
    raw = b"\0" * zeros + number.to_bytes((number.bit_length() + 7) // 8, "big")
    body, check = raw[:-4], raw[-4:]
    if hashlib.sha256(hashlib.sha256(body).digest()).digest()[:4] != check or len(raw) < 5:
        return None
    return body


def base62_crc(body: bytes, check: bytes) -> bool:
    """`check` is the CRC-32 of `body` in six base62 digits (GitHub and npm tokens)."""
    number, digits = zlib.crc32(body), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = _BASE62[digit] + digits
    return digits.encode() == check


def base64_any(text: bytes) -> bytes:
    """Bytes of a base64 or base64url text, padded or not; bytes outside the alphabet are dropped,
    a last character that stands alone too."""
    return base64_run(_NOT_BASE64.sub(b"", text.translate(_STANDARD)))


def base64_run(run: bytes) -> bytes:
    """The same for bytes that all belong to one of the two alphabets."""
    run = run.translate(_STANDARD)
    rest = len(run) % 4
    if rest == 1:
        run = run[:-1]
    elif rest:
        run += b"=="[: 4 - rest]
    return binascii.a2b_base64(run)


def hex_run(run: bytes) -> bytes:
    """Bytes of hex digits; the last of an odd number is dropped."""
    return bytes.fromhex(run[: len(run) // 2 * 2].decode())


def base32_any(text: bytes) -> bytes:
    """Bytes of a base32 text of one case without padding; a last character that cannot be is
    dropped."""
    while len(text) % 8 in (1, 3, 6):
        text = text[:-1]
    return base64.b32decode(text.upper() + b"=" * (-len(text) % 8))


def cbor_end(data: bytes, at: int = 0, depth: int = 0) -> int | None:
    """Offset behind one definite-length CBOR item (RFC 8949) of at most 16 levels."""
    if at >= len(data) or depth > 16:
        return None
    major, low = data[at] >> 5, data[at] & 31
    at += 1
    if low >= 24:
        if low > 27 or at + (1 << low - 24) > len(data):
            return None
        size = 1 << low - 24
        low, at = int.from_bytes(data[at : at + size], "big"), at + size
    if major in (2, 3):
        return at + low if at + low <= len(data) else None
    count = {4: low, 5: 2 * low, 6: 1}.get(major, 0)
    end: int | None = at
    while count and end is not None:
        end, count = cbor_end(data, end, depth + 1), count - 1
    return end


def der_private_key(data: bytes, *, partial: bool = False) -> bool:
    """DER of PKCS#1, PKCS#8, SEC1, DSA or encrypted PKCS#8: a sequence that spans its length (one
    cut short counts if `partial`) and begins with a small version number, or with the algorithm
    of an encrypted key."""
    outer = _der(data, 0)
    if outer is None or outer[0] != 0x30 or (outer[2] > len(data) and not partial):
        return False
    first = _der(data, outer[1])
    if first is None or first[2] > outer[2]:
        return False
    body = data[first[1] : first[2]]
    if first[0] == 0x02:
        second = _der(data, first[2])
        return body in (b"\0", b"\1") and second is not None and second[0] in (0x02, 0x04, 0x30)
    # Object identifiers of PKCS#5 and PKCS#12 password-based encryption.
    return (
        first[0] == 0x30
        and body[2:9] == b"\x2a\x86\x48\x86\xf7\x0d\x01"
        and body[9:10]
        in (
            b"\x05",
            b"\x0c",
        )
    )


def _der(data: bytes, at: int) -> tuple[int, int, int] | None:
    """Tag, start and end of the element at `at`."""
    if at + 2 > len(data):
        return None
    tag, size, at = data[at], data[at + 1], at + 2
    if size >= 0x80:
        width = size & 0x7F
        if not 1 <= width <= 4 or at + width > len(data):
            return None
        size, at = int.from_bytes(data[at : at + width], "big"), at + width
    return tag, at, at + size


_PUBLIC = frozenset({2, 6, 10, 12, 13, 14, 17})
"""Packets of an OpenPGP public key (RFC 9580): signatures, keys, names, pictures."""


def pgp_public(data: bytes) -> bool:
    """Packets of OpenPGP that are public and add up to the end, of which the first is a key or a
    signature."""
    at, tags = 0, list[int]()
    while at < len(data):
        packet = _packet(data, at)
        if packet is None or packet[0] not in _PUBLIC:
            return False
        tags.append(packet[0])
        at = packet[1]
    return at == len(data) and tags[:1] in ([2], [6])


def _packet(data: bytes, at: int) -> tuple[int, int] | None:
    """Tag of the packet at `at` and the offset behind it; no lengths in parts, which keys have
    not."""
    head, body = data[at], data[at + 1 : at + 6]
    if head & 0xC0 == 0xC0:
        if body[:1] < b"\xc0":
            return head & 0x3F, at + 2 + int.from_bytes(body[:1], "big")
        if body[:1] < b"\xe0":
            return head & 0x3F, at + 3 + (int.from_bytes(body[:2], "big") - 0xC000) + 192
        return (head & 0x3F, at + 6 + int.from_bytes(body[1:5], "big")) if body[0] == 255 else None
    width = 1 << (head & 3)
    if head & 0x80 == 0 or width == 8:
        return None
    return head >> 2 & 0x0F, at + 1 + width + int.from_bytes(body[:width], "big")


def varint(data: bytes, at: int) -> tuple[int, int] | None:
    """Little-endian base-128 number and the offset behind it."""
    number = 0
    for shift in range(0, 63, 7):
        if at >= len(data):
            return None
        number, at = number | (data[at] & 0x7F) << shift, at + 1
        if data[at - 1] < 0x80:
            return number, at
    return None


def macaroon_v2(data: bytes) -> bool:
    """A binary v2 macaroon (libmacaroons): 02, sections of typed fields, then a signature."""
    if data[:1] != b"\x02":
        return False
    at, fields = 1, 0
    allowed: tuple[int, ...] = (1, 2)
    while True:
        if at >= len(data):
            return False
        kind, at = data[at], at + 1
        if kind == 0:
            if at < len(data) and data[at] == 0:
                return fields > 0 and data[at + 1 : at + 3] == b"\x06\x20" and len(data) >= at + 35
            allowed = (1, 2, 4)
            continue
        length = varint(data, at)
        if kind not in allowed or length is None or sum(length) > len(data):
            return False
        at, fields = sum(length), fields + 1


def macaroon_v1(data: bytes) -> bool:
    """A v1 macaroon: packets of four hex digits of length, a word, a blank and a value."""
    at = 0
    words: list[bytes] = []
    while at < len(data) and len(words) < 200:
        head = data[at : at + 4]
        if len(head) < 4 or not re.fullmatch(rb"[0-9a-f]{4}", head):
            break
        size = int(head, 16)
        packet = data[at + 4 : at + size]
        if size < 6 or at + size > len(data):
            break
        words.append(packet.partition(b" ")[0])
        at += size
    return words[:1] in ([b"location"], [b"identifier"]) and b"signature" in words
