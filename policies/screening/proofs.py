"""Offline proofs of further kinds, by the name that rules use: wallets, tokens with a checksum,
values that only their surroundings make secrets.

Owns the meaning of each kind, after its public specification. It must not know where a value stood.
Every check is linear in its value and answers False for anything that it cannot read.
"""

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from mnemonic import Mnemonic

from policies.screening import codecs
from policies.screening.chance import chance
from policies.screening.checks import assigned, chosen, entropy, lot, mixed, placeholder, rune

_BITCOIN = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_RIPPLE = bytes.maketrans(b"rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz", _BITCOIN)
_SHORT_CODE = (
    0x19DC500CE73FDE210, 0x1BFAE00DEF77FE529, 0x1FBD920FFFE7BEE52, 0x1739640BDEEE3FDAD,
    0x07729A039CFC75F5A,
)  # fmt: skip
_LONG_CODE = (
    0x3D59D273535EA62D897, 0x7A9BECB6361C6C51507, 0x543F9B7E6C38D8A2A0E, 0x0C577EAECCF1990D13C,
    0x1887F74F8DC71B10651,
)  # fmt: skip
_SHORT_GOAL, _LONG_GOAL = 0x10CE0795C2FD1E62A, 0x43381E570BF4798AB26
_LONGEST_SHORT_CODE = 93
"""Characters up to which BIP-93 has its shorter checksum."""
_NKEY_SEED = 18 << 3
_NKEY_ROLES = frozenset({0, 2 << 3, 13 << 3, 14 << 3, 20 << 3, 23 << 3})
_STELLAR_SEED = 0x90
_TEZOS = frozenset(
    bytes.fromhex(version)
    for version in ("2bf64e07", "0d0f3a07", "11a2e0c9", "1051eebd")
    # edsk of 64 and 32 bytes, spsk, p2sk
)
_BASE32 = re.compile(rb"[A-Z2-7]+")
_LETTERS = re.compile(rb"[a-z]+")
_UUID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_VARIABLE = re.compile(rb"^[$%{<*]|^\(|\)$|^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")


def crc_hex(value: bytes) -> bool:
    """Cloudflare: 40 characters after the prefix, then their CRC-32 in hex."""
    return value[-8:] == b"%08x" % zlib.crc32(value[-48:-8])


def grafana_crc(value: bytes) -> bool:
    """Grafana service account: the CRC-32 of all before, its bytes in either order."""
    made = zlib.crc32(value[:-9])
    return value[-8:].decode(errors="replace") in (
        made.to_bytes(4, "little").hex(),
        made.to_bytes(4, "big").hex(),
    )


def bitbucket_crc(value: bytes) -> bool:
    """Bitbucket app password: the CRC-32 of all before, or of what is behind the prefix."""
    return value[-8:] in (b"%08X" % zlib.crc32(value[start:-8]) for start in (0, 4))


def grafana_json(value: bytes) -> bool:
    """JSON with a key `k`: `o`, `n`, `k` of a policy token, `k`, `n`, `id` of an older key."""
    try:
        head = json.loads(codecs.base64_any(value.removeprefix(b"glc_")))
    except ValueError:
        return False
    return isinstance(head, dict) and {"n", "k"} <= head.keys() and bool({"o", "id"} & head.keys())


def data_centre(value: bytes) -> bool:
    """Bitbucket and Jira data centre: some twelve digits, a colon, random bytes."""
    digits, colon, rest = codecs.base64_any(value).partition(b":")
    return bool(colon) and digits.isdigit() and 8 <= len(digits) <= 14 and _unprintable(rest)


def _unprintable(raw: bytes) -> bool:
    return len(raw) >= 16 and any(byte < 32 or byte > 126 for byte in raw)


def discord_bot(value: bytes) -> bool:
    """A snowflake in digits in the first of three parts, a signature of many kinds of characters in
    the last."""
    first, last = value.partition(b".")[0], value.rpartition(b".")[2]
    number = codecs.base64_any(first)
    return number.isdigit() and 16 <= len(number) <= 20 and mixed(last)


def base32_seed(value: bytes) -> bool:
    """Stellar (SEP-23) and NATS seeds: base32 with a version, 32 bytes, a CRC-16."""
    raw = codecs.base32_any(value) if _BASE32.fullmatch(value) else b""
    if len(raw) == 35 and raw[0] == _STELLAR_SEED:
        return _crc16(raw[:-2]) == int.from_bytes(raw[-2:], "little")
    if len(raw) != 36 or raw[0] & 0xF8 != _NKEY_SEED:
        return False
    role = (raw[0] & 7) << 5 | raw[1] >> 3
    return role in _NKEY_ROLES and _crc16(raw[:-2]) == int.from_bytes(raw[-2:], "little")


def _crc16(data: bytes) -> int:
    """CRC-16 of XModem."""
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021) & 0xFFFF if crc & 0x8000 else crc << 1
    return crc


def tezos(value: bytes) -> bool:
    """Tezos secret key: base58check with a version of four bytes."""
    raw = codecs.base58check(value)
    return raw is not None and raw[:4] in _TEZOS and len(raw) in (36, 68)


def ripple(value: bytes) -> bool:
    """XRP family seed: base58check in Ripple's alphabet, 16 bytes behind a version."""
    raw = codecs.base58check(value.translate(_RIPPLE))
    return raw is not None and (
        (len(raw) == 17 and raw[0] == 0x21) or (len(raw) == 19 and raw[:3] == b"\x01\xe1\x4b")
    )


def mini_key(value: bytes) -> bool:
    """Casascius mini private key: the hash of key and question mark begins with a zero byte."""
    return mixed(value) and hashlib.sha256(value + b"?").digest()[0] == 0


def bech32_key(value: bytes) -> bool:
    """Bech32 of 32 bytes or more behind a name that says that it is a secret key."""
    decoded = codecs.bech32(value)
    return decoded is not None and len(decoded[1]) >= 32


def codex32(value: bytes) -> bool:
    """BIP-93: a threshold, a name, an index, a payload, and a BCH checksum over it all."""
    prefix, _, data = value.lower().partition(b"1")
    digits = [codecs.BECH32.find(char) for char in data]
    if -1 in digits or data[:1] not in b"023456789":
        return False
    long = len(value) > _LONGEST_SHORT_CODE
    code, bits, goal = (_LONG_CODE, 70, _LONG_GOAL) if long else (_SHORT_CODE, 60, _SHORT_GOAL)
    state = 1
    for digit in (*(char >> 5 for char in prefix), 0, *(char & 31 for char in prefix), *digits):
        top = state >> bits
        state = (state & (1 << bits) - 1) << 5 ^ digit
        for bit, generator in enumerate(code):
            state ^= generator if top >> bit & 1 else 0
    return state == goal


def drawn(value: bytes) -> bool:
    """Drawn by lot: digits and letters in one run, many different ones, no stand-in; or letters
    alone as no name has them."""
    return (
        (re.search(rb"[0-9]", value) is not None or lot(value))
        and re.search(rb"[A-Za-z]", value) is not None
        and len(set(value)) >= 8
        and entropy(value) >= 2.8
        and not placeholder(value)
    )


def dotted(value: bytes) -> bool:
    """Hex digits, a dot, and a run drawn by lot: not a file of a build."""
    return mixed(value.partition(b".")[2])


def two_parts(value: bytes) -> bool:
    """A login and a password, both drawn by lot."""
    return all(map(drawn, value.split(b":")))


def login(value: bytes) -> bool:
    """`user:password` on a command line, with a password that somebody chose for real."""
    return argument(value.partition(b":")[2])


def argument(value: bytes) -> bool:
    """A password on a command line: not a variable, not a stock one, not a word alone."""
    return (
        len(value) >= 8
        and chosen(value)
        and not _VARIABLE.search(value)
        and (re.search(rb"[0-9]|[^A-Za-z0-9_.@/-]", value) is not None or lot(value))
        and re.search(rb"[A-Za-z]", value) is not None
        and len(set(value)) >= 6
    )


def vendor_key(value: bytes) -> bool:
    """What vendors give: a UUID, or a run of letters and digits drawn by lot."""
    return _UUID.fullmatch(value) is not None or assigned(value)


def totp(value: bytes) -> bool:
    """A one-time password seed: 16 characters of base32 or more, with a digit among them."""
    seed = re.sub(rb"[ -]", b"", value).upper()
    return (
        len(seed) >= 16
        and (
            re.search(rb"[2-7]", seed) is not None
            or ((len(seed) >= 24 or value.isupper()) and chance(seed) >= 0.3)
        )
        and re.search(rb"[A-Z]", seed) is not None
        and len(set(seed)) >= 8
    )


def bearer(value: bytes) -> bool:
    """The value of a credential header: drawn by lot, or a long one that is nothing else."""
    return assigned(value) or (len(value) >= 24 and mixed(value) and not placeholder(value))


def token(value: bytes) -> bool:
    """The same in letters of both cases: what only has hex digits is an id as often as not."""
    return assigned(value) and mixed(value)


def coded_value(value: bytes) -> bool:
    """A value in base64 that stands for a text of eight characters or more, or for random bytes."""
    raw = codecs.base64_any(value)
    return len(raw) >= 8 and (chosen(raw) or len(raw) >= 16) and not placeholder(raw)


def long_key(value: bytes) -> bool:
    """A framework's key: fifty characters of every kind."""
    return entropy(value) >= 4 and re.search(rb"[0-9]", value) is not None and b" " not in value


def bare_rune(value: bytes) -> bool:
    """Core Lightning rune without its name: its first 32 bytes are the state of a hash, no text."""
    state = codecs.base64_any(value)[:32]
    return rune(value) and sum(byte < 32 or byte > 126 for byte in state) >= 8


def seed_part(value: bytes) -> bool:
    """Eleven words of the English list in a row or more, or the first four letters of twelve: of
    different words, in no order."""
    tokens = _LETTERS.findall(value.lower())
    for least, listed in ((11, _english()), (12, _stems())):
        run: list[bytes] = []
        for token in (*tokens, b""):
            if token in listed:
                run.append(token)
                continue
            if len(run) >= least and len(set(run)) * 4 >= len(run) * 3 and run != sorted(run):
                return True
            run = []
    return False


@cache
def _english() -> frozenset[bytes]:
    return frozenset(word.encode() for word in Mnemonic("english").wordlist)


@cache
def _stems() -> frozenset[bytes]:
    return frozenset(word[:4] for word in _english())


CHECKS: Final[Mapping[str, Callable[[bytes], bool]]] = {
    check.__name__: check
    for check in (
        crc_hex, grafana_crc, bitbucket_crc, grafana_json, data_centre, discord_bot, base32_seed,
        tezos, ripple, mini_key, bech32_key, codex32, drawn, dotted, two_parts, login, argument,
        vendor_key, totp, bearer, token, coded_value, long_key, bare_rune, seed_part,
    )
}  # fmt: skip
