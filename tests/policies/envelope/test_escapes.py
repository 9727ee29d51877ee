"""One layer of escapes, and the way back to where they stood."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.envelope.escapes import decode, trace


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("\\u0041\\u005F", "A_"),
        ("\\\\u0041\\\\\\\\u0041", "AA"),
        ("\\ud835\\udc13\\uD835\\uDC13", "𝐓𝐓"),
        ("\\ud835x", "\ud835x"),
        ("\\u{41}\\u{00000041}\\u{1d413}", "AA𝐓"),
        ("\\U0001d413\\x41\\101", "𝐓AA"),
        ("%41%5f%EF%BC%BF", "A_＿"),
        ("%ff%41", "\udcffA"),
        ("&#65;&#65&#x41;&lowbar;&amp;lt;", "AAA_&lt;"),
        ("&#0;&#x110000;&nosuchname;", "\ufffd\ufffd&nosuchname;"),
        ("\\Uffffffff\\u{110000}", "\\Uffffffff\\u{110000}"),
    ],
)
def test_one_layer_of_every_kind_is_undone(text: str, decoded: str) -> None:
    """Each kind of escape becomes what it stands for; numbers out of range stay as they are."""
    assert decode(text) == decoded


@pytest.mark.parametrize("text", ["", "plain", "100% & more \\n \\", "&quot;&lt;&#39;", "\\u4e2d"])
def test_text_without_escapes_of_interest_is_the_identical_object(text: str) -> None:
    """Nothing is copied where nothing is undone."""
    assert decode(text) is text


def test_a_span_covers_each_escape_that_it_touches() -> None:
    """Decoded positions lead back to whole escapes, and to plain characters between them."""
    text = "ab\\u0041cd%EF%BC%BFe&acE;f"
    decoded = decode(text)
    assert decoded == "abAcd＿e\u223e\u0333f"
    spans = [(at, at + 1) for at in range(len(decoded))]
    whole = ["a", "b", "\\u0041", "c", "d", "%EF%BC%BF", "e", "&acE;", "&acE;", "f"]
    for span, source in zip(spans, whole, strict=True):
        [(start, stop)] = trace(text, [span])
        assert text[start:stop] == source
    assert trace(text, [(1, 4), (5, 7)]) == [(1, 9), (10, 20)]
    assert trace(text, []) == []


@given(st.text(alphabet="ab\\u0041%5f&#95;", max_size=30), st.data())
def test_what_a_span_leads_back_to_decodes_to_the_span(text: str, data: st.DataObject) -> None:
    """Decoding the source of a span gives at least the span."""
    decoded = decode(text)
    start = data.draw(st.integers(0, len(decoded)))
    stop = data.draw(st.integers(start, len(decoded)))
    if start < stop:
        [(first, last)] = trace(text, [(start, stop)])
        assert decoded[start:stop] in decode(text[first:last]) or re.search(r"&#\d|\\", text)


def test_json_escapes_are_undone_as_json_does() -> None:
    """For escapes above the control characters the result is that of a JSON parser."""
    text = "Ünïcödé 𝐓 ＿"
    assert decode(json.dumps(text)) == f'"{text}"'
