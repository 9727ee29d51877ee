"""Ways to a byte, words for an error, strict parsers."""

import json

import pytest

from proxy import json_faults
from proxy.json_faults import (
    DISAGREE,
    Fault,
    Malformed,
    address_at,
    decoded_key,
    key_at,
    lone_surrogate,
    parser,
    syntax_fault,
)

BODY = b'{"a": [10, {"b\\u0062": "x,]:", "c": [[], 1]}], "d": 2}'


@pytest.mark.parametrize(
    ("at", "address"),
    [
        (b"{", ()),
        (b'"a"', ()),
        (b"[10", ("a",)),
        (b"10", ("a", 0)),
        (b'"b\\u', ("a", 1)),
        (b'"x,]', ("a", 1, "bb")),
        (b"]:", ("a", 1, "bb")),
        (b'"c"', ("a", 1)),
        (b"[[], 1", ("a", 1, "c")),
        (b"], 1", ("a", 1, "c", 0, 0)),
        (b"1]}", ("a", 1, "c", 1)),
        (b"2}", ("d",)),
    ],
)
def test_the_way_to_a_byte(at, address):
    """At a value its own address, at a key the object's, inside a string the string's."""
    assert address_at(BODY, BODY.index(at)) == address


def test_the_way_through_text_that_is_no_json():
    """Errors are where text is broken; the way there is as good as the text allows."""
    assert address_at(b"]}1,:", 5) == ()
    assert address_at(b'[1, "x": 2, {:', 14) == (2, "x")
    assert address_at(b'{"a\\x": 1', 9) == ("",)
    assert address_at(b"\xff\xfe{", 3) == (None,)[:0]


def test_a_far_place_is_named_by_its_byte_alone():
    """Naming it would mean reading megabytes again, token by token."""
    body = b"[" + b"0," * 1_000_001
    assert address_at(body, len(body)) == ()
    assert address_at(body, 1_000_000) == (499_999,)


def test_words():
    """Reason, place and byte; keys only where they are words of a schema."""
    assert str(Malformed("it is odd", ("messages", 3, "mine", "content"), 7)) == (
        "it is odd at messages[3].*.content, byte 7"
    )
    assert str(Malformed("it is odd", (), 0)) == "it is odd at the top level, byte 0"


def test_what_no_strict_reader_objects_to_is_still_refused():
    """Whoever asks had a reason: two readers disagree."""
    assert syntax_fault(b'{"a": 1}').reason == DISAGREE


def test_a_stack_that_is_used_up_is_a_refusal_like_any_other(monkeypatch):
    """Readers in C count the levels of their callers as well as those of the text."""

    def used_up(text):
        raise RecursionError

    monkeypatch.setattr(json_faults, "_syntax", used_up)
    assert syntax_fault(b"{}").reason == "it is nested deeper than 100 levels"


def test_parsers_are_strict():
    """Equal keys at any level and constants that are not JSON are faults without a place."""
    parse = parser(int)
    assert parse('{"a": [1, {"a": 2}]}') == {"a": [1, {"a": 2}]}
    for text in ('[{"a": 1, "\\u0061": 2}]', "[NaN]", "[-Infinity]"):
        with pytest.raises(Fault):
            parse(text)


def test_keys_from_their_literals():
    """Escapes are read, lone surrogates stay, what is no string is empty."""
    assert key_at(b'{"a\\u0062" : 1}', 1) == "ab"
    assert key_at(b"{1}", 1) == ""
    assert decoded_key(b'"\\ud800"') == "\ud800"
    assert decoded_key(b'"\\x"') == ""


def test_lone_surrogates():
    """Halves are found among anything; characters beyond the first plane are whole."""
    assert lone_surrogate("é\udfff")
    assert not lone_surrogate("é😀")
    assert not lone_surrogate("a")


def test_the_depth_is_that_of_the_design():
    """DESIGN 3.1 says a hundred."""
    assert json_faults.MAX_DEPTH == 100


@pytest.mark.parametrize("text", [' {"a":1}', '{"a":1} ', '\n{"a":1}\t'])
def test_white_space_around_a_text_is_allowed(text):
    """The scanner alone would not take it."""
    assert parser(int)(text) == {"a": 1}


@pytest.mark.parametrize("text", ["", " ", '{"a":1}x', "x", '{"a":1}{'])
def test_what_is_no_one_value_is_refused(text):
    """Nothing, something else, something more."""
    with pytest.raises(json.JSONDecodeError):
        parser(int)(text)
