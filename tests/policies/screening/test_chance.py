"""What is drawn by lot is told from what somebody wrote."""

import random
import string
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.screening.chance import COMMON, chance, in_order, kinds
from policies.screening.checks import assigned

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


def test_letters_in_order_are_nobodys_lot():
    """The alphabet and rows of keyboards, forwards and back, in any case; of what is drawn by lot a
    sixth at the very most, now and then."""
    for row in (string.ascii_lowercase, string.ascii_uppercase[::-1], "qWertzuiop", "lkjhgfdsa"):
        assert in_order(row.encode()) >= 0.8
    draw = random.Random(6)
    lots = ["".join(draw.choices(string.ascii_letters, k=16)).encode() for _ in range(400)]
    assert sum(map(in_order, lots)) / 400 < 0.17
    assert in_order(b"") == in_order(b"x") == 0


def test_letters_alone_are_found_more_often_than_not_and_names_never():
    """Passwords of sixteen letters: nine of ten of both cases, a third of one; no name that is put
    together from words."""
    draw = random.Random(8)

    def found(letters: str) -> float:
        lots = ("".join(draw.choices(letters, k=16)).encode() for _ in range(400))
        return sum(map(assigned, lots)) / 400

    assert found(string.ascii_letters) > 0.9
    assert found(string.ascii_lowercase) > 0.3
    names = ["".join(map(str.title, draw.choices(WORDS, k=4))).encode() for _ in range(400)]
    assert not any(map(assigned, names))
    assert not any(assigned(name.lower()) for name in names)


def test_a_word_in_camel_case_is_no_change():
    """The capital that begins a word counts for as little as the letter behind it."""
    assert chance(b"passwordResetRequestHandler") < 0.2
    assert b"th" in COMMON
    assert b"qz" not in COMMON


@given(st.text("abhtzABQTZ019_-.+~", min_size=1, max_size=60))
def test_odd_neighbours_are_counted_one_by_one(text):
    """As they are told character by character: another kind, but for a capital before a small
    letter, or two letters that seldom go together."""

    def kind(char: str) -> str:
        return "d" if char.isdigit() else "l" if char.islower() else "u" if char.isupper() else "o"

    odd = 0
    left = [char for char in text if char not in "_-."]
    for one, two in pairwise(left):
        pair = kind(one) + kind(two)
        rare = pair in ("ll", "uu", "ul") and (one + two).lower().encode() not in COMMON
        odd += rare or (pair[0] != pair[1] and pair != "ul")
    assert chance(text.encode()) == odd / max(1, len(left))
