"""Checksums of seeds and shares, against the specifications' own way to compute them."""

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
    """25 words prove themselves; 13 need a telling word."""
    words = monero(25)
    assert found(" ".join(words)) == {"monero_seed"}
    assert found("\n".join(f"{n}. {word}" for n, word in enumerate(words, 1))) == {"monero_seed"}
    assert found(" ".join([*words[:24], words[1 if words[24] != words[1] else 2]])) == set()
    short = monero(13)
    assert found(" ".join(short)) == set()
    assert found(f"monero: {' '.join(short)}") == {"monero_seed"}


def test_lists_are_whole():
    """As their specifications count them; the first letters tell words apart."""
    assert len({word[:4] for word in SLIP39}) == 1024
    assert len({word[:3] for word in MONERO}) == 1626


@pytest.mark.parametrize("words", [SLIP39, MONERO], ids=["slip39", "monero"])
def test_the_lists_themselves_and_random_words_are_no_seeds(words):
    """In order, and drawn by lot: no checksum comes out by chance."""
    assert found(" ".join(words)) == set()
    assert found(" ".join(NOISE.choices(words, k=400))) <= {"bip39"}
