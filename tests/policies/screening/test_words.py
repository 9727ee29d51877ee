"""Wallet seeds: found in every way that people write them down, and not in prose."""

import hashlib
import hmac
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mnemonic import Mnemonic

from policies.screening.words import LATIN, OTHER, OWN, Words
from policies.screening.work import Work

WORDS = Words.load()
ENGLISH = Mnemonic("english")


def found(text: str, **more: bool) -> set[str]:
    data = text.encode()
    return WORDS.findings(data, Work(10**6), **more)


def seed(strength: int = 128, language: str = "english", salt: int = 0) -> list[str]:
    entropy = hashlib.sha256(f"{language} {salt}".encode()).digest()[: strength // 8]
    return Mnemonic(language).to_mnemonic(entropy).replace("\u3000", " ").split(" ")


def broken() -> list[str]:
    """Twelve words in no order that pass no checksum of any kind."""
    picker = random.Random(3)
    while True:
        words = picker.sample(ENGLISH.wordlist, 12)
        if not ENGLISH.check(" ".join(words)) and not found(" ".join(words)):
            return words


WAYS = {
    "a line": " ".join,
    "lines": "\n".join,
    "windows lines": "\r\n".join,
    "commas": ",".join,
    "a JSON array": lambda words: str(words).replace("'", '"'),
    "numbered": lambda words: "\n".join(f"{n}. {w}" for n, w in enumerate(words, 1)),
    "numbered, closed": lambda words: " ".join(f"{n}) {w}" for n, w in enumerate(words, 1)),
    "bullets": lambda words: "\n".join(f"  • {w}" for w in words),
    "a table": lambda words: "\n".join(f"| {n:02} | {w} |" for n, w in enumerate(words, 1)),
    "behind line numbers": lambda words: "\n".join(f"  {n}\u2192{w}" for n, w in enumerate(words)),
    "quoted": lambda words: "', '".join(words),
    "upper case": lambda words: " ".join(words).upper(),
    "title case": lambda words: " ".join(words).title(),
    "between others": lambda words: f"my list is zoo {' '.join(words)} and about that",
    "far in": lambda words: "x y z " * 9000 + " ".join(words) + " x y z" * 100,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("strength", [128, 160, 192, 224, 256])
def test_a_seed_is_found_however_it_is_written(way, strength):
    """Twelve to twenty-four words, separated by anything short."""
    assert found(WAYS[way](seed(strength))) == {"bip39"}


@pytest.mark.parametrize("language", [name for name in (*LATIN, *OTHER) if name not in OWN])
def test_every_official_list(language):
    """All ten lists, with and without the ideographic space."""
    words = seed(language=language)
    assert found(" ".join(words)) == {"bip39"}
    assert found("\u3000".join(words)) == {"bip39"}


@pytest.mark.parametrize("label", ["word{}=", "Word {}: ", "WORD #{} ", "seed_{:02} | "])
def test_labels_with_numbers_are_no_words(label):
    """Wallets write `word 1: …`; the label is itself a word of the list."""
    text = "\n".join(label.format(n) + word for n, word in enumerate(seed(), 1))
    assert found(text, labelled=True) == {"bip39"}


def test_a_telling_word_stands_in_for_the_checksum():
    """A phrase with a slip of the pen is a seed where the text, or its key, says so."""
    text = " ".join(broken())
    assert found(text) == set()
    assert found(f"recovery phrase: {text}") == {"bip39"}
    assert found(text, context=True) == {"bip39"}


@pytest.mark.parametrize(
    "text",
    [
        " ".join(ENGLISH.wordlist),
        " ".join(reversed(ENGLISH.wordlist)),
        "\n".join(ENGLISH.wordlist[900:960]),
        "secret secret access access key key key quote connect quote access key secret key",
        " ".join(["abandon", "ability"] * 20),
        " ".join(seed()[:11]),
        "the quick brown fox jumps over the lazy dog while we wait for the next train home",
        ("x" * 30).join(seed()),
        "",
    ],
)
def test_what_is_no_seed_is_let_go(text):
    """The list itself in order, code tokens that repeat, prose, words far apart."""
    assert found(text) == set()


def test_electrum_seeds():
    """Twelve words without BIP-39 checksum whose hash has Electrum's version prefix."""
    picker = random.Random(7)
    while True:
        words = picker.sample(ENGLISH.wordlist, 12)
        text = " ".join(words)
        digest = hmac.new(b"Seed version", text.encode(), hashlib.sha512).hexdigest()
        if digest.startswith("01") and not ENGLISH.check(text):
            break
    assert found(text) == {"electrum_seed"}


def test_cipher_seeds_of_lnd():
    """Twenty-four words with version 0 and a CRC-32C instead of the BIP-39 checksum."""

    def crc32c(data: bytes) -> int:
        crc = 0xFFFFFFFF
        for byte in data:
            crc ^= byte
            for _ in range(8):
                crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        return crc ^ 0xFFFFFFFF

    for salt in range(200):
        body = b"\0" + hashlib.sha256(bytes([salt])).digest()[:28]
        number = int.from_bytes(body + crc32c(body).to_bytes(4, "big"), "big")
        words = [ENGLISH.wordlist[number >> 11 * n & 2047] for n in reversed(range(24))]
        if found(" ".join(words)) == {"aezeed"}:
            return
    pytest.fail("no cipher seed was recognised as one")


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([128, 256]), st.text(max_size=30))
def test_any_seed_in_any_surroundings(salt, strength, around):
    """Property: a seed with text before and after it is found."""
    words = seed(strength, salt=salt)
    assert found(f"{around} | {' '.join(words)} | {around}")


@pytest.mark.parametrize("language", ["japanese", "korean", "chinese_simplified"])
def test_prose_and_part_of_a_seed_in_another_script_are_let_go(language):
    """Twelve words of one list in a row are a seed, eleven among other words are not."""
    words = seed(128, language)
    assert found(" ".join(words), context=True) != set()
    assert found(" ".join([*words[:11], "und", *words[11:]]), context=True) == set()
    assert found("これは普通の文章です。한국어 문장입니다。", context=True) == set()


def test_characters_in_a_row_need_a_telling_word_or_blanks_alone_between_them():
    """The lists of Chinese are the commonest characters, which stand in rows for many reasons."""
    characters = seed(128, "chinese_simplified")
    row = "、".join(characters)
    assert found(row) == set()
    assert found(f"wallet: {row}") == found(row, context=True) == found(" ".join(characters))
    assert found(" ".join(characters)) == {"bip39"}
    for numbered in ("\n".join(f"{n}. {c}" for n, c in enumerate(characters)), str(characters)):
        assert found(numbered) == {"bip39"}
