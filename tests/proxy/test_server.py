"""Listening, reading bodies, draining, settling."""

import asyncio
import gc
import json
import socket

import pytest

from proxy.server import CannotListen, Listener, settle
from tests.proxy.stage import post, stage
from tests.sockets.recording import overheard

__all__ = ["stage"]


async def test_a_body_that_stops_arriving(stage):
    """The idle limit runs between two pieces, and ends in a typed error."""
    stage.idle = 0.2
    client = await (await stage.open()).send(post(b"/v1/messages", b"Content-Length: 10"))
    await client.send(b"ab", b"cd", pause=0.15)
    status, _, body = await client.answer(2)
    assert status == 400
    assert "[body-invalid]" in json.loads(body)["said"]


# Bodies


@pytest.mark.parametrize("size", [0, 1, 999, 1000])
async def test_a_body_within_the_limit(stage, size):
    """Read whole, whether its length is declared or not."""
    plain = post(b"/x", b"Content-Length: %d" % size) + b"x" * size
    chunks = b"".join(b"1\r\nx\r\n" for _ in range(size)) + b"0\r\n\r\n"
    client = await stage.open()
    await client.send(plain, post(b"/x", b"Transfer-Encoding: chunked"), chunks)
    assert (await client.answer())[2] == b"got %d" % size
    assert (await client.answer())[2] == b"got %d" % size


@pytest.mark.parametrize("declared", [True, False])
async def test_a_body_beyond_the_limit(stage, declared):
    """413 as soon as it is known, from the declared length or from what came."""
    client = await stage.open()
    if declared:
        await client.send(post(b"/x", b"Content-Length: 1001"))
    else:
        await client.send(post(b"/x", b"Transfer-Encoding: chunked"), b"3e9\r\n" + b"x" * 1001)
    status, _, body = await client.answer(2)
    assert status == 413
    assert "1000 bytes" in json.loads(body)["said"]


async def test_limits_are_told_in_mebibytes(stage):
    """The words name the limit as the configuration does."""
    stage.limit = 64 * 2**20
    client = await (await stage.open()).send(post(b"/x", b"Content-Length: 99999999"))
    assert "64 MiB" in json.loads((await client.answer())[2])["said"]


async def test_continue_is_said_when_the_body_is_wanted(stage):
    """`100 Continue` comes before the body, and the answer after it is whole."""
    client = await (await stage.open()).send(
        post(b"/x", b"Content-Length: 2", b"Expect: 100-continue")
    )
    assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
    await client.send(b"{}")
    assert (await client.answer())[::2] == (200, b"got 2")


async def test_continue_is_not_said_to_what_is_refused(stage):
    """A body that is too large is not asked for."""
    client = await (await stage.open()).send(
        post(b"/x", b"Content-Length: 2000", b"Expect: 100-continue")
    )
    assert (await client.answer())[0] == 413


async def test_large_bodies_come_whole(stage):
    """Flow control does not lose or stall a body of several megabytes."""
    stage.limit, size = 8 * 2**20, 5 * 2**20
    client = await stage.open()
    await client.send(post(b"/x", b"Content-Length: %d" % size), b"x" * size)
    assert (await client.answer())[2] == b"got %d" % size


# Listening and draining


async def test_the_real_port_is_known_before_anything_is_accepted():
    """Port 0 takes a free one; the address is written as a client needs it."""
    listener = Listener.bind("127.0.0.1", 0)
    assert listener.port > 0
    assert listener.url == f"http://127.0.0.1:{listener.port}"
    await listener.stop(0)


async def test_a_name_with_two_addresses_has_one_port():
    """`localhost` listens on each of its addresses, under the same port."""
    listener = Listener.bind("localhost", 0)
    assert {each.getsockname()[1] for each in listener.sockets} == {listener.port}
    await listener.stop(0)


@pytest.mark.parametrize(("host", "url"), [("::1", "http://[::1]:9"), ("[::1]", "http://[::1]:9")])
def test_ipv6_addresses_are_written_in_brackets(host, url):
    """Both spellings of the configuration give one that a client takes."""
    assert Listener(host, 9, ()).url == url


def test_an_address_that_is_taken():
    """The error names the address and the way out, and leaves no socket behind."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(CannotListen, match=rf"127\.0\.0\.1:{port}: .*in use.*listen\.port"):
            Listener.bind("127.0.0.1", port)


def test_an_address_that_is_none():
    """A host that does not resolve is told as such."""
    with overheard(), pytest.raises(CannotListen, match=r"listen\.host"):
        Listener.bind("no such host.invalid", 0)


async def test_draining_lets_requests_end(stage):
    """New connections are refused, resting ones closed, an upload and an answer end whole."""
    release = asyncio.Event()

    async def slow(request):
        response = await stage.count(request)
        await release.wait()
        return response

    stage.handle = slow
    resting, upload = await stage.open(), await stage.open()
    await upload.send(post(b"/x", b"Content-Length: 4"), b"ab")
    stopping = asyncio.create_task(stage.listener.stop(5))
    assert await resting.closed() == b""
    with pytest.raises(ConnectionError):
        await stage.open()
    await upload.send(b"cd")
    release.set()
    assert (await upload.answer())[2] == b"got 4"
    assert await upload.closed() == b""
    async with asyncio.timeout(1):
        await stopping


@pytest.mark.parametrize("how", ["limit", "signal"])
async def test_draining_ends(stage, how):
    """What has not ended at the limit, or when told so, is cancelled."""
    ended, begun, at_once = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def endless(request):
        try:
            begun.set()
            await asyncio.sleep(60)
        finally:
            ended.set()

    stage.handle = endless
    client = await (await stage.open()).send(post(b"/x"))
    await begun.wait()
    stopping = asyncio.create_task(stage.listener.stop(0.2 if how == "limit" else 60, at_once))
    await asyncio.sleep(0.1)
    assert not ended.is_set()
    if how == "signal":
        at_once.set()
    async with asyncio.timeout(2):
        await stopping
    assert ended.is_set()
    assert await client.closed() == b""


def test_settling_freezes_what_is_there():
    """The collector leaves start-up's objects alone and runs less often."""
    before = gc.get_threshold()
    try:
        settle()
        assert gc.get_freeze_count() > 0
        young, again, everything = gc.get_threshold()
        assert young == 50_000
        assert again < before[1], "so that it is not for long"
        assert (again + 1) * (everything + 1) >= (before[1] + 1) * (before[2] + 1)
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
