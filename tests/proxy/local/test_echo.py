"""The model that was asked for stands in the answer; nothing else changes."""

import pytest

from proxy.dialects.streams import Kind, decoder
from proxy.local.echo import Echo


def through(stream: bytes, kind: Kind) -> bytes:
    echo, events = Echo('asked "x"'), decoder(kind)
    out = [each for event in [*events.feed(stream), *events.end()] for each in echo.event(event)]
    assert (list(echo.let_go()), list(echo.end())) == ([], [])
    return b"".join(event.raw for event in out)


@pytest.mark.parametrize(
    ("stream", "kind"),
    [
        (b'{ "id":1, "model" : %b,"x":1e5}', ""),
        (b'data: {"model":%b,"choices":[]}\n\ndata: [DONE]\n\n', "sse"),
        (b'event: message_start\r\ndata: {"type":"a","message":{"model":%b}}\r\n\r\n', "sse"),
        (b': hello\n\ndata: {"response":{"a":[],"model":%b}}\n\n', "sse"),
        (b'{"model":%b,"done":false}\n{"error":"x"}\n', "ndjson"),
    ],
)
def test_the_name_is_exchanged_where_answers_have_it(stream: bytes, kind: Kind) -> None:
    """At the top, in a message, in a response; whole, as events and as lines."""
    assert through(stream % b'"home"', kind) == stream % rb'"asked \"x\""'


@pytest.mark.parametrize(
    "stream",
    [
        b'data: {"text":"\\"model\\": 1"}\n\n',
        b'data: {"model":5}\n\n',
        b'data: {"model":"a","model":"b"}\n\n',
        b'data: "model"\n\n',
        b"data: {'model'\n\n",
    ],
)
def test_what_is_no_name_stays(stream: bytes) -> None:
    """Also what cannot be read for certain."""
    assert through(stream, "sse") == stream


def test_nothing_is_held() -> None:
    """It never makes a client wait."""
    assert Echo("m").held() is None
