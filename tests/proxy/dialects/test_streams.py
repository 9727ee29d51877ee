"""Streams cut into events: the same events whatever way the bytes were cut, and not a byte lost."""

import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.dialects import streams
from proxy.dialects.streams import Edge, Event, Kind, TooLong, decoder, kind_of, ndjson, sse


def fed(kind: Kind, chunks: list[bytes]) -> list[Event]:
    each = decoder(kind)
    return [*(event for chunk in chunks for event in each.feed(chunk)), *each.end()]


def cuts(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in pairwise(edges)]


def three_ways(kind: Kind, data: bytes) -> list[Event]:
    """The events of `data` fed whole, by the byte, and in halves; all three must agree."""
    whole = fed(kind, [data])
    assert fed(kind, [data[i : i + 1] for i in range(len(data))]) == whole
    assert fed(kind, [data[: len(data) // 2], data[len(data) // 2 :]]) == whole
    assert b"".join(event.raw for event in whole) == data
    return whole


def told(events: list[Event]) -> list[tuple[str, str]]:
    return [(event.name, event.data) for event in events if event.data is not None]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [("", "a")]),
        (b"data:a\n\ndata:  b\n\n", [("", "a"), ("", " b")]),
        (b"event: x\ndata: a\n\n", [("x", "a")]),
        (b"event:x\r\ndata:a\r\n\r\nevent:y\r\ndata:b\r\n\r\n", [("x", "a"), ("y", "b")]),
        (b"data: a\r\rdata: b\r\r", [("", "a"), ("", "b")]),
        (b"data: a\n\r\ndata: b\r\n\n", [("", "a"), ("", "b")]),
        (b"data: a\ndata: b\n\n", [("", "a\nb")]),
        (b"data: a\ndata\ndata:\n\n", [("", "a\n\n")]),
        (b": ping\n\ndata: a\n\n:\n\n", [("", "a")]),
        (b"event: ping\ndata: {}\n\n", [("ping", "{}")]),
        (b"id: 1\nretry: 5\nunknown: x\ndata: a\n\n", [("", "a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("", "a")]),
        (b"data: \xef\xbb\xbfa\n\n", [("", "\ufeffa")]),
        (b"\n\n\ndata: a\n\n\n\ndata: b\n\n", [("", "a"), ("", "b")]),
        ("data: näh 🧅 語\n\n".encode(), [("", "näh 🧅 語")]),
        (b"data: \xff\n\n", [("", "\ufffd")]),
        (b"data: a\x0b\xc2\x85b\n\n", [("", "a\x0b\x85b")]),
        (b"data: [DONE]\n\n", [("", "[DONE]")]),
        (b"data: a\n\ndata: half", [("", "a"), ("", "half")]),
        (b"data: a\n", [("", "a")]),
        (b"data: a\r\n\r", [("", "a")]),
        (b"", []),
    ],
)
def test_server_sent_events_follow_the_grammar(
    stream: bytes, events: list[tuple[str, str]]
) -> None:
    """Line ends, spaces, comments, many data lines, a BOM, split characters, a missing end."""
    assert told(three_ways("sse", stream)) == events


def test_a_comment_is_an_event_that_carries_nothing() -> None:
    """Pings are kept where they stood, so that they can be passed on."""
    events = fed("sse", [b": keep\n\ndata: a\n\n"])
    assert [(event.raw, event.data) for event in events] == [
        (b": keep\n\n", None),
        (b"data: a\n\n", "a"),
    ]


def test_an_event_comes_out_with_its_last_byte() -> None:
    """Nothing waits for the next event where the end of this one is certain."""
    each = decoder("sse")
    assert each.feed(b"data: a\r\n\r") == []
    assert told(each.feed(b"\n")) == [("", "a")]
    assert told(each.feed(b"data: b\n\n")) == [("", "b")]
    assert each.end() == []


@pytest.mark.parametrize(
    ("stream", "lines"),
    [
        (b'{"a":1}\n{"a":2}\n', ['{"a":1}', '{"a":2}']),
        (b'{"a":1}\r\n', ['{"a":1}']),
        (b'\n\n{"a":1}\n \n', ['{"a":1}']),
        (b'{"a":1}\n{"a":2}', ['{"a":1}', '{"a":2}']),
        (b'{"a":"\xe2\x80\xa8\x0b"}\n', ['{"a":"\u2028\x0b"}']),
        (b"", []),
    ],
)
def test_json_lines_end_with_a_line_feed_alone(stream: bytes, lines: list[str]) -> None:
    """Blank lines carry nothing, other line separators are content, the last may lack its end."""
    assert [data for _, data in told(three_ways("ndjson", stream))] == lines


def test_a_whole_answer_is_one_event_at_its_end() -> None:
    """Filters read whole answers through the same type."""
    assert fed("", [b'{"a"', b":1}"]) == [Event(b'{"a":1}', '{"a":1}')]
    assert fed("", [b""]) == []


@settings(max_examples=150)
@given(
    st.lists(
        st.sampled_from(
            [b"\r", b"\n", b"\r\n", b"data: x", b"data:", b":", b"event: e", b"\xc3\xa4", b"\xef"]
        ),
        max_size=24,
    ),
    st.lists(st.integers(0, 200), max_size=12),
)
def test_any_cut_gives_the_same_events(parts: list[bytes], places: list[int]) -> None:
    """However a stream is cut, its events are equal and their bytes joined are the stream."""
    data = b"".join(parts)
    kinds: tuple[Kind, ...] = ("sse", "ndjson", "")
    for kind in kinds:
        whole = fed(kind, [data])
        assert fed(kind, cuts(data, places)) == whole
        assert b"".join(event.raw for event in whole) == data


@settings(max_examples=100)
@given(st.text(st.characters(exclude_characters="\r", codec="utf-8")), st.sampled_from(["", "x"]))
def test_what_is_written_is_read_again(data: str, name: str) -> None:
    """An encoded event decodes to itself, also after another one."""
    events = told(fed("sse", [sse("before") + sse(data, name)]))
    assert events == [("", "before"), (name, data)]


def test_what_cannot_be_written_is_refused() -> None:
    """No encoder writes two events where one was meant."""
    for data, name in (("a\rb", ""), ("a", "x\ny"), ("a", "x\ry")):
        with pytest.raises(ValueError, match="line end"):
            sse(data, name)
    for line in ("", " ", "{}\n{}"):
        with pytest.raises(ValueError, match="one line"):
            ndjson(line)
    assert ndjson('{"ä":1}') == '{"ä":1}\n'.encode()


@pytest.mark.parametrize("kind", ["sse", "ndjson"])
def test_a_long_line_costs_no_more_per_byte(kind: Kind) -> None:
    """2 MB in one event, in small pieces: each byte is looked at once."""
    line = b'data: {"a":"' + b"x" * 2_000_000 + b'"}\n\n'
    began = time.process_time()
    events = fed(kind, [line[i : i + 64] for i in range(0, len(line), 64)])
    assert time.process_time() - began < 2.0  # some 30 000 pieces; quadratic would be minutes
    assert len(events[0].raw) > 2_000_000


@pytest.mark.parametrize("kind", ["sse", "ndjson", ""])
def test_an_event_without_end_is_given_up(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory stays bounded when an upstream never ends an event."""
    monkeypatch.setattr(streams, "EVENT_LIMIT", 1000)
    each = decoder(kind)
    each.feed(b"x" * 900)
    with pytest.raises(TooLong):
        each.feed(b"x" * 200)


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("text/event-stream", "sse"),
        ("Text/Event-Stream; charset=utf-8", "sse"),
        ("application/x-ndjson", "ndjson"),
        ("application/jsonl", "ndjson"),
        ("application/json", ""),
        ("", ""),
    ],
)
def test_the_grammar_is_told_by_the_content_type(content_type: str, kind: Kind) -> None:
    """Parameters and case do not matter."""
    assert kind_of(content_type) == kind


@pytest.mark.parametrize(
    ("kind", "sent", "clean"),
    [
        ("sse", b"", True),
        ("sse", b"data: a\n\n", True),
        ("sse", b"data: a\r\n\r\n", True),
        ("sse", b"data: a\r\r", True),
        ("sse", b": ping\n\n", True),
        ("sse", b"data: a\n", False),
        ("sse", b"data: a\r\n", False),
        ("sse", b"data: a\n\ndata", False),
        ("ndjson", b"", True),
        ("ndjson", b"{}\n", True),
        ("ndjson", b"{}\n{", False),
        ("", b"", True),
        ("", b"{}\n\n", False),
    ],
)
def test_the_edge_between_events_is_known(kind: Kind, sent: bytes, clean: bool) -> None:
    """Told from the last bytes alone, whatever way they went out."""
    for chunks in ([sent], [sent[i : i + 1] for i in range(len(sent))]):
        edge = Edge(kind)
        for chunk in chunks:
            edge.feed(chunk)
        assert edge.clean is clean
