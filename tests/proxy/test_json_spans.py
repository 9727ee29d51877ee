"""The account of an opened container: lengths first, bytes where lengths do not settle it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.json_spans import Unaccounted, array_spans, object_spans

keys = st.sampled_from(["a", "b", "c", "ä", 'q"', "back\\"])
values = st.sampled_from(["1", "12", "123", '"x"', '"x\\",\\"b\\":1"', "[1, 2]", '{"a":1}', " 7 "])


def literal(key: str, plain: bool) -> str:
    return json.dumps(key) if plain else '"' + "".join(f"\\u{ord(c):04x}" for c in key) + '"'


@given(
    members=st.lists(st.tuples(keys, st.booleans(), values), max_size=5),
    gap=st.sampled_from(["", " ", "\n\t"]),
)
@settings(max_examples=500)
def test_an_object_is_accounted_for_or_it_holds_a_key_twice(members, gap):
    """With equal keys, never a span; without, every span is exactly its member."""
    body = "{" + ",".join(f"{gap}{literal(k, p)}:{gap}{v}" for k, p, v in members) + gap + "}"
    raw = body.encode()
    if len({key for key, _, _ in members}) < len(members):
        with pytest.raises(Unaccounted) as caught:
            object_spans(raw, 0, len(raw))
        assert raw[caught.value.offset :].startswith(b'"')
        return
    spans = object_spans(raw, 0, len(raw))
    assert [key for key, *_ in spans] == [key for key, _, _ in members]
    for (_, at, begin, stop), (key, plain, value) in zip(spans, members, strict=True):
        assert raw[at:].startswith(literal(key, plain).encode())
        assert raw[begin:stop] == value.strip().encode()


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":1}',
        b'{"a":1,"\\u0061":1}',
        b'{"a": 1,"a":1}',
        b'{"a":11,"a":1}',
        b'{"a":1,"a":11}',
        b'{"a":"x","b":"y","a":"x"}',
        b'{"a":"  ,\\"b\\":1","b":2,"a":"  ,\\"b\\":1"}',
        b'{"b":1,"a":[1,"a"],"b":1}',
        b'{"":0,"":0}',
        b'{"a":1,"b":22,"a":{       "b":1},"c":0}',
    ],
)
def test_equal_keys_never_add_up(body):
    """Chosen so that lengths, values or texts look alike: a duplicate is found all the same."""
    with pytest.raises(Unaccounted):
        object_spans(body, 0, len(body))


@given(items=st.lists(values, max_size=5), gap=st.sampled_from(["", " ", "\r\n"]))
@settings(max_examples=200)
def test_items_lie_where_they_were_written(items, gap):
    """Spans leave out white space and commas, in arrays that begin anywhere."""
    raw = ("xx[" + ",".join(gap + item for item in items) + gap + "]yy").encode()
    spans = array_spans(raw, 2, len(raw) - 2)
    assert [raw[s:e].decode() for s, e in spans] == [item.strip() for item in items]
