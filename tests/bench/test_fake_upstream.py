"""The fake upstream and the client of the bench, against each other: figures are only as good as
these two."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from bench import bodies, client
from bench.upstream import Upstream


@pytest.fixture
async def url() -> AsyncIterator[str]:
    server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def requests(stream: str) -> client.Request:
    body = bodies.history(2_000, stream=bool(stream))[-1]
    return partial(next, bodies.fresh(body, "127.0.0.1", stream))


async def test_paced_streams_have_the_events_and_the_pace_that_were_asked_for(url: str) -> None:
    """Five events at 20 ms: five stamps per stream, none early, and the first byte at once."""
    took = await client.streams(url, requests("5 20"), 3)
    assert len(took.delays) == 15
    assert min(took.delays) >= 0
    assert min(took.whole) >= 0.1
    assert max(took.first) < min(took.after)


@pytest.mark.parametrize("events", [1, 64, 1000])
async def test_bursts_are_whole(url: str, events: int) -> None:
    """Every event arrives, in no time, however they fall into batches."""
    one = await client.streams(url, requests(f"{events} 0"), 1)
    two = await client.streams(url, requests(f"{2 * events} 0"), 1)
    each, rest = divmod(two.heard - one.heard, events)
    assert (each > 150, rest, one.delays) == (True, 0, [])


async def test_the_first_byte_comes_before_the_last(url: str) -> None:
    """Of a stream it is the head, not the end; of a whole answer both are one."""
    (first, *_) = await client.first_bytes(url, requests("4 20"), 0, 2)
    (whole, *_) = await client.latencies(url, requests("4 20"), 0, 2)
    assert first < 0.04 < 0.08 <= whole


async def test_whole_answers_are_counted(url: str) -> None:
    """As many as are answered, over connections that are kept."""
    answered, seconds = await client.load(url, requests(""), 0.05, 2)
    assert answered > 2
    assert seconds >= 0.05
