"""The fake upstream and the client of the bench, against each other: figures are only as good as
these two."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from bench import bodies, client, nodes, requests
from bench.processes import server
from bench.upstream import Upstream


@pytest.fixture
async def url() -> AsyncIterator[str]:
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def asking(stream: str) -> client.Request:
    body = bodies.history(2_000, stream=bool(stream))[-1]
    return partial(next, bodies.fresh(body, "127.0.0.1", stream))


async def test_paced_streams_have_the_events_and_the_pace_that_were_asked_for(url: str) -> None:
    """Five events at 20 ms: five stamps per stream, none early, and the first byte at once."""
    took = await client.streams(url, asking("5 20"), 3)
    assert len(took.delays) == 15
    assert min(took.delays) >= 0
    assert min(took.whole) >= 0.1
    assert max(took.first) < min(took.after)


@pytest.mark.parametrize("events", [1, 64, 1000])
async def test_bursts_are_whole(url: str, events: int) -> None:
    """Every event arrives, in no time, however they fall into batches."""
    one = await client.streams(url, asking(f"{events} 0"), 1)
    two = await client.streams(url, asking(f"{2 * events} 0"), 1)
    each, rest = divmod(two.heard - one.heard, events)
    assert (each > 150, rest, one.delays) == (True, 0, [])


async def test_the_first_byte_comes_before_the_last(url: str) -> None:
    """Of a stream it is the head, not the end; of a whole answer both are one."""
    (first, *_) = await client.first_bytes(url, asking("4 20"), 0, 2)
    (whole, *_) = await client.latencies(url, asking("4 20"), 0, 2)
    assert first < 0.04 < 0.08 <= whole


async def test_whole_answers_are_counted(url: str) -> None:
    """As many as are answered, over connections that are kept."""
    answered, seconds = await client.load(url, asking(""), 0.05, 2)
    assert answered > 2
    assert seconds >= 0.05


@pytest.mark.parametrize("way", nodes.OURS)
def test_no_limit_ends_a_measurement(way: str, tmp_path: Path) -> None:
    """A long history of reading, and more requests than a session may send: all of them reach the
    upstream, in both configurations."""
    history = bodies.history(400_000)
    with (
        server("direct", ["bench.upstream"], tmp_path) as upstream,
        server(way, nodes.serve(way, upstream.url, tmp_path), tmp_path) as one,
    ):
        asyncio.run(requests.grow(one, history[-1:]))
        asked = partial(next, requests.fresh(one, bodies.history(2_000)[-1]))
        sent = asyncio.run(client.latencies(one.url, asked, 0, 1250))
    assert len(sent) == 1250


@pytest.mark.parametrize(
    ("head", "fine"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n", True),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-transom-notice: adopted\r\n", True),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nX-Transom-Notice: read-loop\r\n", False),
        (b"HTTP/1.1 429 No\r\ncontent-length: 2\r\n", False),
    ],
)
async def test_an_answer_of_another_kind_ends_the_run(head: bytes, fine: bool) -> None:
    """A refusal, or an answer that Transom gave itself, is not what is to be measured."""
    connection = client.Connection()
    if fine:
        connection.data_received(head + b"\r\n{}")
    else:
        with pytest.raises(RuntimeError, match="unexpected answer"):
            connection.data_received(head + b"\r\n{}")
