"""Normalisation in slices is normalisation, and bounded."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.screening.normal import Form, normal

FORMS: tuple[Form, ...] = ("NFC", "NFD", "NFKC", "NFKD")
ALPHABET = st.sampled_from(
    "ab é\u0301\u0316\u1100\u1161\u11a8\uac00\uff8a\uff9e\u304b\u3099\u0f73\ufb01\u4e2d"
)


@given(st.text(ALPHABET, min_size=1, max_size=40), st.integers(1, 200), st.sampled_from(FORMS))
def test_slices_make_no_difference(text: str, times: int, form: Form) -> None:
    """Wherever a text is cut, jamo, kana and marks join as if it were not."""
    whole = (text + " ") * times
    assert normal(form, whole) == unicodedata.normalize(form, whole)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "unit", ["\uac00", "\u1100\u1161\u11a8", "\uff8a\uff9e", "か\u3099", "中文"]
)
def test_scripts_without_blanks_are_cut_where_nothing_joins(unit: str, form: Form) -> None:
    """No ASCII for many slices."""
    assert normal(form, "a" + unit * 3000) == unicodedata.normalize(form, "a" + unit * 3000)


@pytest.mark.parametrize("marks", ["\u0301\u0316", "\u0f73", "\uff9e\u0316"])
def test_marks_without_end_are_sorted_in_slices(
    marks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is sorted at once is bounded, and no character is lost."""
    text = "a" + marks * (20_000 // len(marks))
    expected = sorted(c for mark in text for c in unicodedata.normalize("NFKD", mark))
    real, longest = unicodedata.normalize, 0

    def noted(form: Form, part: str) -> str:
        nonlocal longest
        longest = max(longest, len(part))
        return real(form, part)

    monkeypatch.setattr(unicodedata, "normalize", noted)
    assert sorted(normal("NFKD", text)) == expected
    assert longest <= 1024
