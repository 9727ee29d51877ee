"""What is drawn by lot is told from what somebody wrote."""

import random
import string

import pytest

from policies.screening.chance import COMMON, chance, kinds

LOTS = string.ascii_letters + string.digits
WORDS = ("request", "handler", "token", "client", "password", "version", "config", "cache", "load")


def test_kinds_leave_out_what_stands_between_words():
    """Digits, small letters, capitals, others; no hyphens, dots and low lines."""
    assert kinds(b"aB-1._+") == b"ludo"


def test_nothing_has_no_chance():
    """An empty value, or one character, changes nowhere."""
    assert chance(b"") == chance(b"x") == chance(b"-_.") == 0


@pytest.mark.parametrize("size", [16, 24, 40])
def test_lots_are_told_from_names(size):
    """Nearly all that is drawn by lot is above the line that nearly no identifier reaches."""
    draw = random.Random(size)
    lots = ["".join(draw.choice(LOTS) for _ in range(size)).encode() for _ in range(400)]
    names = []
    for _ in range(400):
        words = draw.choices(WORDS, k=4)
        style = draw.choice(("_", "-", ".", ""))
        words = [word.title() for word in words] if not style else words
        names.append(f"{style.join(words)}{draw.randint(1, 99)}".encode())
    assert sum(chance(lot) >= 0.32 for lot in lots) >= 380
    assert sum(chance(name) >= 0.32 for name in names) <= 8


def test_a_word_in_camel_case_is_no_change():
    """The capital that begins a word counts for as little as the letter behind it."""
    assert chance(b"passwordResetRequestHandler") < 0.2
    assert b"th" in COMMON
    assert b"qz" not in COMMON
