"""Texts that are looked for as they are: the same answers, however many there are."""

import random
import string

import pytest

from policies.screening import corpus
from policies.screening.corpus import Corpus

NOISE = random.Random(77)
SIGNS = string.ascii_letters + string.digits + "-_/"


def token(size: int) -> bytes:
    return "".join(NOISE.choices(SIGNS, k=size)).encode()


TEXTS = [token(NOISE.randint(8, 60)) for _ in range(400)]
TEXTS += [b"shared-beginning-" + token(size) for size in (9, 9, 20, 33)]
TEXTS += [b"a pass phrase with 4 blanks", b"first line\nsecond line 2", bytes(range(20))]


@pytest.fixture(params=["few", "many"])
def made(request, monkeypatch) -> Corpus:
    monkeypatch.setattr(corpus, "FEW", 4000 if request.param == "few" else 10)
    found = Corpus.of(TEXTS)
    assert found is not None
    assert type(found._search).__name__ == f"_{request.param.title()}"
    return found


def test_each_is_found_and_nothing_else(made):
    """Alone, in the middle, at both ends; cut by one byte it is another text."""
    for text in TEXTS:
        for data in (text, b"it is " + text + b", yes", text + b"\n", b"x" + text + b"x"):
            assert made.in_(data), text
        assert not made.in_(text[:-1])
        assert not made.in_(text[1:])
    assert not made.in_(b"")
    assert not any(made.in_(token(400)) for _ in range(50))


@pytest.mark.parametrize("gap", ["\n", "\r\n\t", " ", '" + "', "',\n '", "\\\n"])
def test_a_text_is_found_with_breaks_in_it(made, gap):
    """Over several lines, put together by code, with blanks between."""
    for text in TEXTS[:50]:
        if len(text) >= 12:
            cut = len(text) // 2
            assert made.in_(b"it: " + text[:cut] + gap.encode() + text[cut:] + b" end")
    assert made.in_(b"a  pass phrase\nwith 4\nblanks")


def test_words_side_by_side_make_no_text(monkeypatch):
    """What is short and has no digit is known in one piece alone."""
    for few in (10, 0):
        monkeypatch.setattr(corpus, "FEW", few)
        made = Corpus.of([b"theother", b"correcthorse"])
        assert made is not None
        assert not made.in_(b"the other one")
        assert made.in_(b"theother one")
        assert made.in_(b"correct\nhorse")


def test_nothing_to_look_for():
    """Texts too short to tell apart leave nothing."""
    assert Corpus.of([]) is None
    assert Corpus.of([b"short"]) is None


def test_what_begins_alike_is_looked_at_once_a_length(monkeypatch):
    """Many texts with one beginning: one comparison for each length that they have."""
    monkeypatch.setattr(corpus, "FEW", 0)
    made = Corpus.of([b"sk-test-" + token(20) for _ in range(3000)])
    assert made is not None
    assert {len(lengths) for lengths in made._search.lengths.values()} == {1}
    assert not made.in_(b"sk-test-" * 20_000)
