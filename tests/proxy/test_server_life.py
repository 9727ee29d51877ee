"""From start to stop: announcing, reloading, draining, by signals."""

import asyncio
import errno
import io
import signal
import subprocess
import sys
import textwrap
import time
import urllib.request

import pytest
from aiohttp import web

from proxy.server import Listener, run


def never(refused, dialect):
    raise AssertionError(f"{refused.code} in {dialect}")


class Life:
    """`run` in this process, with a handler that waits for `release`."""

    def __init__(self, drain: float, words: io.StringIO | None = None) -> None:
        self.words, self.drain = words or io.StringIO(), drain
        self.release, self.begun = asyncio.Event(), asyncio.Event()
        self.reloads = 0
        self.listeners = [Listener.bind("127.0.0.1", 0), Listener.bind("127.0.0.1", 0)]

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.begun.set()
        await self.release.wait()
        return web.Response(text="done")

    async def reload(self) -> None:
        self.reloads += 1

    async def live(self) -> None:
        for listener in self.listeners:
            await listener.start(self.handle, dress=never)
        await run(self.listeners, reload=self.reload, drain=self.drain, words=self.words)

    async def begin(self) -> "asyncio.Task[None]":
        task = asyncio.create_task(self.live())
        while self.words.getvalue().count("\n") < 2:
            await asyncio.sleep(0.01)
        return task

    async def ask(self) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.listeners[1].port)
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        answer = await reader.read()
        writer.close()
        return answer


async def test_announces_each_listener():
    """One plain line each, with the real port, once it accepts."""
    life = Life(5)
    task = await life.begin()
    expected = "".join(f"listening http://127.0.0.1:{each.port}\n" for each in life.listeners)
    assert life.words.getvalue() == expected
    signal.raise_signal(signal.SIGTERM)
    async with asyncio.timeout(2):
        await task
    assert life.words.getvalue() == expected  # nothing was in flight


async def test_hangup_reloads_and_serves_on():
    """SIGHUP calls back, as often as it comes, and ends nothing."""
    life = Life(5)
    life.release.set()
    task = await life.begin()
    for times in (1, 2):
        signal.raise_signal(signal.SIGHUP)
        await asyncio.sleep(0.05)
        assert life.reloads == times
    signal.raise_signal(signal.SIGINT)
    async with asyncio.timeout(2):
        await task


async def test_term_lets_requests_in_flight_end():
    """What is in flight gets its answer, and it is said that it is waited for; then it is over."""
    life = Life(5)
    task = await life.begin()
    asking = asyncio.create_task(life.ask())
    await life.begun.wait()
    signal.raise_signal(signal.SIGTERM)
    async with asyncio.timeout(2):
        while "ending: requests in flight go on, for at most 5 sec" not in life.words.getvalue():
            await asyncio.sleep(0.01)
    assert not task.done()
    life.release.set()
    assert (await asking).endswith(b"done")
    async with asyncio.timeout(1):
        await task


class Gone(io.StringIO):
    """Takes the words for who begins, and then fails like a pipe that nobody reads."""

    def flush(self) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


async def test_draining_needs_nobody_who_reads_along():
    """`serve 2>&1 | tee`, interrupted: the pipe is gone first, and what is in flight ends well."""
    life = Life(60, Gone())
    task = await life.begin()
    asking = asyncio.create_task(life.ask())
    await life.begun.wait()
    signal.raise_signal(signal.SIGTERM)
    async with asyncio.timeout(3):
        while "ending: " not in life.words.getvalue():
            await asyncio.sleep(0.01)
    life.release.set()
    assert (await asking).endswith(b"done")
    async with asyncio.timeout(2):
        await task


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_ends_at_once(second):
    """Whoever insists is not made to wait."""
    life = Life(60)
    task = await life.begin()
    asking = asyncio.create_task(life.ask())
    await life.begun.wait()
    signal.raise_signal(signal.SIGTERM)
    await asyncio.sleep(0.1)
    signal.raise_signal(second)
    async with asyncio.timeout(2):
        await task
    assert await asking == b""


NODE = """
    import asyncio, sys
    from aiohttp import web
    from proxy.server import Listener, run

    async def handle(request):
        return web.Response(text="here")

    async def reload():
        print("reloaded", file=sys.stderr, flush=True)

    async def main():
        listener = Listener.bind("127.0.0.1", 0)
        await listener.start(handle, dress=lambda refused, dialect: web.Response(status=400))
        await run([listener], reload=reload)

    asyncio.run(main())
"""


def test_a_process_of_its_own():
    """Line on stderr, answer, SIGHUP, SIGTERM, exit 0."""
    started = [sys.executable, "-c", textwrap.dedent(NODE)]
    with subprocess.Popen(started, stderr=subprocess.PIPE, text=True) as node:
        try:
            word, url = node.stderr.readline().split()
            assert word == "listening"
            with urllib.request.urlopen(url, timeout=5) as answer:
                assert answer.read() == b"here"
            node.send_signal(signal.SIGHUP)
            assert node.stderr.readline() == "reloaded\n"
            node.send_signal(signal.SIGTERM)
            begun = time.monotonic()
            assert node.wait(timeout=5) == 0
            assert time.monotonic() - begun < 3
            assert node.stderr.read() == ""
        finally:
            node.kill()
