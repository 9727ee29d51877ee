"""Depth and width: the scanner that sees only what stands outside strings, however it is cut."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy import json_bounds
from proxy.json_bounds import MAX_VALUES, check_depth, check_width, crowded, scan_depth
from proxy.json_faults import Malformed

texts = st.text(st.sampled_from('[]{}",\\:ax\n'), max_size=12)
values = st.recursive(
    st.one_of(texts, st.integers(0, 9)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=10,
)


def depth_of(value) -> int:
    match value:
        case dict():
            return 1 + max(map(depth_of, value.values()), default=0)
        case list():
            return 1 + max(map(depth_of, value), default=0)
        case _:
            return 0


@given(value=values.filter(lambda v: isinstance(v, list | dict)), chunk=st.integers(1, 9))
@settings(max_examples=300)
def test_the_scanner_counts_levels_wherever_it_is_cut(value, chunk):
    """With exactly as many levels as there are it passes, with one less it does not."""
    body = json.dumps(value).encode()
    depth = depth_of(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_bounds, "_CHUNK", chunk)
        scan_depth(body, 0, len(body), depth)
        with pytest.raises(Malformed) as caught:
            scan_depth(body, 0, len(body), depth - 1)
    assert body[caught.value.offset : caught.value.offset + 1] in (b"[", b"{")
    assert len(caught.value.address) == depth - 1


@given(value=values.filter(lambda v: isinstance(v, list | dict)), budget=st.booleans())
@settings(max_examples=200)
def test_judging_child_by_child_agrees_with_the_scanner(value, budget):
    """Both ways to count come to the same verdict, also when the first gives way to the second."""
    body = json.dumps(value).encode()
    depth = depth_of(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_bounds, "_LEVELS", 8 if budget else 0)
        check_depth(body, [(0, len(body), depth)])
        with pytest.raises(Malformed, match="nested deeper"):
            check_depth(body, [(0, len(body), depth - 1)])


def test_equal_keys_are_refused_where_a_crowded_object_is_opened():
    """An object that had to be opened to count its levels must account for its bytes as well."""
    body = b'{"x":{"k":' + b"[" * 99 + b"]" * 99 + b',"k":1}}'
    with pytest.raises(Malformed, match="appears twice") as caught:
        check_depth(body, [(5, len(body) - 1, 99)])
    assert (caught.value.address, caught.value.offset) == (("x", "k"), 6)


def test_unbalanced_text_is_left_to_who_reads_its_syntax():
    """More closing than opening brackets is no question of depth."""
    assert scan_depth(b"{}]]]" + b"[" * 500, 0, 5, 10) is None
    assert scan_depth(b"]" * 500, 0, 500) is None
    assert scan_depth(b'"' + b"[" * 500, 0, 501) is None


def test_an_opening_run_is_found_without_its_end():
    """A text that is cut off is as deep as it got, from the start of any chunk on."""
    filler = b'"' + b'[\\"' * 200_000 + b'",'
    body = b"[" + filler + b"[" * 200
    with pytest.raises(Malformed, match="nested deeper") as caught:
        scan_depth(body, 0, len(body))
    assert caught.value.offset == len(filler) + 100


def test_crowded_counts_in_growing_steps():
    """The answer is the count over the whole span, however long it is."""
    for size in (10, 5000, 100_000):
        body = b"x" * size + b"[{" * 5 + b"x" * size
        assert crowded(body, 0, len(body), 9)
        assert not crowded(body, 0, len(body), 10)
        assert not crowded(body, 0, size, 0)


def test_width_counts_commas_outside_strings(monkeypatch):
    """A million values pass, one more does not; the error names the chunk where it happens."""
    body = b'["' + b"," * 2 * MAX_VALUES + b'"' + b",1" * (MAX_VALUES - 1) + b"]"
    check_width(body)
    check_width(b"," * (2 * MAX_VALUES - 1))
    with pytest.raises(Malformed, match="more than 1000000 values") as caught:
        check_width(body[:-1] + b",1]")
    assert 2 * MAX_VALUES < caught.value.offset < len(body)
    monkeypatch.setattr(json_bounds, "MAX_VALUES", 3)
    check_width(b'[1,",,,,",3]')
    with pytest.raises(Malformed):
        check_width(b'[1,",,,,",3,4]')
