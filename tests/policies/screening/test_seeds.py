"""Checksums of seeds and shares, against the specifications' own way to compute them."""

import hashlib
import random
import zlib

import pytest

from policies.screening.words import Words
from policies.screening.work import Work

WORDS = Words.load()
SLIP39, MONERO = WORDS.lists["slip39"], WORDS.lists["monero"]
NOISE = random.Random(39)
GENERATOR = (
    0xE0E040, 0x1C1C080, 0x3838100, 0x7070200, 0xE0E0009,
    0x1C0C2412, 0x38086C24, 0x3090FC48, 0x21B1F890, 0x3F3F120,
)  # fmt: skip


def found(text: str) -> set[str]:
    return WORDS.findings(text.encode(), Work(10**6))


def share(length: int, name: bytes = b"shamir") -> list[str]:
    """A share with the Reed-Solomon checksum of SLIP-0039, bit by bit as the page has it."""
    numbers = [NOISE.randrange(1024) for _ in range(length - 3)]
    numbers[1] = numbers[1] & ~16 | (16 if name != b"shamir" else 0)
    numbers[2:4] = [0, 1 << 8 | 1 << 4]
    numbers[4] &= 63
    check = 1
    for value in [*name, *numbers, 0, 0, 0]:
        top = check >> 20
        check = (check & 0xFFFFF) << 10 ^ value
        for bit, generator in enumerate(GENERATOR):
            check ^= generator if top >> bit & 1 else 0
    check ^= 1
    return [SLIP39[n] for n in (*numbers, check >> 20, check >> 10 & 1023, check & 1023)]


def monero(length: int) -> list[str]:
    """Words of which the last is one of the others, chosen by a CRC-32 of their first letters."""
    words = NOISE.sample(MONERO, length - 1)
    check = zlib.crc32("".join(word[:3] for word in words).encode())
    return [*words, words[check % len(words)]]


@pytest.mark.parametrize("length", [20, 33])
@pytest.mark.parametrize("name", [b"shamir", b"shamir_extendable"])
def test_shares_of_slip39(length, name):
    """Both lengths, both names; one per line, in capitals, between other words."""
    words = share(length, name)
    for text in (" ".join(words), "\n".join(words).upper(), f"academic {' '.join(words)} acid"):
        assert found(text) == {"slip39"}
    words[7] = SLIP39[SLIP39.index(words[7]) - 1]
    assert found(" ".join(words)) == set()


def test_seeds_of_monero():
    """25 words prove themselves; 13 alone as well, among others they need a telling word."""
    words = monero(25)
    assert found(" ".join(words)) == {"monero_seed"}
    assert found("\n".join(f"{n}. {word}" for n, word in enumerate(words, 1))) == {"monero_seed"}
    assert found(" ".join([*words[:24], words[1 if words[24] != words[1] else 2]])) == set()
    short = monero(13)
    assert found(" ".join(short)) == {"monero_seed"}
    among = f"{' '.join(short)} {MONERO[700]}"
    assert found(among) == set()
    assert found(f"monero: {among}") == {"monero_seed"}


def polyseed() -> list[int]:
    """Coefficients of which the first makes the sum over all powers of 2 in GF(2^11) vanish."""
    numbers = NOISE.sample(range(2048), 15)
    check, power = 0, 1
    for number in numbers:
        power = power << 1 ^ (0x805 if power & 0x400 else 0)
        product = 0
        for bit in range(11):
            product ^= power << bit if number >> bit & 1 else 0
        for bit in range(21, 10, -1):
            product ^= 0x805 << bit - 11 if product >> bit & 1 else 0
        check ^= product
    return [check, *numbers]


def test_seeds_of_polyseed():
    """16 words alone, or beside a telling word; with another word it is no seed of this kind."""
    english, numbers = WORDS.lists["english"], polyseed()
    words = [english[number] for number in numbers]
    assert found(" ".join(words)) == {"polyseed"}
    assert found(f"seed: {' '.join(words)} {english[3]}") == {"polyseed"}
    words[5] = english[numbers[5] ^ 1]
    assert "polyseed" not in found(" ".join(words))


def test_seeds_of_algorand(monkeypatch):
    """25 words, the last from a hash of the key; not known where that hash is not."""
    english = WORDS.lists["english"]
    key = NOISE.randbytes(32)
    number = int.from_bytes(key, "little")
    head = int.from_bytes(hashlib.new("sha512_256", key).digest()[:2], "little") & 2047
    numbers = [*(number >> 11 * at & 2047 for at in range(24)), head]
    words = [english[n] for n in numbers]
    assert found(" ".join(words)) == {"algorand_seed"}
    assert found(" ".join([*words[:24], english[head ^ 1]])) != {"algorand_seed"}
    monkeypatch.setattr(hashlib, "algorithms_available", set())
    assert found(" ".join(words)) != {"algorand_seed"}


def test_lists_are_whole():
    """As their specifications count them; the first letters tell words apart."""
    assert len({word[:4] for word in SLIP39}) == 1024
    assert len({word[:3] for word in MONERO}) == 1626


@pytest.mark.parametrize("words", [SLIP39, MONERO], ids=["slip39", "monero"])
def test_the_lists_themselves_and_random_words_are_no_seeds(words):
    """In order, and drawn by lot: no checksum comes out by chance."""
    assert found(" ".join(words)) == set()
    assert found(" ".join(NOISE.choices(words, k=400))) <= {"bip39"}
