"""Splices: what was edited is new, everything else is the client's, byte for byte."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.edits import Cut, Spliced, exchange
from proxy.lazyjson import Insert, Kind, Member, Node, Remove, Replace, read, splice
from tests.proxy.json_samples import Arr, Obj, bodies, shape, walk
from tests.proxy.json_samples import text as text_of

NEW = [b'"new"', b"1E400", b'"\\ud800"', b"-0", b"null"]


def seen(node: Node):
    """What `shape` makes of a model, made of nodes."""
    if node.kind is Kind.ARRAY:
        return [seen(item) for item in node.items()]
    if node.kind is Kind.OBJECT:
        return {key: seen(value) for key, value in node.members(free=True)}
    return node.raw


def carried_out(model, edits, address=()):
    """The edits on a model: the second opinion."""
    here = [edit for edit in edits if edit.address == address]
    for edit in here:
        if isinstance(edit, Replace):
            return edit.raw
    gone = {edit.address for edit in edits if isinstance(edit, Remove)}
    if isinstance(model, Arr):
        items = []
        for index in range(len(model.items) + 1):
            items += [e.raw for e in here if isinstance(e, Insert) and e.index == index]
            step = (*address, index)
            if index < len(model.items) and step not in gone:
                items.append(carried_out(model.items[index], edits, step))
        return items
    if isinstance(model, Obj):
        members = {
            key: carried_out(value, edits, (*address, key))
            for key, _, value in model.members
            if (*address, key) not in gone
        }
        return members | {e.key: e.raw for e in here if isinstance(e, Member)}
    return model


def whole_edits(address):
    return st.one_of(
        st.just(Remove(address)), st.builds(Replace, st.just(address), st.sampled_from(NEW))
    )


def additions(address, model):
    if isinstance(model, Arr):
        places = st.integers(0, len(model.items))
        one = st.builds(Insert, st.just(address), places, st.sampled_from(NEW))
        return st.lists(one, max_size=3)
    if isinstance(model, Obj):
        keys = st.sampled_from(["new", 'n"w', "ö"])
        one = st.builds(Member, st.just(address), keys, st.sampled_from(NEW))
        return st.lists(one, max_size=2, unique_by=lambda member: member.key)
    return st.just([])


@st.composite
def edited(draw):
    """A body with edits none of which lies inside another."""
    body = draw(bodies)
    places = st.sampled_from(list(walk(body)))
    edits = []
    for address, model in draw(st.lists(places, max_size=6, unique_by=lambda p: p[0])):
        taken = [e.address for e in edits if isinstance(e, Remove | Replace)]
        if any(address[: len(t)] == t for t in taken):
            continue
        below = any(e.address[: len(address)] == address for e in edits)
        if address and not below and draw(st.booleans()):
            edits.append(draw(whole_edits(address)))
        else:
            edits += draw(additions(address, model))
    return body, edits


@given(sample=edited())
@settings(max_examples=200)
def test_any_edits_change_only_what_they_name(sample):
    """Unedited values keep their raw bytes, members and items their order, commas are right."""
    body, edits = sample
    after = splice(read(text_of(body)), edits)
    result = seen(read(after).root)
    assert result == _plain(carried_out(body, edits))
    assert _order(result) == _order(_plain(carried_out(body, edits)))


def _plain(value):
    match value:
        case Arr() | Obj():
            return shape(value)
        case list():
            return [_plain(item) for item in value]
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case _:
            return value


def _order(value):
    """Keys in their order, at every level; dicts compare equal without it."""
    match value:
        case list():
            return [_order(item) for item in value]
        case dict():
            return [(key, _order(item)) for key, item in value.items()]
        case _:
            return None


@given(body=bodies, data=st.data())
@settings(max_examples=150)
def test_replacing_touches_no_byte_outside(body, data):
    """Before and after the replaced value stands what stood there, white space included."""
    written = text_of(body)
    document = read(written)
    address, _ = data.draw(st.sampled_from(list(walk(body))))
    node = document.root
    for step in address:
        node = node.child(step)
    start, end = node.span
    after = splice(document, [Replace(address, b'"new"')])
    assert after == written[:start] + b'"new"' + written[end:]


@given(body=bodies)
@settings(max_examples=50)
def test_no_edit_gives_the_identical_object(body):
    """Nothing is rebuilt where nothing was asked."""
    document = read(text_of(body))
    assert splice(document, []) is document.body


BODY = b'{ "a" : [ 1e5 , {"k":-0} ,"x" ] , "b":{ } , "c" : [\t] }'


@pytest.mark.parametrize(
    ("edits", "after"),
    [
        ([Replace(("a", 0), b"7")], b'{ "a" : [ 7 , {"k":-0} ,"x" ] , "b":{ } , "c" : [\t] }'),
        ([Remove(("a", 0))], b'{ "a" : [ {"k":-0} ,"x" ] , "b":{ } , "c" : [\t] }'),
        ([Remove(("a", 1))], b'{ "a" : [ 1e5 ,"x" ] , "b":{ } , "c" : [\t] }'),
        ([Remove(("a", 2))], b'{ "a" : [ 1e5 , {"k":-0} ] , "b":{ } , "c" : [\t] }'),
        (
            [Remove(("a", 0)), Remove(("a", 1)), Remove(("a", 2))],
            b'{ "a" : [  ] , "b":{ } , "c" : [\t] }',
        ),
        (
            [Remove(("a", 0)), Remove(("a", 1)), Remove(("a", 2)), Insert(("a",), 1, b"8")],
            b'{ "a" : [ 8 ] , "b":{ } , "c" : [\t] }',
        ),
        (
            [Insert(("a",), 0, b"7"), Insert(("a",), 0, b"8"), Insert(("a",), 3, b"9")],
            b'{ "a" : [ 7,8,1e5 , {"k":-0} ,"x",9 ] , "b":{ } , "c" : [\t] }',
        ),
        (
            [Remove(("a", 2)), Insert(("a",), 3, b"9"), Insert(("a",), 2, b"8")],
            b'{ "a" : [ 1e5 , {"k":-0},8,9 ] , "b":{ } , "c" : [\t] }',
        ),
        ([Insert(("c",), 0, b"7")], b'{ "a" : [ 1e5 , {"k":-0} ,"x" ] , "b":{ } , "c" : [7\t] }'),
        (
            [Member(("b",), "n", b"7"), Member((), "\u00e9", b"[]")],
            b'{ "a" : [ 1e5 , {"k":-0} ,"x" ] , "b":{"n":7 } , "c" : [\t],"\\u00e9":[] }',
        ),
        (
            [Remove(("b",)), Member((), "b", b"7")],
            b'{ "a" : [ 1e5 , {"k":-0} ,"x" ] , "c" : [\t],"b":7 }',
        ),
        ([Remove(("a", 1, "k"))], b'{ "a" : [ 1e5 , {} ,"x" ] , "b":{ } , "c" : [\t] }'),
        ([Replace((), b"{}")], b"{}"),
    ],
)
def test_commas_and_white_space(edits, after):
    """The exact bytes, by example: first, middle, last, all, none, several at one place."""
    assert splice(read(BODY), edits) == after


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([Replace(("z",), b"1")], "leads nowhere"),
        ([Replace(("a", 3), b"1")], "leads nowhere"),
        ([Replace(("a", -1), b"1")], "leads nowhere"),
        ([Replace(("a", "0"), b"1")], "leads nowhere"),
        ([Replace(("b", 0), b"1")], "leads nowhere"),
        ([Remove(())], "top level"),
        ([Insert(("b",), 0, b"1")], "no such place"),
        ([Insert(("a",), 4, b"1")], "no such place"),
        ([Insert(("a",), -1, b"1")], "no such place"),
        ([Member(("a",), "k", b"1")], "only to an object"),
        ([Member((), "a", b"1")], "there already"),
        ([Member((), "n", b"1"), Member((), "n", b"2")], "there already"),
        ([Replace(("a",), b"1"), Replace(("a",), b"2")], "two edits of one value"),
        ([Remove(("a",)), Replace(("a",), b"2")], "two edits of one value"),
        ([Replace(("a", 0), b"1"), Replace(("a",), b"2")], "inside a value"),
        ([Remove(("a",)), Insert(("a",), 0, b"2")], "inside a value"),
        ([Insert(("a",), 0, b"2"), Replace(("a",), b"[]")], "inside a value"),
        ([Remove(("a", 1)), Member(("a", 1), "n", b"2")], "inside a value"),
        ([Replace(("a",), b"")], "not one JSON value"),
        ([Replace(("a",), b"1 2")], "not one JSON value"),
        ([Replace(("a",), b"NaN")], "not one JSON value"),
        ([Replace(("a",), b'{"x":1,"x":2}')], "not one JSON value"),
        ([Replace(("a",), b' {"x":1,"x":2}')], "not one JSON value"),
        ([Replace(("a",), b'"\\ud800" 1')], "not one JSON value"),
        ([Replace(("a",), b'"\xff"')], "not one JSON value"),
    ],
)
def test_edits_that_make_no_sense_are_refused(edits, words):
    """A wrong address, an overlap or raw bytes that are no value never reach the body."""
    with pytest.raises(ValueError, match=words):
        splice(read(BODY), edits)


def test_an_edit_beside_lone_surrogates_keeps_them():
    """The body that is spliced is the client's, not the copy that is scanned."""
    document = read(rb'{"a": "\ud800", "b": 1, "\udfff": 2}')
    assert splice(document, [Replace(("b",), b"2")]) == rb'{"a": "\ud800", "b": 2, "\udfff": 2}'
    assert splice(document, [Remove(("\udfff",))]) == rb'{"a": "\ud800", "b": 1}'


CUTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4), st.binary(max_size=3)), max_size=5)


def laid_out(lengths: list[tuple[int, int, bytes]], start: int = 0) -> list[Cut]:
    """Cuts one behind the other, from their distances and lengths."""
    cuts: list[Cut] = []
    for gap, length, new in lengths:
        cuts.append((start + gap, start + gap + length, new))
        start += gap + length
    return cuts


@given(CUTS, CUTS, CUTS, st.integers(0, 60), st.booleans())
@settings(max_examples=200)
def test_what_was_spliced_before_is_spliced_alike(
    first: list[tuple[int, int, bytes]],
    then: list[tuple[int, int, bytes]],
    others: list[tuple[int, int, bytes]],
    stop: int,
    same: bool,
) -> None:
    """Property: with what an earlier body with the same beginning became, a body becomes what it
    does without, whether the cuts of that beginning are the same or others."""
    raw, cuts = bytes(range(100)), laid_out(first)
    known = Spliced.of(cuts, stop, exchange(raw, cuts))
    straddles = any(start < stop < end for start, end, _ in cuts)
    assert (known is None) == straddles
    grown = raw[:stop] + bytes(range(200, 250)) + raw
    before = laid_out(first if same else others)
    before = [cut for cut in before if cut[0] < stop and cut[1] <= stop]
    after = [*before, *laid_out(then, stop)]
    assert exchange(grown, after, known) == exchange(grown, after)


def test_the_beginning_is_taken_from_what_it_became():
    """Where the cuts are the same, it is not put together again."""
    cuts = [(1, 2, b"b"), (4, 4, b"d")]
    known = Spliced((cuts[0],), 3, b"another result", 7)
    assert exchange(b"0123456", cuts, known) == b"another3d456"
    for other in ([], cuts[1:], [(1, 2, b"c")], [cuts[0], (2, 2, b"x")]):
        assert exchange(b"0123456", other, known) == exchange(b"0123456", other)
