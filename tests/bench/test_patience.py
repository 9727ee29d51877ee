"""A client of the benches that is told to stop does, whatever comes at the same moment."""

import asyncio
from unittest.mock import create_autospec

import pytest

from bench.client import Connection


async def test_cancelled_while_the_answer_comes() -> None:
    """Who asks over and over would go on for ever if an answer outweighed the end of its task."""
    connection = Connection()
    connection.connection_made(create_autospec(asyncio.Transport, instance=True))
    asking = asyncio.ensure_future(connection.ask([b"GET / HTTP/1.1\r\n\r\n"]))
    await asyncio.sleep(0)
    connection.data_received(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_waits_for_all_of_an_answer() -> None:
    """An answer that comes in two pieces is waited for, and counted whole."""
    connection = Connection()
    connection.connection_made(create_autospec(asyncio.Transport, instance=True))
    asking = asyncio.ensure_future(connection.ask([b"GET / HTTP/1.1\r\n\r\n"]))
    await asyncio.sleep(0)
    connection.data_received(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na")
    await asyncio.sleep(0)
    assert not asking.done()
    connection.data_received(b"b")
    assert await asking >= 0
    assert connection.heard == 40
