"""Bodies that begin as an earlier one: read alike, from there on, however they go on."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.lazyjson import Known, Malformed, Node, read

STYLES: list[dict[str, Any]] = [{"separators": (",", ":")}, {}, {"indent": 1}]
ITEMS = [{"a": [1, {"é": "x"}]}, "two", 3, {"b": None}]


def body(items: list[Any], style: dict[str, Any], **after: Any) -> bytes:
    return json.dumps({"m": "ü", "list": items, **after}, ensure_ascii=False, **style).encode()


def known(raw: bytes) -> Known:
    """What is known of a body up to the last item of its list."""
    node = read(raw).root.get("list")
    assert node is not None
    spans = node.item_spans()
    return Known(raw[: spans[-1][0]], node.offset, tuple(spans[:-1]))


def shown(node: Node) -> tuple[object, ...]:
    below = [(child.address, child.raw) for child in node.children()]
    return node.address, node.span, node.whole_span, node.raw, below


@pytest.mark.parametrize("style", STYLES, ids=str)
@pytest.mark.parametrize("more", [[], [4, {"c": 1}], [[]]], ids=str)
def test_what_follows_is_read_in_its_place(style: dict[str, Any], more: list[Any]) -> None:
    """All nodes lie where they lie when the body is read from its first byte."""
    memory = known(body(ITEMS, style, z=0))
    raw = body([*ITEMS, *more], style, stream=True, x=[1, 2], y={"k": "v"})
    assert memory.begins(raw)
    one, two = read(raw, known=memory).root, read(raw).root
    assert [key for key, _ in one.members()] == [key for key, _ in two.members()]
    for mine, theirs in zip((one, *one.children()), (two, *two.children()), strict=True):
        assert shown(mine) == shown(theirs)
    assert json.loads(one.raw)["list"] == [*ITEMS, *more]


RAW = body([*ITEMS, {"c": 1}], STYLES[0], x=[1], y={"k": "v"})
MEMORY = known(body([*ITEMS, "other"], STYLES[0]))


@settings(max_examples=200)
@given(
    st.integers(len(MEMORY.raw), len(RAW)),
    st.integers(0, 3),
    st.binary(max_size=3)
    | st.sampled_from(
        [b",", b"]", b"}", b'"', b"{}", b'"x":1,', b'"m":1,', b'"list":[],', b"\xff"]
    ),
)
def test_a_fault_behind_it_is_the_same_fault(at: int, gone: int, new: bytes) -> None:
    """Property: whatever follows, it reads, or is refused in the same words, as without."""
    raw = RAW[:at] + new + RAW[at + gone :]
    assert MEMORY.begins(raw)
    found = []
    for memory in (None, MEMORY):
        try:
            document = read(raw, known=memory)
            found.append(repr([shown(node) for node in document.root.children()]))
        except Malformed as wrong:
            found.append(str(wrong))
    assert found[0] == found[1]


def test_equal_keys_across_it_are_found() -> None:
    """One before the list and one behind it, in whatever letters."""
    for key in ("m", "M", "list", "\\u006d"):
        raw = RAW[:-1] + f',"{key}":1}}'.encode()
        with pytest.raises(Malformed):
            read(raw, known=MEMORY).root.members()


@pytest.mark.parametrize("at", [0, 5, RAW.index(b'"list"'), RAW.index(b"two"), len(MEMORY.raw) - 1])
def test_one_byte_makes_another_beginning(at: int) -> None:
    """Whether it stands before the list, in an item or between two."""
    assert MEMORY.begins(RAW)
    assert not MEMORY.begins(RAW[:at] + b"x" + RAW[at + 1 :])
    assert not MEMORY.begins(RAW[: len(MEMORY.raw) - 1])
