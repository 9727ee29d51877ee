"""Offline proofs that a value is what its shape says, by the name that rules use.

Owns the meaning of each kind; encodings live in `codecs`. It must not know where a value stood.
Every check is linear in its value and answers False for anything that it cannot read.
"""

import hmac
import json
import re
from collections.abc import Callable, Mapping
from math import log2
from urllib.parse import unquote_to_bytes

from policies.screening import codecs
from policies.screening.chance import chance, in_order, kinds

_CURVE_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
_STAND_INS = re.compile(
    rb"(?i)(?:^|[^a-z0-9])(?:example|your|redacted|placeholder|changeme|dummy|sample|insert|replace|"
    rb"here|todo|fake)(?:[^a-z0-9]|$)"
)
_TEMPLATE = re.compile(
    rb"\$\{|\$\([\w/]|\{\{|<[a-zA-Z]|(?:^|[^A-Za-z0-9])%s(?:$|[^A-Za-z0-9])|\*\*\*|\.\.\.|xxxx|XXXX|"
    rb"0000000000|1234567890ab|(?i:deadbeef)"
)
_DUMMIES = (
    b"password passw0rd password1 password123 changeme changeit secret123 mysecret supersecret "
    b"mypassword postgres mysqlroot rootpass rootpassword userpass yourpassword your_password "
    b"your-password db_password dbpassword example examplepass letmein1 username pa55word "
    b"mysecretpassword secretpassword passphrase 12345678 123456789 qwertyuiop testtest "
    b"testpass testpassword guestguest adminadmin admin123"
)
_DUMMY_PASSWORDS = frozenset(_DUMMIES.split())
_TELLING = frozenset(b"secret password passwd passphrase pass pwd pw token key test".split())
_NOT_A_VALUE = re.compile(
    rb"(?i)^[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}$|://|^[./~]|[({\[<$]|"
    rb"^0x|^(?:arn|urn):|^sha\d+|^[a-z]+(?:[_-][a-z]+)*[_-]?\d{1,4}$|example|^(?![0-9a-f]{32,}$).*\d{12}$"
)
_NEXT_FIELD = re.compile(rb"&(?:amp;)?[A-Za-z_][\w.-]{0,40}=")
_DOTTED = re.compile(rb"(?i)[a-z_]\w*(?:\.[a-z_]\w*)+")
_SPOKEN = re.compile(
    # A path with a word in it; names of constants, of variables and of pages.
    rb"^(?:[\w.-]+/)*[a-z]{3,}(?:[._-][a-z]+)*(?:/[\w.-]+)+$|"
    rb"^(?:[\w.-]+/)+[a-z]{3,}(?:[._-][a-z]+)*$|"
    rb"^[A-Z0-9]+(?:_[A-Z0-9]+)+$|^_*[a-z0-9]+(?:_+[a-z0-9]+){2,}_*$|^[a-z0-9]+(?:-[a-z0-9]+){2,}$"
)
_WITHOUT_DIGITS, _ODD = 20, 0.31
"""Letters from which on their order tells whether they were drawn by lot, and how odd it has to
be."""
_KNOWN_TO_ALL = (
    b"secret", b"your-256-bit-secret", b"key", b"your-secret-key", b"my-secret",
    b"a-string-secret-at-least-256-bits-long",
)  # fmt: skip
_NO_PASSWORD = re.compile(rb"\d{1,5}[/,]|\$\w+$|[{\[%]\w+[}\]%]$")
_COMMENT_MARKS = re.compile(rb"(?m)^[ \t]*(?:#|//|\*|>|;|--)+[ \t]?")
_CODED = bytes(code for code in range(128) if chr(code).isalnum()) + b"+/"
_LONG_LINE = re.compile(rb"[A-Za-z0-9+/]{48,}")
_NEW_LINE = re.compile(rb"(?:\\[nr])+")
_PEM_HEADER = re.compile(rb"(?m)^[^\n]*:[^\n]*$")
_EXTENDED_VERSIONS = frozenset(
    bytes.fromhex(version)
    for version in (
        # SLIP-132: xprv tprv yprv zprv uprv vprv Yprv Zprv Uprv Vprv
        "0488ade4", "04358394", "049d7878", "04b2430c", "044a4e28", "045f18bc", "0295b005",
        "02aa7a99", "024285b5", "02575048",
    )
)  # fmt: skip


def entropy(value: bytes) -> float:
    """Bits per byte of the byte distribution."""
    counts = [value.count(char) for char in set(value)]
    return sum(count / len(value) * log2(len(value) / count) for count in counts)


def placeholder(value: bytes) -> bool:
    """A stand-in, not a secret. Words count only as delimited parts: a long random value that
    happens to hold one is still a secret."""
    return len(set(value)) < 6 or bool(_STAND_INS.search(value) or _TEMPLATE.search(value))


def nsec(value: bytes) -> bool:
    """NIP-19: bech32 with 32 bytes."""
    decoded = codecs.bech32(b"".join(value.split()))
    return decoded is not None and decoded[0] == b"nsec" and len(decoded[1]) == 32


def ncryptsec(value: bytes) -> bool:
    """NIP-49: bech32 with 91 bytes, version 2."""
    decoded = codecs.bech32(b"".join(value.split()))
    return decoded is not None and len(decoded[1]) == 91 and decoded[1][0] == 2


def age(value: bytes) -> bool:
    """age identity, classic or post-quantum: bech32 without a length limit."""
    decoded = codecs.bech32(value)
    return decoded is not None and decoded[0].startswith(b"age-secret-key-")


def extended_key(value: bytes) -> bool:
    """BIP-32 and SLIP-132 private key: 78 bytes, a private version, key byte 0."""
    raw = codecs.base58check(value)
    return raw is not None and len(raw) == 78 and raw[:4] in _EXTENDED_VERSIONS and raw[45] == 0


def wif(value: bytes) -> bool:
    """Private key in wallet import format, or BIP-38 encrypted."""
    raw = codecs.base58check(value)
    if raw is None:
        return False
    if len(raw) == 39:
        return raw[:2] in (b"\x01\x42", b"\x01\x43")
    return raw[0] in (0x80, 0xEF) and (len(raw) == 33 or (len(raw) == 34 and raw[33] == 1))


def crc62(value: bytes) -> bool:
    """GitHub and npm: 30 characters after the prefix, then their CRC-32."""
    return codecs.base62_crc(value[-36:-6], value[-6:])


def macaroon_hex(value: bytes) -> bool:
    return codecs.macaroon_v2(codecs.hex_run(value))


def macaroon_base64(value: bytes) -> bool:
    raw = codecs.base64_any(value)
    return codecs.macaroon_v2(raw) or codecs.macaroon_v1(raw)


def cashu(value: bytes) -> bool:
    """NUT-00: `cashuA` and JSON with proofs, `cashuB` and a CBOR map."""
    raw = codecs.base64_any(value[6:])
    if value[5:6] == b"A":
        return raw[:1] == b"{" and b'"proofs"' in raw
    return raw[:1] != b"" and raw[0] >> 5 == 5 and b"at" in raw and codecs.cbor_end(raw) is not None


def cashu_hex(value: bytes) -> bool:
    return _cashu_raw(codecs.hex_run(value))


def cashu_base64(value: bytes) -> bool:
    return _cashu_raw(codecs.base64_any(value))


def _cashu_raw(raw: bytes) -> bool:
    """The same token as bytes: `crawB`, then its CBOR map."""
    return raw[:5] == b"crawB" and raw[5:6] > b"\xa0" and codecs.cbor_end(raw, 5) is not None


def fedimint(value: bytes) -> bool:
    """Ecash notes: a count, then parts of type, length and content that fill the rest exactly."""
    return fedimint_raw(codecs.base64_any(value))


def fedimint_hex(value: bytes) -> bool:
    return fedimint_raw(codecs.hex_run(value))


def fedimint_base32(value: bytes) -> bool:
    """The same, five bits a character, least significant first."""
    if len(value) <= 8:
        return False
    number = int(value[:7:-1], 32)
    return fedimint_raw(number.to_bytes(len(value[8:]) * 5 // 8 + 1, "little").rstrip(b"\0"), 1)


def fedimint_raw(raw: bytes, slack: int = 0) -> bool:
    at, types = 1, set()
    for _ in range(raw[0] if raw[:1] and raw[0] in (2, 3, 4) else 0):
        kind = _big_size(raw, at)
        size = _big_size(raw, kind[1]) if kind else None
        if kind is None or size is None:
            return False
        if kind[0] == 1 and size[0] != 4:
            return False
        types.add(kind[0])
        at = size[0] + size[1]
    return {0, 1} <= types and len(raw) <= at <= len(raw) + 8 * slack


def _big_size(raw: bytes, at: int) -> tuple[int, int] | None:
    """Fedimint's big-endian variable-length number and the offset behind it."""
    if at >= len(raw):
        return None
    width = {0xFD: 2, 0xFE: 4, 0xFF: 8}.get(raw[at], 0)
    if width == 0:
        return raw[at], at + 1
    if at + 1 + width > len(raw):
        return None
    return int.from_bytes(raw[at + 1 : at + 1 + width], "big"), at + 1 + width


def pem(value: bytes) -> bool:
    """A private key block: at least 64 characters of body that begin like a key."""
    label, _, rest = value[11:].partition(b"-----")
    body = rest.partition(b"-----END")[0]
    if len(body) - len(body.translate(None, _CODED)) < 64:
        return False
    if b"DEK-Info: " in body:
        return True
    # Behind what a log, a listing or code has on every line, the body is what is long.
    bare = codecs.base64_any(b"".join(_LONG_LINE.findall(_NEW_LINE.sub(b"\n", body))))
    if codecs.der_private_key(bare, partial=True):
        return True
    coded = _PEM_HEADER.sub(b"", _COMMENT_MARKS.sub(b"", body))
    if len(coded) - len(coded.translate(None, _CODED)) < 64:
        return False
    raw = codecs.base64_any(coded.partition(b"=")[0])
    if b"OPENSSH" in label:
        return raw.startswith(b"openssh-key-v1\0")
    if b"PGP" in label:
        # RFC 9580 packet tags of a secret key, old and new format.
        return raw[:1] != b"" and (raw[0] & 0xFC in (0x94, 0x9C) or raw[0] in (0xC5, 0xC7))
    return codecs.der_private_key(raw, partial=True)


def der_base64(value: bytes) -> bool:
    return codecs.der_private_key(codecs.base64_any(value))


def der_hex(value: bytes) -> bool:
    return codecs.der_private_key(codecs.hex_run(value))


def openssh_hex(value: bytes) -> bool:
    return codecs.hex_run(value).startswith(b"openssh-key-v1\0")


def openssh_base64(value: bytes) -> bool:
    return codecs.base64_any(value).startswith(b"openssh-key-v1\0")


def jwt(value: bytes) -> bool:
    """Two parts of JSON, of which the first names an algorithm."""
    try:
        head, payload = (json.loads(codecs.base64_any(part)) for part in value.split(b".")[:2])
    except ValueError:
        return False
    if not isinstance(head, dict) or "alg" not in head or not isinstance(payload, dict):
        return False
    return head["alg"] != "HS256" or not _signed_by_all(value)


def _signed_by_all(value: bytes) -> bool:
    """Signed with a key that everybody knows, as the samples of documentation are."""
    signed, _, signature = value.rpartition(b".")
    given = codecs.base64_any(signature)[:32]
    return any(hmac.digest(key, signed, "sha256") == given for key in _KNOWN_TO_ALL)


def aws_id(value: bytes) -> bool:
    """The documentation's own keys hold the word EXAMPLE."""
    return b"EXAMPLE" not in value and len(set(value[4:])) >= 6


def mixed(value: bytes) -> bool:
    """Random text: both cases and digits, many different characters. One in thirty of those with
    twenty characters has no digit: letters as no name has them will do."""
    # Twelve different characters are the fewest that can be so random.
    return (
        len(set(value)) >= 12
        and re.search(rb"[a-z]", value) is not None
        and re.search(rb"[A-Z]", value) is not None
        and (
            re.search(rb"[0-9]", value) is not None
            or (len(value) >= _WITHOUT_DIGITS and chance(value) >= _ODD)
        )
        and b"EXAMPLE" not in value
        and entropy(value) >= 3.5
    )


def lot(value: bytes) -> bool:
    """The same where a value is too short to have it all: letters and digits, or letters of both
    cases, as no word has them."""
    found = kinds(value)
    return mixed(value) or (
        len(set(value)) >= 8
        and (b"l" in found or b"u" in found)
        and (b"d" in found or (b"l" in found and b"u" in found))
        and chance(value) >= (0.35 if b"d" in found else 0.4 if len(found) < 12 else 0.33)
    )


def curve_key(value: bytes) -> bool:
    """A number that can be a secp256k1 key, and not a pattern."""
    return 0 < int(value, 16) < _CURVE_ORDER and len(set(value.lower())) >= 8


def password_in_url(value: bytes) -> bool:
    """`user:password@host` with a password that somebody chose for real."""
    login, _, host = value.rpartition(b"@")
    user, _, coded = login.partition(b":")
    password = unquote_to_bytes(coded)
    name = host.lower().partition(b":")[0]
    if len(password) < 8 or password.lower() in _DUMMY_PASSWORDS or password == user:
        return False
    # A port that only looks like a password, or a variable's name.
    if _NO_PASSWORD.match(password) or placeholder(password) or _told(password):
        return False
    if re.fullmatch(rb"(?:[\w-]+\.)*example(?:\.\w+)*", name):
        return False
    if name not in (b"localhost", b"127.0.0.1", b"db", b"host"):
        return True
    return mixed(password) or (len(password) >= 10 and lot(password))


def _told(password: bytes) -> bool:
    """A password that only says that it is one, as examples have it: `a%20secret`."""
    words = re.split(rb"[^a-z]+", password.lower())
    return sum(len(word) for word in words if word not in _TELLING) < 6 and any(
        word in _TELLING for word in words
    )


def basic_login(value: bytes) -> bool:
    """`user:password` in base64, printable, with a password of 8 characters or more."""
    raw = codecs.base64_any(value)
    user, colon, password = raw.partition(b":")
    return (
        bool(user and colon)
        and re.fullmatch(rb"[ -~]+", raw) is not None
        and len(password) >= 8
        and password.lower() not in _DUMMY_PASSWORDS
        and not placeholder(password)
    )


def chosen(value: bytes) -> bool:
    """A password that somebody chose, not a template or a stock one."""
    return (
        value[:1] not in (b"$", b"%", b"{", b"<", b"*")
        and value.lower() not in _DUMMY_PASSWORDS
        and entropy(value) > 2.5
    )


def assigned(value: bytes) -> bool:
    """A value that nobody would write by hand: drawn by lot. Not an identifier, a path, an address,
    a UUID, an expression or a stand-in."""
    # The next field of a query is no part of the value.
    value = _NEXT_FIELD.split(value, 1)[0]
    found = kinds(value)
    if re.fullmatch(rb"[0-9a-fA-F]+", value):
        drawn = len(value) >= 32 and b"d" in found and len(set(found)) > 1 and entropy(value) >= 3
    else:
        drawn = len(found) >= 14 and _by_lot(value, found) and entropy(value) >= 3.2
    return (
        drawn
        and value.lower() not in _DUMMY_PASSWORDS
        and not _NOT_A_VALUE.search(value)
        and not _SPOKEN.search(value[:200])
        and not (_DOTTED.fullmatch(value) and chance(value) < 0.45)
        and not _stock_login(value)
    )


def _stock_login(value: bytes) -> bool:
    """A login in base64 of which everybody knows the password: that of the documentation."""
    raw = codecs.base64_any(value) if value.endswith(b"=") or len(value) % 4 == 0 else b""
    return re.fullmatch(rb"[!-~]{1,40}:[ -~]{1,40}", raw) is not None and not basic_login(value)


def _by_lot(value: bytes, found: bytes) -> bool:
    """Letters and digits; letters of both cases, which with something else between them have to be
    odder; letters of one case, which have to be odder still. Of words and names in sources that are
    letters alone none comes to 0.21."""
    lower, upper = b"l" in found, b"u" in found
    if b"d" in found:
        return (lower or upper) and chance(value) >= 0.32
    if not value.isalpha():
        return lower and upper and chance(value) >= 0.4
    return chance(value) >= (0.3 if lower and upper else 0.4) and in_order(value) < 0.4


def rune(value: bytes) -> bool:
    """Core Lightning rune: 32 bytes, then restrictions, of which the first is its number."""
    restrictions = codecs.base64_any(value)[32:]
    return re.match(rb"=\d+(?:$|[&|\-])[ -~]*$", restrictions) is not None


CHECKS: Mapping[str, Callable[[bytes], bool]] = {
    check.__name__: check
    for check in (
        nsec, ncryptsec, age, extended_key, wif, crc62, macaroon_hex, macaroon_base64, cashu,
        cashu_hex, cashu_base64, fedimint, fedimint_hex, fedimint_base32, pem, der_base64, der_hex,
        openssh_base64, openssh_hex, jwt, aws_id, mixed, lot, curve_key, password_in_url,
        basic_login, chosen, assigned, rune,
    )
}  # fmt: skip
