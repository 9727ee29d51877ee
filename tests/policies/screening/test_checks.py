"""Offline checks against values made after the public specifications."""

import base64
import hashlib

import pytest

from policies.screening import checks, rules

ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
SAMPLES = {rule.id: rule.yes for rule in rules.load()}


@pytest.mark.parametrize(
    ("value", "real"),
    [
        (b"app:" + b"Xk29fLm2pQ" + b"@db.lan:5432", True),
        (b"app:" + b"Xk29/fLm+2pQ" + b"@10.0.0.3", True),
        (b":" + b"Xk29fLm2pQ" + b"@cache", True),
        (b"app:" + b"%40Xk29fLm2" + b"@db.lan", True),
        (b"app:" + b"Xk29fLm2pQ7rTw" + b"@localhost", True),
        (b"app:" + b"correct horse" + b"@db.lan", True),
        (b"app:short@db.lan", False),
        (b"app:password@db.lan", False),
        (b"postgres:postgres@db.lan", False),
        (b"someuser:someuser@db.lan", False),
        (b"app:development@localhost", False),
        (b"app:${DB_PASSWORD}@db.lan", False),
        (b"app:$DB_PASSWORD@db.lan", False),
        (b"app:{password}@db.lan", False),
        (b"app:<password>@db.lan", False),
        (b"app:your-db-pass@db.lan", False),
        (b"app:Xk29fLm2pQ@db.example.com", False),
        (b"localhost:6379/0?user=me@x", False),
    ],
)
def test_passwords_in_urls(value, real):
    """A chosen password on a real host; templates, stock passwords and examples are let go."""
    assert checks.password_in_url(value) is real


@pytest.mark.parametrize(
    ("value", "stand_in"),
    [
        (b"xxxxxxxxxxxx", True),
        (b"your-key-here", True),
        (b"<insert key>", True),
        (b"sk-EXAMPLE-1", True),
        (b"${TOKEN}abcdef", True),
        (b"aBcD1234example9ZyX", False),
        (b"k3Jw9QpmVx2Lr8Tn5hereW", False),
    ],
)
def test_placeholders(value, stand_in):
    """Words count only as delimited parts; a random value that holds one is still a secret."""
    assert checks.placeholder(value) is stand_in


def test_private_key_blocks():
    """Encrypted in the old way, cut short, of the wrong label's content, or only a label."""
    body = base64.b64encode(bytes(range(200))).decode()
    head = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00"
    old = f"{head}\n\n{body}"
    assert checks.pem(old.encode())
    (ssh, *_) = SAMPLES["openssh"]
    assert checks.pem(ssh[: len(ssh) // 2])
    assert not checks.pem(ssh.replace(b"b3BlbnNzaC1rZXk", b"AAAAAAAAAAAAAAA"))
    assert not checks.pem(b"-----BEGIN PRIVATE KEY-----\nnothing here")


def test_wallet_import_format():
    """Checksum, version and length; the encrypted form too."""

    def base58(body: bytes) -> bytes:
        raw = body + hashlib.sha256(hashlib.sha256(body).digest()).digest()[:4]
        number, digits = int.from_bytes(raw, "big"), ""
        while number:
            number, digit = divmod(number, 58)
            digits = ALPHABET[digit] + digits
        return digits.encode()

    key = bytes(range(1, 33))
    for good in (b"\x80" + key, b"\xef" + key + b"\1", b"\1\x42" + key + b"abcde"):
        assert checks.wif(base58(good))
    for bad in (
        b"\x81" + key,
        b"\x80" + key + b"\2",
        b"\1\x41" + key + b"abcde",
        b"\x80" + key[:9],
    ):
        assert not checks.wif(base58(bad))
    assert not checks.wif(b"K" + b"z" * 51)
    assert not checks.wif(b"0" * 52)


def test_tokens_of_which_parts_are_no_json():
    """The first two parts of a web token are JSON, and the first names an algorithm."""

    def part(text: str) -> bytes:
        return base64.urlsafe_b64encode(text.encode()).rstrip(b"=")

    good = part('{"alg":"none"}') + b"." + part("{}") + b".x"
    assert checks.jwt(good)
    assert not checks.jwt(part('{"typ":"x"}') + b"." + part("{}") + b".x")
    assert not checks.jwt(part("[1]") + b"." + part("{}") + b".x")
    assert not checks.jwt(b"eyJ.eyJ.x")
    assert not checks.jwt(b"eyJ")


@pytest.mark.parametrize(
    ("value", "real"),
    [
        (b"Zq7xW2pL" + b"9rTfa1", True),
        (b"9f86d081884c7d659a2feaa0c55ad0ba", True),
        (b"9f86d081884c7d659a2feaa0c55ad0b", False),
        (b"aB3dE5fG7hI9j", False),
        (b"AnotherLongWordOfMine7", False),
        (b"0123456789012345", False),
        (b"onlysmalllettersinhere", False),
        (b"aaaaaaaa1aaaaaaaa", False),
        (b"aB3_" * 5, False),
        (b"wKzqTxVb" + b"nLmRyPdQ", True),
        (b"wKzqTxVb" + b"nLmRyPd", True),
        (b"qzxkvjwp" + b"fhgbtmrd", True),
        (b"QZXKVJWP" + b"FHGBTMRD", True),
        (b"wKzq.TxVbn/LmRyPdQ", True),
        (b"aBcDeFgHiJkLmNoPq", False),
        (b"asdfghjklzxcvbnm", False),
        (b"UserVolumeEncryptionKey", False),
        (b"getAdminPasswordHash", False),
        (b"FROZENAUTHTOKENS", False),
    ],
)
def test_values_that_nobody_would_write_by_hand(value, real):
    """Digits and letters that change places all the time, and are not the same few."""
    assert checks.assigned(value) is real
