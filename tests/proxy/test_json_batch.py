"""Items parsed many at a time: the same values, the same refusals, with the same places."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy import json_batch, json_node
from proxy.json_batch import parse_all
from proxy.json_node import Node
from proxy.lazyjson import Malformed, read

LEAVES = st.none() | st.booleans() | st.integers(-99, 10**20) | st.floats(-9, 9) | st.text()
ITEMS = st.dictionaries(st.text(), LEAVES | st.lists(LEAVES, max_size=3), max_size=4)
SPACES = st.sampled_from([(",", ":"), (", ", ": "), (",", ": ")])


def items(body: bytes) -> tuple[Node, ...]:
    found = read(body, judge=False).root.get("messages")
    assert found is not None
    return found.items()


def nested(levels: int) -> bytes:
    return b'{"a":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


@given(st.lists(ITEMS, max_size=6), SPACES, st.booleans(), st.integers(1, 40))
@settings(max_examples=150)
def test_values_and_bytes_are_those_of_each_alone(made, separators, ascii_only, size):
    """However the body is written and cut into batches."""
    text = json.dumps({"messages": made}, separators=separators, ensure_ascii=ascii_only)
    body = text.encode("utf-8", "surrogatepass")
    together, alone = items(body), items(body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_batch, "_BATCH", size)
        parse_all(together)
    for one, other in zip(together, alone, strict=True):
        assert repr(one.value()) == repr(other.value())
        assert one.strands() == other.strands()
        for key, node in one.members(free=True):
            value = one.value()
            assert isinstance(value, dict)
            assert one.raw_below((key,), value[key]) == node.raw


def test_what_was_parsed_together_is_not_parsed_again(monkeypatch):
    """Not one item by itself; in a body that is written unusually, each of them."""
    asked: list[bytes] = []
    quickly = json_node.parse_quickly

    def counted(raw, write):
        asked.append(raw)
        return quickly(raw, write)

    monkeypatch.setattr(json_node, "parse_quickly", counted)
    for body, alone in (
        (b'{"messages":[{"a":1},{"b":"c"}]}', 0),
        (b'{"messages":[{"a" :1},{}]}', 2),
    ):
        found = items(body)
        parse_all(found)
        assert [node.value() for node in found]
        assert len(asked) == alone


@pytest.mark.parametrize("before", [b"", b'{"b":1},'])
def test_equal_keys_are_refused_with_their_place(before):
    """Alone or behind an item that is fine; by the reader of that item."""
    found = items(b'{"messages":[' + before + b'{"a":{"x":1,"x":2}}]}')
    parse_all(found)
    with pytest.raises(Malformed, match="a key appears twice"):
        found[-1].value()


def test_no_item_nests_deeper_than_alone():
    """98 levels within an item stand 100 deep in the body; one more is refused with its place."""
    fine = items(b'{"messages":[{},' + nested(98) + b"]}")
    parse_all(fine)
    assert fine[1].value()
    deep = items(b'{"messages":[{},' + nested(99) + b"]}")
    parse_all(deep)
    assert deep[0].value() == {}
    with pytest.raises(Malformed, match="nested deeper than 100 levels"):
        deep[1].value()


def test_nothing_is_parsed_where_there_is_nothing():
    """An empty list has no batches."""
    parse_all(())
