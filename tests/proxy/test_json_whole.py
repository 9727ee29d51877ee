"""Whole values: numbers without loss, strings with their way."""

from decimal import Decimal

import pytest

from policies.conversation import Strand
from proxy.json_faults import Fault
from proxy.json_whole import gather, parse_strings, parse_value


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
    gather(parse_strings('{"a": ["x", 1, {"b": null}], "c": "y"}'), ("top",), found)
    assert found == [
        Strand(("top", "a"), "a", is_key=True),
        Strand(("top", "a", 0), "x"),
        Strand(("top", "a", 2, "b"), "b", is_key=True),
        Strand(("top", "c"), "c", is_key=True),
        Strand(("top", "c"), "y"),
    ]
