"""Whole values: numbers without loss, strings with their way."""

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.conversation import Strand, Texts
from policies.screening.parts import ROW, sort_value
from proxy.json_faults import Fault
from proxy.json_whole import (
    SLOWLY,
    deeper,
    gather,
    parse_quickly,
    parse_strings,
    parse_together,
    parse_value,
    writer_of,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-0", 0),
        ("1e5", Decimal("1E+5")),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("1E400", Decimal("1E400")),
        ("0.10", Decimal("0.10")),
        ("9" * 4400, Decimal("9" * 4400)),
    ],
)
def test_numbers_keep_their_value(text, value):
    """Neither rounding nor infinity, however long they are."""
    assert parse_value(text) == value


def test_a_number_that_nothing_holds_is_a_fault():
    """An exponent beyond every range has no value; its strings can still be read around it."""
    with pytest.raises(Fault, match="beyond every range"):
        parse_value("[1e99999999999999999999]")
    assert parse_strings('[1e99999999999999999999, "x"]') == [True, "x"]


def test_strands_stand_in_the_order_of_the_text():
    """Keys before their values, numbers and literals nowhere."""
    found: list[Strand] = []
    assert not gather(parse_strings('{"a": ["x", 1, {"b": null}], "c": "y"}'), ("top",), found)
    assert found == [
        Strand(("top", "a"), "a", is_key=True),
        Strand(("top", "a", 0), "x"),
        Strand(("top", "a", 2, "b"), "b", is_key=True),
        Strand(("top", "c"), "c", is_key=True),
        Strand(("top", "c"), "y"),
    ]


@pytest.mark.parametrize("text", ["[{}]", '{{"a": [0, {{"b": {}}}], "c": "y"}}', "[[], {}, 1]"])
def test_a_list_that_is_long_enough_for_a_row_is_told(text):
    """Wherever it stands, so that nobody looks for rows where there is none."""
    for size, told in ((ROW - 1, False), (ROW, True)):
        value = parse_strings(text.format([7] * size))
        assert gather(value, (), []) is sort_value(value, 0, Texts([], [], [])) is told


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(
    VALUES, st.sampled_from([(",", ":"), (", ", ": "), (" ,", ":"), (",", " : ")]), st.booleans()
)
@settings(max_examples=200)
def test_what_is_parsed_quickly_is_what_is_parsed_strictly(value, separators, ascii_only):
    """However it is written: the same value of the same types, or nothing."""
    text = json.dumps(value, separators=separators, ensure_ascii=ascii_only, default=float)
    raw = text.encode("utf-8", "surrogatepass")
    quick = parse_quickly(raw, write := writer_of(raw))
    if quick is not SLOWLY:
        assert repr(quick) == repr(parse_value(text))
        assert write(quick) == raw


@given(st.lists(VALUES, min_size=1, max_size=5), st.sampled_from([(",", ":"), (", ", ": ")]))
@settings(max_examples=200)
def test_what_is_parsed_together_is_what_is_parsed_alone(values, separators):
    """Each value is the one that its own text has; what the writer makes of any part stands there.
    One that cannot be parsed quickly leaves all of them."""
    texts = [json.dumps(value, separators=separators, default=float) for value in values]
    raws = [text.encode() for text in texts]
    write = writer_of(raws[0])
    together = parse_together(raws, write)
    if together is None:
        assert any(parse_quickly(raw, write) is SLOWLY for raw in raws)
    else:
        assert repr(together) == repr([parse_value(text) for text in texts])
        assert [write(value) for value in together] == raws


@pytest.mark.parametrize(
    "raws",
    [
        [b'{"a":1}', b'{"a":1,"a":1}'],
        [b'{"a":1}', b'{"a": 1}'],
        [b"1,2", b"3"],
        [b"[1", b"2]"],
        [b'{"a":1}', b'{"a":"\\ud800"}'],
    ],
)
def test_what_could_be_read_in_two_ways_is_never_parsed_together(raws):
    """Neither with an equal key in one of them, nor where one begins and another ends it."""
    assert parse_together(raws, writer_of(raws[0])) is None


@given(VALUES, st.integers(0, 4))
def test_deeper_counts_levels_of_containers(value, room):
    """As a count of each way down does."""

    def levels(value):
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max(map(levels, inner), default=0) if isinstance(value, dict | list) else 0

    assert deeper([value], room) == (levels(value) > room)
    assert deeper([None, value], room) == (levels(value) > room)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":1,"a":1}',
        b'{"a":1,"b":{"c":[{"d":1,"d":2}]}}',
        b'{"a": 1, "a": 1}',
        rb'{"a":1,"\u0061":1}',
        b'{"a":1} ',
        b'{"a":NaN}',
        b'{"a":-0}',
        b'{"a":1e5}',
        b'{"a":"\\/"}',
        b'{"a":"\\ud800"}',
        b'{"a":1e99999999999999999999}',
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":"\xff"}',
        b'{"a"',
        b"[" * 100_000 + b"]" * 100_000,
    ],
)
def test_what_could_be_read_in_two_ways_is_never_parsed_quickly(raw):
    """Equal keys above all; and whatever the quick reader would give back in other letters."""
    assert parse_quickly(raw, writer_of(raw)) is SLOWLY


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":"b","c":[1,true,null,1.50]}',
        b'{"a": "b", "c": [1, {}]}',
        '["ü\\n"]'.encode(),
        b'["\\u001b[0m"]',
    ],
)
def test_the_usual_text_is_parsed_quickly(raw):
    """Compact, or with the blanks of Python's writer."""
    assert parse_quickly(raw, writer_of(raw)) == parse_value(raw.decode())
