"""What a run of words from a word list is: seeds and shares, proved by their checksum.

Owns the checksums and how a run is judged. It must not know where words stood. A run counts if a
window of it passes the checksum of its kind, or in BIP-39 if a telling word is near; most of its
words differ, no two in a row come twice, and it is not a stretch of the list itself in order.
"""

import hashlib
import hmac
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from policies.screening.work import Work

LENGTHS = (12, 15, 18, 21, 24)
_CRC32C = 0x82F63B78
_SHARES = (20, 33)
_LONGEST_GLUED = 24
"""Words in a row among which a seed of sixteen is looked for where no telling word is near."""
_ALGORAND = "sha512_256"
_GENERATOR = (
    0xE0E040, 0x1C1C080, 0x3838100, 0x7070200, 0xE0E0009,
    0x1C0C2412, 0x38086C24, 0x3090FC48, 0x21B1F890, 0x3F3F120,
)  # fmt: skip
_TABLE = [0]
for _generator in _GENERATOR:
    _TABLE += [_entry ^ _generator for _entry in _TABLE]


def _name(text: bytes) -> int:
    state = 1
    for char in text:
        state = (state & 0xFFFFF) << 10 ^ char ^ _TABLE[state >> 20]
    return state


_START = (_name(b"shamir"), _name(b"shamir_extendable"))


def judge(
    language: str,
    run: Sequence[int],
    words: Sequence[str],
    work: Work,
    *,
    near: bool,
    whole: bool = False,
) -> str:
    """The kind of seed in `run`, numbers in the list of a `language`, whose words are `words`; or
    nothing. `near`: a telling word is near. `whole`: a part of the run does not count."""
    work.spend("words", 8 * len(run))
    match language:
        case "slip39":
            return "slip39" if any(map(_share, _windows(run, _SHARES))) else ""
        case "monero":
            return "monero_seed" if _monero(run, words, near) else ""
        case _:
            return _phrase(run, near, words, language, (len(run),) if whole else LENGTHS)


def _windows(run: Sequence[int], lengths: Iterable[int]) -> Iterator[Sequence[int]]:
    for length in lengths:
        for start in range(len(run) - length + 1):
            yield run[start : start + length]


def _share(window: Sequence[int]) -> bool:
    """SLIP-0039: a group threshold that is not above the number of groups, no bits of padding, and
    a Reed-Solomon checksum over it all."""
    head = window[2] << 10 | window[3]
    if (head >> 12 & 15) > (head >> 8 & 15) or window[4] >> (8 if len(window) == 20 else 6):
        return False
    # A share of an extendable backup has another name to begin with.
    state = _START[window[1] >> 4 & 1]
    for word in window:
        state = (state & 0xFFFFF) << 10 ^ word ^ _TABLE[state >> 20]
    return state == 1


def _monero(run: Sequence[int], words: Sequence[str], near: bool) -> bool:
    """25 words of which the last repeats one of the others, told by a CRC-32 of their first three
    letters; the form of 13 words alone or beside a telling word, for its check is a weak one."""
    for window in _windows(run, (25, 13) if near or len(run) == 13 else (25,)):
        *body, last = window
        if last not in body or len(set(body)) * 4 < len(body) * 3:
            continue
        check = zlib.crc32("".join(words[word][:3] for word in body).encode())
        if body[check % len(body)] == last:
            return True
    return False


def _phrase(
    run: Sequence[int],
    near: bool,
    words: Sequence[str],
    language: str,
    lengths: Iterable[int],
) -> str:
    """BIP-39 in all its languages; in English what uses the list without its checksum."""
    if language == "english":
        if any(map(_polyseed, _windows(run, (16,) if near or len(run) <= _LONGEST_GLUED else ()))):
            return "polyseed"
        if any(map(_algorand, _windows(run, (25,)))):
            return "algorand_seed"
    rises = [0, *accumulate(one < two for one, two in pairwise(run))]
    for length in lengths:
        for start in _various(run, length):
            window = run[start : start + length]
            # A stretch of the list itself, up or down, with one break at most, is no seed.
            if not 1 < rises[start + length - 1] - rises[start] < length - 2:
                continue
            if near or (not _repeats(window) and _checksum(window)):
                return "bip39"
            if language == "english" and length == 24 and _aezeed(window):
                return "aezeed"
            if language == "english" and length == 12 and _electrum(words[word] for word in window):
                return "electrum_seed"
    return ""


def _polyseed(window: Sequence[int]) -> bool:
    """Polyseed: 16 coefficients over GF(2^11) of a polynomial that is 0 at 2."""
    value = 0
    for word in reversed(window):
        value = value << 1 ^ (0x805 if value & 0x400 else 0) ^ word
    return value == 0 and len(set(window)) >= 12


def _algorand(window: Sequence[int]) -> bool:
    """Algorand: a key of 32 bytes, lowest bits first, and the head of its SHA-512/256."""
    number = sum(word << 11 * at for at, word in enumerate(window[:24]))
    if number >> 256 or len(set(window)) < 18 or _ALGORAND not in hashlib.algorithms_available:
        return False
    digest = hashlib.new(_ALGORAND, number.to_bytes(32, "little")).digest()
    return int.from_bytes(digest[:2], "little") & 0x7FF == window[24]


def _repeats(window: Sequence[int]) -> bool:
    """Two words in a row that stand there again, as in prose and code; drawn by lot, one seed in
    twenty thousand has such."""
    pairs = list(pairwise(window))
    return len(set(pairs)) < len(pairs)


def _various(run: Sequence[int], length: int) -> Iterator[int]:
    """Where windows begin of which at least three quarters of the words differ."""
    least = -(-length * 3 // 4)
    if len(run) < length or len(set(run)) < least:
        return
    counts = Counter(run[: length - 1])
    for start, word in enumerate(run[length - 1 :]):
        counts[word] += 1
        if len(counts) >= least:
            yield start
        counts[run[start]] -= 1
        if not counts[run[start]]:
            del counts[run[start]]


def _checksum(window: Sequence[int]) -> bool:
    number = 0
    for word in window:
        number = number << 11 | word
    bits = len(window) // 3
    entropy = (number >> bits).to_bytes(len(window) * 4 // 3, "big")
    return hashlib.sha256(entropy).digest()[0] >> 8 - bits == number & (1 << bits) - 1


def _aezeed(window: Sequence[int]) -> bool:
    """LND's cipher seed: version 0, and a CRC-32C over the first 29 of 33 bytes."""
    if window[0] >= 8:
        return False
    number = 0
    for word in window:
        number = number << 11 | word
    raw = number.to_bytes(33, "big")
    crc = 0xFFFFFFFF
    for byte in raw[:29]:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (_CRC32C if crc & 1 else 0)
    return (crc ^ 0xFFFFFFFF).to_bytes(4, "big") == raw[29:]


def _electrum(words: Iterable[str]) -> bool:
    """Electrum 2: the words hash to a version prefix."""
    digest = hmac.new(b"Seed version", " ".join(words).encode(), hashlib.sha512).hexdigest()
    return digest.startswith(("01", "100", "101", "102"))
