"""Reading a body: what is refused, where, and in whose words."""

import gc
import json
import time
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.lazyjson import Kind, Malformed, Node, Replace, dump, parsed, read, splice
from tests.proxy.json_samples import bodies, walk
from tests.proxy.json_samples import text as text_of

BODY = b'{"a": [1]}'
DEEP = "nested deeper than 100 levels"


def found(root: Node, address: tuple) -> Node:
    for step in address:
        child = root.child(step)
        assert child is not None
        root = child
    return root


def fault(body: bytes) -> Malformed:
    with pytest.raises(Malformed) as caught:
        read(body)
    return caught.value


def opened(body: bytes) -> None:
    """Everything that is ever done to a body that came in."""
    root = read(body).root
    root.members()
    root.strands()
    root.value()


@given(body=bodies, before=st.sampled_from([b"", b" ", b"\r\n\t"]))
@settings(max_examples=200)
def test_every_value_is_found_with_its_own_bytes(body, before):
    """At every address stands exactly the text that was written there, at the offset it names."""
    written = before + text_of(body) + before
    document = read(written)
    assert document.body is written
    for address, model in walk(body):
        node = found(document.root, address)
        assert node.raw == text_of(model)
        assert node.address == address
        assert written[node.offset :].startswith(node.raw)


@given(body=bodies)
@settings(max_examples=100)
def test_the_standard_library_reads_the_same(body):
    """Values, texts and strands are what a second reader finds in the same bytes."""
    written = text_of(body)
    root = read(written).root
    assert root.value() == json.loads(written, parse_float=_decimal, parse_int=_number)
    strings = [s.text for s in root.strands() if not s.is_key]
    assert strings == list(_strings(json.loads(written)))


def _decimal(text):
    from decimal import Decimal

    return Decimal(text)


def _number(text):
    return int(text)


def _strings(value):
    match value:
        case str():
            yield value
        case dict():
            for member in value.values():
                yield from _strings(member)
        case list():
            for item in value:
                yield from _strings(item)


@pytest.mark.parametrize(
    ("body", "reason", "address", "offset"),
    [
        (b"", "it is empty", (), 0),
        (b" \n", "it is empty", (), 0),
        (b"\xef\xbb\xbf{}", "it begins with a byte order mark", (), 0),
        (b" [1]", "it is not one JSON object", (), 1),
        (b'"text"', "it is not one JSON object", (), 0),
        ('{"a": 1}'.encode("utf-16-le"), "it is not valid JSON", (), 1),
        (b'{"a": "\xff"}', "bytes that are not UTF-8", ("a",), 7),
        (b'{"a": [0, {"b": "x\xed\xa0\x80"}]}', "bytes that are not UTF-8", ("a", 1, "b"), 18),
        (b'{"a": 1, "\xc3": 2}', "bytes that are not UTF-8", (), 10),
        (b'{"a": [1, NaN]}', "NaN is not JSON", ("a", 1), 10),
        (b'{"a": "NaN", "b": -Infinity}', "-Infinity is not JSON", ("b",), 18),
        (b'{"a": [1, 2', "the JSON ends too early", ("a", 1), 11),
        (b'{"a"', "the JSON ends too early", (), 4),
        (b'{"a": ["x', "a string does not end", ("a", 0), 7),
        (b'{"a": 1} {"b": 2}', "something follows the JSON object", (), 9),
        (b'{"a": 1 "b": 2}', "it is not valid JSON", ("a",), 8),
        (b'{"\xc3\xa9": "\xc3\xa9", "a": 01}', "it is not valid JSON", ("a",), 19),
        (b'{"a": "\\x"}', "it is not valid JSON", ("a",), 7),
        (b'{"a": "\x01"}', "it is not valid JSON", ("a",), 7),
        (b"{'a': 1}", "it is not valid JSON", (), 1),
        (b'{"a": 1, "\\u0061": 2}', "a key appears twice in one object", ("a",), 1),
        (b'{"a": "\\ud800" "b": 1}', "it is not valid JSON", ("a",), 15),
    ],
)
def test_what_is_not_one_strict_object_is_refused(body, reason, address, offset):
    """Each error names its reason in our words, the way to the place, and the byte."""
    wrong = fault(body)
    assert (wrong.reason, wrong.address, wrong.offset) == (reason, address, offset)
    assert str(wrong).endswith(f"byte {offset}")


@pytest.mark.parametrize(
    ("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{ "\\"[": ', b"} ]")]
)
@pytest.mark.parametrize("levels", [101, 400, 5000, 200_000])
def test_depth_beyond_a_hundred_is_refused(opening, closing, levels):
    """However deep, closed or not: refused at the bracket that begins level 101."""
    each = 2 if opening.startswith(b"[{") else 1
    times = levels // each
    inside = opening * times + b"1" + closing * times
    level = 99 * len(opening) if each == 1 else 49 * len(opening) + 1
    for body in (b'{"b": ["]", "\\\\"], "a":' + inside + b"}", b'{"a":' + opening * levels):
        wrong = fault(body)
        assert wrong.reason == DEEP
        assert wrong.offset == body.index(b'"a":') + 4 + level


@given(
    depth=st.integers(90, 110),
    wide=st.integers(0, 60),
    inner=st.sampled_from([b'"[[[["', b'"\\"[{"', b'"\\\\"', b"1"]),
    gap=st.sampled_from([b"", b" "]),
)
@settings(max_examples=80)
def test_exactly_a_hundred_levels_pass(depth, wide, inner, gap):
    """Brackets in strings and beside the deep value do not count, wherever the deep value lies."""
    side = b"".join(b'[{"k": "]}"}],' for _ in range(wide))
    nest = (b"[" + gap) * depth + inner + (gap + b"]") * depth
    body = b'{"messages": [' + side + nest + b"]}"
    if depth + 2 > 100:
        assert fault(body).reason == DEEP
        assert fault(body).offset == body.index(nest) + 98 * len(b"[" + gap)
    else:
        assert read(body).root.get("messages").items()[-1].raw == nest


def test_deep_values_side_by_side_are_judged_each_by_its_own():
    """A long list of values of depth 98 passes, and one of depth 99 at its end is found."""
    fine = b"[" * 98 + b"]" * 98
    body = b'{"messages": [' + b",".join([fine] * 2000)
    assert len(read(body + b"]}").root.get("messages").items()) == 2000
    wrong = fault(body + b",[" + fine + b"]]}")
    assert (wrong.reason, wrong.offset) == (DEEP, len(body) + 1 + 98)


TOO_DEEP = b'{"model": "m", "a": [0, ' + b"[" * 99 + b"]" * 99 + b'], "b": [1]}'


@pytest.mark.parametrize(
    "look",
    [
        lambda document: document.judge(),
        lambda document: document.root.get("a").items()[1].items(),
        lambda document: document.root.get("a").items()[1].value(),
        lambda document: document.root.get("a").items()[1].strands(),
        lambda document: document.root.get("a").value(),
        lambda document: document.root.get("a").strands(),
        lambda document: document.root.value(),
        lambda document: document.root.strands(),
        lambda document: splice(document, [Replace(("a", 1, 0), b"1")]),
    ],
)
def test_unjudged_depth_is_met_by_nobody(look):
    """A body of which only the top is read may skip the judgement; whoever looks deeper may not."""
    document = read(TOO_DEEP, judge=False)
    assert document.root.get("model").text() == "m"
    assert [item.raw for item in document.root.get("b").items()] == [b"1"]
    with pytest.raises(Malformed, match="nested deeper") as caught:
        look(document)
    assert caught.value.offset == TOO_DEEP.index(b"[[") + 98
    with pytest.raises(Malformed):
        look(document)


def test_a_judged_body_is_not_judged_again(monkeypatch):
    """Once is enough, whichever way it was read."""
    document = read(BODY, judge=False)
    document.judge()
    monkeypatch.setattr("proxy.lazyjson.check_depth", None)
    monkeypatch.setattr("proxy.json_node.check_depth", None)
    document.judge()
    assert document.root.get("a").items()[0].raw == b"1"


def test_more_than_a_million_values_are_refused_before_any_is_built():
    """A short body that would become gigabytes of values costs no more than its own length."""
    body = b'{"messages":[' + b"0," * 1_100_000 + b"0]}"
    tracemalloc.start()
    try:
        wrong = fault(body)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert wrong.reason == "more than 1000000 values"
    assert peak < 2 * len(body)


def test_commas_in_text_are_no_values():
    """A long text is one value, whatever it holds."""
    body = b'{"a":"' + b'x,\\",' * 600_000 + b'"}'
    assert read(body).root.get("a").kind is Kind.STRING


@pytest.mark.parametrize(
    ("body", "address", "offset"),
    [
        (b'{"a": {"A": 1, "b": 2, "a": 3}}', ("a", "a"), 23),
        (b'{"stream": 1, "STREAM": 2}', ("STREAM",), 14),
        (b'{"mess\\u0061ges": 1, "Messages": 2}', ("Messages",), 21),
        ('{"tools": 1, "toolſ": 2}'.encode(), ("toolſ",), 13),
        ('{"key": 1, "\u212aey": 2}'.encode(), ("\u212aey",), 11),
    ],
)
def test_keys_equal_after_case_folding_are_duplicates(body, address, offset):
    """Where a caller opens an object by key, some upstream would read either of the two."""
    node = found(read(body).root, address[:-1])
    for ask in (node.members, lambda: node.get("other")):
        with pytest.raises(Malformed, match="differs only in case") as caught:
            ask()
        assert (caught.value.address, caught.value.offset) == (address, offset)
    assert len(node.members(free=True)) >= 2


def test_a_lone_variant_of_a_key_that_is_asked_for_is_refused():
    """`Messages` alone would be read as `messages` by an upstream that ignores case."""
    root = read(b'{"Messages": [], "model": "m"}').root
    assert root.get("model").text() == "m"
    assert [key for key, _ in root.members()] == ["Messages", "model"]
    with pytest.raises(Malformed, match="differs only in case"):
        root.get("messages")
    assert root.get("other") is None
    assert read(b'{"model": 1}').root.get("\u1e9e") is None


def test_tool_arguments_may_hold_keys_that_differ_in_case():
    """Nobody else's names are judged: values and strands take `A` beside `a`."""
    root = read(b'{"input": {"A": "1", "a": "2"}}').root
    assert root.get("input").value() == {"A": "1", "a": "2"}
    assert [s.text for s in root.strands()] == ["input", "A", "1", "a", "2"]


LONE = [
    rb'{"a": "\ud800", "b": [1, "x"]}',
    rb'{"a": "\uDFFF\ud800x", "b": [1, "x"]}',
    rb'{"a": "\ud83d\ud83d\ude00", "b": [1, "x"]}',
    rb'{"a": "\\\ud800 \\ud800", "b": [1, "x"]}',
    rb'{"b": [1, "x"], "\udc00": {"a": 1}}',
]


@pytest.mark.parametrize("body", LONE)
def test_lone_surrogates_open_and_keep_their_bytes(body):
    """On a local leg half a pair passes: opening and `text` take it as it stands."""
    document = read(body)
    assert document.body is body
    reference = json.loads(body)
    assert [key for key, _ in document.root.members()] == list(reference)
    for key, node in document.root.members():
        assert json.loads(node.raw) == reference[key]
        assert node.text() == (reference[key] if isinstance(reference[key], str) else None)
    assert document.root.get("b").items()[1].text() == "x"


@pytest.mark.parametrize("body", LONE)
def test_lone_surrogates_are_refused_where_strands_are_read(body):
    """On a cloud leg no reader may meet them; the place is named."""
    root = read(body).root
    with pytest.raises(Malformed, match="half of a surrogate pair") as caught:
        root.strands()
    assert body[caught.value.offset : caught.value.offset + 1] == b'"'
    assert len(caught.value.address) == 1
    assert root.get("b").strands()[-1].text == "x"


def test_surrogate_pairs_and_escaped_backslashes_are_no_lone_surrogates():
    """An emoji written as two escapes is a character; `\\\\ud800` is text about one."""
    root = read(rb'{"a": "\ud83d\ude00", "b": "\\ud800", "c": "\ud800"}').root
    assert [s.text for s in root.get("a").strands()] == ["😀"]
    assert [s.text for s in root.get("b").strands()] == ["\\ud800"]


def test_no_error_shows_a_value_or_a_foreign_key():
    """A key can be the secret: only schema words and indices are written out."""
    canary = "canary" + "7f3a"
    for body in (
        f'{{"messages": [{{"{canary}": {{"x": 1, "x": "{canary}"}}}}]}}',
        f'{{"{canary}": "{canary}',
        f'{{"{canary}": 1, "{canary}": 2}}',
        f'{{"{canary.upper()}": 1, "{canary}": 2}}',
        f'{{"{canary}": ' + "[" * 200,
    ):
        with pytest.raises(Malformed) as caught:
            opened(body.encode())
        assert canary not in str(caught.value).lower()
        assert canary not in str(caught.value.__cause__)


def outcome(get: Callable[[bytes], object], body: bytes) -> object:
    try:
        return get(body)
    except Malformed as wrong:
        return str(wrong)


@given(body=bodies, data=st.data())
@settings(max_examples=300)
def test_a_body_parsed_at_once_is_what_its_nodes_give(body, data):
    """As clients write it and with a byte changed, dropped or doubled: the same value or fault."""
    for separators in ((",", ":"), (", ", ": ")):
        written = json.dumps(json.loads(text_of(body)), separators=separators).encode()
        damaged = bytearray(written)
        at = data.draw(st.integers(0, len(written) - 1))
        some = data.draw(st.sampled_from([b"", b'"', b"{", b"]", b",", b"0", b'"a":1,', b"\xff"]))
        damaged[at : at + data.draw(st.integers(0, 2))] = some
        for each in (written, bytes(damaged)):
            assert outcome(parsed, each) == outcome(lambda raw: read(raw).root.value(), each)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":2}',
        b'{"a":{"b":1,"b":1}}',
        b"[1]",
        b'{"a":1} ',
        b'{"a":1}{',
        b'{"a":' + b"[" * 100 + b"]" * 100 + b"}",
        b'{"a":[' + b"1," * 1_000_001 + b"1]}",
        b'{"a":1e999999999}',
        b'{"a":12345678901234567890123,"b":1.50}',
    ],
    ids=range(9),
)
def test_a_body_parsed_at_once_is_read_as_strictly(body):
    """Two equal keys, depth, width, numbers: what one way refuses the other refuses too."""
    assert outcome(parsed, body) == outcome(lambda raw: read(raw).root.value(), body)


@given(junk=st.binary(max_size=60))
@settings(max_examples=300)
def test_any_bytes_are_read_or_refused(junk):
    """No input ends in another exception than ours."""
    for body in (junk, b'{"a":' + junk + b"}", b'{"a":"' + junk):
        try:
            opened(body)
        except Malformed as wrong:
            inside = 0 <= wrong.offset <= len(body)
            assert inside


@given(body=bodies, data=st.data())
@settings(max_examples=200)
def test_a_damaged_body_is_read_as_the_standard_library_does_or_refused(body, data):
    """One byte changed, dropped or doubled: never do two readers disagree."""
    written = bytearray(text_of(body))
    at = data.draw(st.integers(0, len(written) - 1))
    with_ = data.draw(st.sampled_from([b"", b'"', b"\\", b"{", b"]", b",", b"0", b"\x00", b"\xff"]))
    written[at : at + data.draw(st.integers(0, 2))] = with_
    try:
        root = read(bytes(written)).root
        mine = root.value()
        strings = [s.text for s in root.strands() if not s.is_key]
    except Malformed:
        return
    assert mine == json.loads(written, parse_float=_decimal, parse_int=_number)
    assert list(_strings(mine)) == strings


def test_nothing_that_is_kept_pins_the_body():
    """Texts, values, strands and digests outlive the body; it is freed without a collection."""
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        document = read(b'{"a": "' + b"x" * 5_000_000 + b'", "b": ["short", {"k": 1}]}')
        inner = document.root.get("b")
        kept = (
            [item.text() for item in inner.items()],
            inner.strands(),
            inner.value(),
            inner.digest(b"salt"),
            document.root.get("a").digest(),
            inner.raw,
        )
        assert tracemalloc.get_traced_memory()[0] - before > 5_000_000
        del document, inner
        assert tracemalloc.get_traced_memory()[0] - before < 100_000
    finally:
        tracemalloc.stop()
        gc.enable()
    assert kept[0] == ["short", None]


def test_opening_two_levels_costs_little():
    """Half a megabyte in 200 messages: some 0.5 ms; the bound allows for a busy machine."""
    message = {
        "role": "user",
        "content": [{"type": "text", "text": "def f(x):\n    return x\n" * 100}],
    }
    body = dump({"model": "m", "messages": [message] * 200})
    best = 1.0
    for _ in range(20):
        begun = time.perf_counter()
        read(body).root.get("messages").items()
        best = min(best, time.perf_counter() - begun)
    assert best < 0.01


def test_dump_writes_compact_utf8_and_escapes_what_utf8_cannot_hold():
    """Our own texts need no escapes but those that JSON or UTF-8 demand."""
    assert dump({"a": ["é", 1, None]}) == '{"a":["é",1,null]}'.encode()
    assert dump("x\ud800\n😀") == '"x\\ud800\\n😀"'.encode()
    with pytest.raises(ValueError, match="Out of range"):
        dump(float("nan"))
