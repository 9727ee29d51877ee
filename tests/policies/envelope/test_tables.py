"""The tables hold what the interpreter's own Unicode data says, and more."""

import sys
import unicodedata

import pytest

from policies.envelope import neutralise, tables
from policies.envelope.neutralise import STEM_LETTERS, _code_points, _folds

EVERY = [chr(code) for code in range(0x80, sys.maxunicode + 1)]


def test_every_character_that_nfkc_turns_into_a_letter_of_the_stem_is_known() -> None:
    """Compatibility forms and accented letters fold to the letter, in either letter case."""
    folds = _folds()
    for char in EVERY:
        apart = unicodedata.normalize("NFKD", char)
        reading = "".join(one for one in apart if not unicodedata.combining(one)).casefold()
        if len(reading) == 1 and reading in STEM_LETTERS:
            assert reading.replace("m", "rn") in folds[char], hex(ord(char))


def test_every_mark_and_every_invisible_character_may_stand_between_letters() -> None:
    """All of Mn, Me, Cf, controls, surrogates and white space are known as hidden."""
    folds = _folds()
    for char in EVERY:
        if unicodedata.category(char) in ("Mn", "Me", "Cf", "Cc", "Cs") or char.isspace():
            assert "" in folds[char], hex(ord(char))
    for ignorable in "\u034f\u115f\u2065\u2800\u3164\uffa0\ufff0\U000e0fff":
        assert folds[ignorable] == ("",)


def test_ascii_folds_to_itself_but_for_the_two_confusables() -> None:
    """Nothing but `0` and `m` is read as something else, or other words would be stems."""
    readings = {char: fold for char, fold in _folds().items() if char.isascii() and fold != ("",)}
    assert readings == {char: (char.lower(),) for char in "transodTRANSOD"} | {
        "m": ("rn",),
        "M": ("rn",),
        "0": ("o",),
    }


def test_no_character_counts_as_a_letter_and_as_plain_nothing_by_mistake() -> None:
    """Only tag characters and combining letters can be read both ways, and the double low line."""
    both = [char for char, fold in _folds().items() if "" in fold and len(fold) > 1]
    assert all(
        0xE0000 <= ord(char) < 0xE0080 or unicodedata.category(char) == "Mn" for char in both
    )


def test_passed_over_escapes_decode_to_nothing_of_interest() -> None:
    """U+4000 to U+9FFF, which the decoder leaves alone, hold no letter and nothing hidden."""
    known = {ord(char) for char in _folds()}
    assert not known & set(range(0x4000, 0xA000))
    assert not known & {ord(char) for char in "\"'<>"}


def test_the_tables_name_version_and_source() -> None:
    """Whoever reads a stored conversation can tell which tables made it."""
    assert tables.VERSION
    assert tables.UNICODE in tables.SOURCE
    assert all(group.isascii() for group in tables.FOLDS)


@pytest.mark.parametrize("reading", ["t", "r", "a", "n", "s", "o", "rn", "_", "d"])
def test_each_look_alike_of_each_letter_is_found_in_its_place(reading: str) -> None:
    """Every character of the table, put in place of its letter, still is a stem."""
    stem = "transorn_data"
    at = stem.index(reading)
    for char in _code_points(tables.FOLDS[reading]):
        dressed = stem[:at] + char + stem[at + len(reading) :]
        assert neutralise(f"({dressed})") == "(transom-data-marker-removed)", hex(ord(char))
