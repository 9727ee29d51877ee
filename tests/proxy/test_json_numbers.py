"""Lists of small numbers are strands, for no string holds what they spell."""

import json

import pytest

from proxy.json_numbers import number_rows
from proxy.lazyjson import read

BYTES = list(b"a secret in bytes")


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_rows_are_found_however_they_are_written(indent, separators):
    """Compact, spaced, one in a line; all of several."""
    raw = json.dumps({"a": BYTES, "b": [BYTES]}, indent=indent, separators=separators).encode()
    rows = number_rows(raw)
    assert [int(number) for number in rows.replace("\n", ",").split(",") if number.strip()] == (
        BYTES + BYTES
    )


@pytest.mark.parametrize("value", [BYTES[:15], [0.5] * 30, [1000] * 30, ["1"] * 30, "1, 2, 3"])
def test_other_numbers_are_none(value):
    """Few, broken, large, in strings."""
    assert number_rows(json.dumps(value).encode()) == ""


def test_a_row_is_a_strand_of_the_value_that_holds_it():
    """Beside the strings, with the address of the piece."""
    document = read(json.dumps({"m": {"k": "text", "n": BYTES}}).encode())
    (member,) = [node for _, node in document.root.members()]
    strands = member.strands(keyed=True)
    assert [strand.text for strand in strands[:-1]] == ["m", "k", "text", "n"]
    assert strands[-1].address == ("m",)
    assert strands[-1].text.startswith("97, 32, 115")
