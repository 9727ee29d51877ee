"""One value: kinds, the calls that are meant for another kind, parsing whole."""

import hashlib
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.conversation import Strand
from policies.screening.parts import sort_out
from proxy.lazyjson import Kind, Malformed, read

BODY = b'{"o": {"k": [1]}, "a": [1, "x"], "s": "h\\u00e9", "n": -1.50, "t": true, "z": null}'


def test_kinds():
    """The first byte says what a value is."""
    kinds = {key: node.kind for key, node in read(BODY).root.members()}
    assert kinds == {
        "o": Kind.OBJECT,
        "a": Kind.ARRAY,
        "s": Kind.STRING,
        "n": Kind.NUMBER,
        "t": Kind.LITERAL,
        "z": Kind.LITERAL,
    }


@pytest.mark.parametrize("key", ["o", "a", "s", "n", "t", "z"])
def test_calls_meant_for_another_kind_find_nothing(key):
    """A wrong shape is empty, not an exception: dialects leave it alone, the screen reads it."""
    node = read(BODY).root.get(key)
    assert (node.members() == ()) is (node.kind is not Kind.OBJECT)
    assert (node.items() == ()) is (node.kind is not Kind.ARRAY)
    assert (node.text() is None) is (node.kind is not Kind.STRING)
    assert (node.get("k") is None) is (node.kind is not Kind.OBJECT)
    assert node.child("none") is None
    assert node.child(7) is None


def test_values_are_whole_and_exact():
    """Integers stay exact, fractions are decimals."""
    root = read(BODY).root
    assert root.value() == {
        "o": {"k": [1]},
        "a": [1, "x"],
        "s": "hé",
        "n": Decimal("-1.50"),
        "t": True,
        "z": None,
    }
    digits = "9" * 5000
    assert read(b'{"n": %s}' % digits.encode()).root.get("n").value() == Decimal(digits)
    assert read(b'{"n": 1E400}').root.get("n").value() == Decimal("1E400")
    assert str(read(b'{"n": -0}').root.get("n").value()) == "0"


def test_a_number_beyond_every_range_is_refused_when_it_is_read_as_a_value():
    """It passes as bytes; only who wants its value is told that there is none."""
    root = read(b'{"n": 1E9999999999999999999999}').root
    with pytest.raises(Malformed, match="beyond every range"):
        root.value()
    assert root.strands() == (Strand(("n",), "n", is_key=True),)


def test_strands_name_keys_and_strings_in_order():
    """Every string once, keys before their values, each with its way from the top."""
    assert read(BODY).root.strands() == (
        Strand(("o",), "o", is_key=True),
        Strand(("o", "k"), "k", is_key=True),
        Strand(("a",), "a", is_key=True),
        Strand(("a", 1), "x"),
        Strand(("s",), "s", is_key=True),
        Strand(("s",), "hé"),
        Strand(("n",), "n", is_key=True),
        Strand(("t",), "t", is_key=True),
        Strand(("z",), "z", is_key=True),
    )


def test_strands_of_a_member_may_begin_with_its_key():
    """A top-level member is a piece, and its own key is part of what leaves."""
    root = read(BODY).root
    own = Strand(("s",), "s", is_key=True)
    assert root.get("s").strands(keyed=True) == (own, Strand(("s",), "hé"))
    assert root.get("a").items()[1].strands(keyed=True) == (Strand(("a", 1), "x"),)


@pytest.mark.parametrize(
    "body",
    [
        BODY,
        b'{"role":"user","content":[{"type":"text","text":"a"},["id",{"id":"b"}]]}',
        b'{"content": "\\u0041", "name":{"name":["c"]}, "system":"d"}',
        b'{"bytes": [%b], "id": [%b]}' % ((b"7, " * 20 + b"7",) * 2),
        b'{"role": 1E400, "text" : "e"}',
    ],
)
def test_texts_are_the_strands_sorted(body):
    """Of every member, with its key and without."""
    root = read(body).root
    for _, node in root.members():
        for keyed in (False, True):
            assert node.texts(keyed=keyed) == sort_out(node.strands(keyed=keyed))
        for item in node.items():
            assert item.texts(keyed=True) == sort_out(item.strands(keyed=True))


@pytest.mark.parametrize(
    "value",
    [b'{"a":1,"a":1}', b'["\\ud800"]', b"[" * 101 + b"]" * 101],
)
def test_texts_are_read_as_strictly_as_strands(value):
    """Equal keys, half a surrogate pair, and what nests too deep."""
    for parse in ("strands", "texts"):
        node = read(b'{"messages":[%b]}' % value, judge=False).root.get("messages").item(0)
        with pytest.raises(Malformed):
            getattr(node, parse)()


@pytest.mark.parametrize("levels", [97, 98, 99, 900])
def test_what_is_had_quickly_is_no_deeper_than_allowed(levels):
    """A value is parsed before anyone has looked how deep it is, and then refused as ever."""
    for open_, close in ((b"[", b"]"), (b'{"a":', b"}")):
        deep = open_ * levels + b"1" + close * levels
        node = read(b'{"messages":[%b]}' % deep, judge=False).root.get("messages").item(0)
        if levels <= 98:
            assert node.value() == json.loads(deep)
            continue
        with pytest.raises(Malformed, match="nested deeper than 100 levels"):
            node.value()


def test_escapes_that_a_writer_writes_are_read_quickly():
    """Control characters, as they stand in the output of a terminal, cannot be written otherwise;
    what could be is read the slow way, and is the same."""
    for text, quick in (("\\u001b[1mbold", True), ("caf\\u00e9", False)):
        raw = b'{"messages":[{"content":"%b"}]}' % text.encode()
        node = read(raw).root.get("messages").item(0)
        assert node.value() == json.loads(raw)["messages"][0]
        assert (node.writer is not None) is quick


@pytest.mark.parametrize(
    ("body", "address", "offset"),
    [
        (b'{"m": [{"x": {"k": 1, "k": 2}}]}', ("m", 0, "x", "k"), 14),
        (b'{"m": [{"x": {"k": 1, "l": {}, "\\u006b": 1}}]}', ("m", 0, "x", "k"), 31),
        (b'{"m": [{"x": {"k":1, "k":1,"l":1}}]}', ("m", 0, "x", "k"), 21),
        (b'{"m": [{"x": {"k":12,"k":1}}]}', ("m", 0, "x", "k"), 14),
        (b'{"m": [{"x": {"k":1,"l":2,"k":1}}]}', ("m", 0, "x", "k"), 26),
        ('{"m": [{"x": {"ä":1,"ä":1}}]}'.encode(), ("m", 0, "x", "ä"), 21),
    ],
)
def test_equal_keys_below_are_refused_when_a_value_is_parsed_whole(body, address, offset):
    """Unopened spans may hide them; `strands` and `value` find them and name the place."""
    message = read(body).root.get("m").items()[0]
    for parse in (message.strands, message.value, message.get("x").members):
        with pytest.raises(Malformed, match="appears twice") as caught:
            parse()
        assert (caught.value.address, caught.value.offset) == (address, offset)


def test_members_and_items_are_the_same_nodes_every_time():
    """Opening happens once."""
    root = read(BODY).root
    assert root.get("a") is root.get("a") is dict(root.members())["a"]
    first, again = root.get("a").items(), root.get("a").items()
    assert all(one is two for one, two in zip(first, again, strict=True))
    assert root.get("a").item(1) is first[1] is root.get("a").child(1)


def test_digests_are_over_salt_and_raw_bytes():
    """SHA-256, as the verdicts that are remembered need it."""
    node = read(BODY).root.get("a")
    assert node.digest() == hashlib.sha256(b'[1, "x"]').digest()
    assert node.digest(b"role") == hashlib.sha256(b'role[1, "x"]').digest()


def test_spans_begin_at_the_value_or_at_its_key():
    """What a splice exchanges and what it takes out."""
    root = read(BODY).root
    start, end = root.get("a").whole_span
    assert BODY[start:end] == b'"a": [1, "x"]'
    item = root.get("a").items()[1]
    assert item.span == item.whole_span


def test_a_node_shows_nothing_of_its_value():
    """What lands in a traceback is a kind and a place."""
    assert repr(read(BODY).root.get("s")) == "<Node string of 9 bytes at 38>"


KEYS = st.sampled_from(['"type"', '"Type"', '"t\\u0079pe"', '"TYPE"', '"name"', '"ſ"', '"s"', '""'])
VALUES = st.sampled_from(
    ['"mcp"', '"m\\u0063p"', "null", "1", '{"a":1,"a":2}', '["x"]', '"\\ud800"']
)


@given(st.lists(st.tuples(KEYS, VALUES), max_size=4), st.sampled_from([":", " : "]))
def test_a_text_is_had_without_opening_as_it_is_by_opening(pairs, colon):
    """The same text, or the same refusal at the same place, whatever the keys are."""
    inner = ",".join(f"{key}{colon}{value}" for key, value in pairs)
    for text in (f"{{{inner}}}", "[1]", '"type"'):
        said = []
        for ask in (lambda tool: tool.get_text("type"), opened_text):
            (tool,) = read(f'{{"tools":[{text}]}}'.encode()).root.get("tools").items()
            try:
                said.append(ask(tool))
            except Malformed as wrong:
                said.append((wrong.reason, wrong.address, wrong.offset))
        assert said[0] == said[1]


def opened_text(tool):
    node = tool.get("type")
    return None if node is None else node.text()
