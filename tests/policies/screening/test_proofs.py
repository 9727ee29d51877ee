"""Further kinds are proved offline, and what only looks like them is not."""

import base64
import json
import random
import zlib

import pytest

from policies.screening import codecs, proofs
from policies.screening.rules import load

DRAW = random.Random(93)
SAMPLES = {rule.check: (rule, rule.yes) for rule in load() if rule.check in proofs.CHECKS}
CHECKSUMMED = (
    "crc_hex", "grafana_crc", "bitbucket_crc", "base32_seed", "tezos", "ripple", "bech32_key",
    "codex32",
)  # fmt: skip


def value_of(name: str, sample: bytes) -> bytes:
    """What the rule hands to its check."""
    found = SAMPLES[name][0].pattern.search(sample)
    assert found is not None
    return found["v"] if "v" in found.re.groupindex else found[0]


@pytest.mark.parametrize("name", CHECKSUMMED)
def test_one_character_breaks_a_checksum(name):
    """Each sample passes; with two neighbours changed round, or its last character, it does not."""
    for sample in SAMPLES[name][1]:
        value = value_of(name, sample)
        assert proofs.CHECKS[name](value)
        other = b"q" if value[-1:].lower() != b"q" else b"p"
        last = b"2" if value[-1:] in b"013456789" else b"3"
        broken = value[:-1] + (last if value[-1:].isdigit() else other)
        if name in ("crc_hex", "grafana_crc", "bitbucket_crc"):
            broken = value[:10] + (b"Q" if value[10:11] != b"Q" else b"R") + value[11:]
        if value.isupper():
            broken = broken.upper()
        assert not proofs.CHECKS[name](broken)


def test_the_long_code_of_codex32():
    """Above 93 characters BIP-93 has another checksum: its own test vector, and one letter off."""
    vector = (
        "MS100C8VSM32ZXFGUHPCHTLUPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZYGSFJD6AN074RXVCEMLH8WU3TK925ACDE"
        "FGHJKLMNPQRSTUVWXY06FHPV80UNDVARHRAK"
    )
    assert proofs.codex32(vector.encode())
    assert not proofs.codex32(vector.replace("FHPV", "FHPP").encode())
    assert not proofs.codex32(b"ms1b" + b"q" * 44)
    assert not proofs.codex32(b"ms1a" + b"q" * 44)


def test_base58_keys_of_others_are_not_these():
    """Something else in base58check is neither a Tezos key nor a seed of XRP."""
    other = b"1BoatSLRHtKNngkdXEeobR76b53LETtpyT"
    assert codecs.base58check(other)
    assert not proofs.tezos(other)
    assert not proofs.ripple(b"s" + b"a" * 28)
    assert not proofs.tezos(b"edsk")


def test_base32_of_another_role_or_length_is_no_seed():
    """A public key of Stellar, a public one of NATS, a text of another length."""
    assert not proofs.base32_seed(b"G" + b"A" * 55)
    assert not proofs.base32_seed(b"SU" + b"A" * 55)
    assert not proofs.base32_seed(b"SU")
    unknown = bytes((18 << 3 | 7, 0xF8)) + bytes(34)
    assert not proofs.base32_seed(base64.b32encode(unknown).rstrip(b"="))


def test_json_that_is_a_key_of_grafana():
    """Names and a key, and what says whose: an organisation or a number."""
    for fields, right in (
        ({"o": "1", "n": "a", "k": "b"}, True),
        ({"n": "a", "k": "b", "id": 1}, True),
        ({"n": "a", "k": "b"}, False),
        ({"o": "1", "n": "a"}, False),
    ):
        text = base64.b64encode(json.dumps(fields).encode())
        assert proofs.grafana_json(text) == proofs.grafana_json(b"glc_" + text) == right
    assert not proofs.grafana_json(base64.b64encode(b"[1, 2, 3]"))
    assert not proofs.grafana_json(b"eyJub3Q")


def test_digits_and_bytes_of_a_data_centre():
    """Twelve digits, a colon and random bytes; text behind the colon is something else."""
    assert proofs.data_centre(base64.b64encode(b"123456789012:" + bytes(range(20))))
    assert not proofs.data_centre(base64.b64encode(b"123456789012:a plain sentence"))
    assert not proofs.data_centre(base64.b64encode(b"123456789012:\1\2"))
    assert not proofs.data_centre(base64.b64encode(b"twelve digits: no, not at all"))


def test_a_bot_has_a_number_for_a_name():
    """The first part of a bot's token is its number in digits."""
    tail = b".Gabcde.a8Kd02mXqPz71LbRt5yUw3VnCe6Hs9Jf"
    number = base64.b64encode(b"912345678901234567").rstrip(b"=")
    assert proofs.discord_bot(number + tail)
    assert not proofs.discord_bot(base64.b64encode(b"no digits whatever").rstrip(b"=") + tail)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("drawn", b"k3Jq8Zt0Lw5xYb", b"aaaaaaaaaaaaa1"),
        ("drawn", b"0f1e2d3c4b5a69788796", b"onlylettersinhere"),
        ("drawn", b"A7K2Q9Z4X1", b"12345678901234"),
        ("dotted", b"0" * 32 + b".aK3jq8Zt0Lw5xYb1", b"0" * 32 + b".production-bundle"),
        ("two_parts", b"3fa94b71c6d8e205:9b1e77a0c4d2f638", b"login:password1234"),
        ("login", b"admin:k3Jq8Zt0Lw5x", b"user:password"),
        ("login", b":0f1e2d3c4b5a6978", b"user:$PASSWORD1"),
        ("argument", b"k3Jq8Zt0Lw5x", b"short1"),
        ("argument", b"horse!battery", b"CI_REGISTRY_PASSWORD_2"),
        ("argument", b"a1b2c3d4e5", b"123456789012"),
        ("argument", b"a1b2c3d4e5", b"app-production"),
        ("vendor_key", b"8f14e45f-ceea-467a-9575-1a2b3c4d5e6f", b"your-own-key-goes-in-here-now"),
        ("vendor_key", b"k3Jq8Zt0Lw5xYb1mNcVd", b"get_the_key_from_the_vault_2"),
        ("totp", b"JBSW Y3DP EHPK 3PXP", b"AUTHENTICATIONFLOW"),
        ("totp", b"jbsw y3dp ehpk 3pxp", b"JBSWY3DP"),
        ("totp", b"JBSWY3DPEHPK3PXP", b"2222222222222222"),
        ("bearer", b"k3Jq8Zt0Lw5xYb1mNcVd", b"YOUR_ACCESS_TOKEN_GOES_HERE"),
        ("bearer", b"AAA.k3Jq8Zt0Lw5xYb1mNcVd://q", b"authentication_middleware_factory"),
        ("token", b"k3Jq8Zt0Lw5xYb1mNcVd", b"0f1e2d3c4b5a69788796a5b4c3d2e1f0"),
        ("coded_value", b"azNKcThadDBMdzV4", b"Y2hhbmdlbWU="),
        ("coded_value", base64.b64encode(bytes(range(16))), b"YQ=="),
        ("long_key", b"x7!k2@m9#q4$w1%z8^c5&v3*b6(n0)_j-h+g=f", b"a sentence 1 that is long"),
        ("mini_key", b"S6c56bnXQiBjk9mqSYE7ykVQ7NzrRy", b"S6c56bnXQiBjk9mqSYE7ykVQ7NzrRz"),
    ],
)
def test_values_and_their_look_alikes(name, right, wrong):
    """What somebody chose or drew, and what stands in its place in documents and code."""
    assert proofs.CHECKS[name](right)
    assert not proofs.CHECKS[name](wrong)


def test_a_sum_in_either_order_of_its_bytes():
    """Grafana's sum counts with its lowest byte first, as it is written, and the other way round;
    one of Bitbucket's counts with the prefix and without."""
    body = b"glsa_" + b"k3Jq8Zt0Lw5xYb1mNcVdPz71Rt5yUw3V"
    for order in ("little", "big"):
        summed = body + b"_" + zlib.crc32(body).to_bytes(4, order).hex().encode()
        assert proofs.grafana_crc(summed)
    for start in (0, 4):
        body = b"ATBB" + b"k3Jq8Zt0Lw5xYb1mNcVdPz71"
        assert proofs.bitbucket_crc(body + b"%08X" % zlib.crc32(body[start:]))
