"""JSON of others: what can be written again is read, everything else refused."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.lazyjson import dump
from proxy.local.plain import plain

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@settings(max_examples=60)
@given(VALUES)
def test_what_is_read_can_be_written_again(value: object) -> None:
    """Nothing that JSON can say is lost on the way through."""
    text = json.dumps(value).replace("Infinity", "1")
    assert json.loads(dump(plain(text))) == json.loads(text)


def test_a_number_of_thirty_digits_keeps_them() -> None:
    """Ids of other systems are that long."""
    assert plain(f"[{10**30 + 1}]") == [10**30 + 1]


@pytest.mark.parametrize(
    "text", ["", "{", "NaN", "[Infinity]", "[-Infinity]", "1e400", "[" * 9999, '{"a":1} x']
)
def test_what_is_no_json_is_refused(text: str) -> None:
    """As a value error, so that no other way out is open."""
    with pytest.raises(ValueError):  # noqa: PT011
        plain(text)


def test_depth_is_bounded() -> None:
    """A hundred levels are read; brackets in texts count for nothing."""
    assert plain("[" * 100 + "]" * 100)
    assert plain('"' + "[{" * 200 + '"') == "[{" * 200
    with pytest.raises(ValueError, match="deep"):
        plain("[" * 101 + "]" * 101)
