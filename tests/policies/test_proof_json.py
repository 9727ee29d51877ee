"""The proof's reader: strict, and every byte of the two upper levels accounted for."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies import proof_json as own

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
SPACED, COMPACT, ODD = (", ", ": "), (",", ":"), (" ,", ":")


@given(st.dictionaries(st.text(max_size=4).map(str.lower), VALUES, max_size=5), st.data())
@settings(max_examples=120)
def test_members_are_the_exact_bytes_however_they_are_written(body, data):
    """Compact, spaced, indented, in escapes or not: keys as they read, values as they stand."""
    if len({key.casefold() for key in body}) != len(body):
        return
    separators = data.draw(st.sampled_from([SPACED, COMPACT, ODD]))
    indent = data.draw(st.sampled_from([None, 1]))
    ascii_only = data.draw(st.booleans())
    raw = json.dumps(body, separators=separators, indent=indent, ensure_ascii=ascii_only)
    opened = own.members(b" \n" + raw.encode() + b"\t")
    found = opened.members
    assert opened.starts is None
    assert [key for key, _ in found] == list(body)
    assert [json.loads(value) for _, value in found] == list(body.values())
    assert all(value in raw.encode() for _, value in found)


@pytest.mark.parametrize("body", [b'{"a":1 ,"b":2}', b'{"a" :1,"b":2}', b'{"a":1,"b":2 }'])
def test_blanks_in_odd_places_are_read_slowly(body):
    """Where they stand before a comma, a colon or the end, no value is where it is looked for."""
    found = (("a", b"1"), ("b", b"2"))
    assert own.members(body) == own.Opened(found, None)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":1}',
        b'{"a":1,"b":2,"a":1}',
        b'{"a": 1, "b": 2, "a": 1}',
        rb'{"a":1,"\u0061":1}',
        b'{"a":1,"A":1}',
        b'{"a":",\\"a\\":1","a":",\\"a\\":1"}',
        b'{"a":1} {"b":2}',
        b'{"a":NaN}',
        b'{"a":1,}',
        b'["a"]',
        b'{"a":"\xff"}',
        b"",
    ],
)
def test_what_two_readers_could_read_differently_is_refused(body):
    """Keys that stand twice in any spelling, what follows the object, and what is no JSON."""
    with pytest.raises(ValueError, match=r"."):
        own.members(body)


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("1.0", "1.00", False),
        ("-0", "0", False),
        ('"1"', "1", False),
        ('{"a":1,"b":2}', '{"b":2,"a":1}', False),
        ("[1,[true,null]]", "[ 1, [true, null]]", True),
        ("[1]", "[1,1]", False),
        ("true", "1", False),
        ('{"a":{"b":"\\u0041"}}', '{"a":{"b":"A"}}', True),
    ],
)
def test_identical_is_strict(one, two, same):
    """Numbers by their letters, members by their order, types by their kind."""
    assert own.identical(own.parsed(one.encode()), own.parsed(two.encode())) is same


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("1", "1", True),
        ("1", "1.0", False),
        ("0", "-0", False),
        ("1", " 1", True),
        ("1", "true", False),
        ('{"a": 1}', '{"a":1}', True),
        ('{"a":1}', '{"a":"1"}', False),
        ('{"a":1.50}', '{"a":1.5}', False),
        (str(10**30), str(10**30 + 1), False),
        ('"\\u00e9"', '"é"', True),
    ],
)
def test_a_pair_is_read_alike(one, two, same):
    """However each is written, also where only one of them is read the quick way."""
    assert own.identical(*own.pair(one.encode(), two.encode())) is same
    assert own.identical(*own.pair(two.encode(), one.encode())) is same


@pytest.mark.parametrize(
    "bad", [b'{"a":1,"a":1}', b'{"a":2,"a":1}', b"NaN", b"[1", b'"\xff"', b"[" * 5000]
)
def test_no_pair_is_read_leniently(bad):
    """What is refused alone is refused beside another value."""
    for both in ((bad, b"1"), (b"1", bad), (b'{"a":1}', bad)):
        with pytest.raises((ValueError, RecursionError)):
            own.pair(*both)


def test_elements_are_exact():
    """White space between them is nobody's."""
    assert own.elements(b'[ 1.0 ,{"a": 1}, "x" ]') == [b"1.0", b'{"a": 1}', b'"x"']


@pytest.mark.parametrize("raw", [b'{"a":1,"a":2}', b"Infinity", b"[1", b'"\xff"'])
def test_a_value_is_parsed_strictly(raw):
    """Twins, constants that are no JSON, cut texts, bytes that are no UTF-8."""
    with pytest.raises(ValueError, match=r"."):
        own.parsed(raw)


def test_a_digest_is_bound_to_its_role():
    """The same bytes in another role have another one."""
    assert own.digest(b"message\0", b"{}") != own.digest(b"member:a\0", b"{}")
