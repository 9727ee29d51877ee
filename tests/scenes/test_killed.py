"""A node that is killed between what it remembers and what it sends: nothing of it is forgotten."""

import asyncio
import contextlib
import http.client
import os
import re
import signal
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from proxy.demo.files import nsec
from proxy.demo.upstream import ScriptedUpstream
from tests.scenes.bodies import BODIES, PATHS
from tests.scenes.hearth import MODEL, ollama, words
from tests.scenes.nodes import Served, served
from tests.scenes.staging import echo

SESSION = {"x-claude-code-session-id": "one"}
NONCE = re.compile(rb"\[\[TRANSOM_DATA nonce=([0-9a-f]{32}) ")
CLIENT_HELLO = 0x16


@dataclass
class Gate:
    """A server that takes a connection and says nothing. As it is asked for TLS, no byte of a
    request is written to it: who has come so far is about to send."""

    url: str = ""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    received: bytearray = field(default_factory=bytearray)

    async def taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until its other end is gone."""
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                self.received += data
                self.reached.set()
        writer.close()


@contextlib.asynccontextmanager
async def gate() -> AsyncIterator[Gate]:
    one = Gate()
    async with await asyncio.start_server(one.taken, "127.0.0.1", 0) as server:
        one.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield one


def config(cloud: str, home: str) -> str:
    return (
        f'[fallback]\nupstream = "home"\n'
        f'[[upstream]]\nname = "away"\nleg = "cloud"\nbase_url = "{cloud}"\n'
        'dialects = ["anthropic", "openai", "ollama"]\nauth = "caller"\n'
        f'[[upstream]]\nname = "home"\nleg = "local"\nbase_url = "{home}"\n'
        f'dialects = ["ollama"]\nmodel = "{MODEL}"\nauth = "none"\n'
    )


async def killed(node: Served, at: Gate, path: str, body: dict[str, Any]) -> None:
    """Ask, and kill the node as it is about to send."""
    asking = asyncio.create_task(asyncio.to_thread(node.post, path, body, SESSION))
    await asyncio.wait_for(at.reached.wait(), 20)
    os.kill(node.process.pid, signal.SIGKILL)
    with pytest.raises((OSError, http.client.HTTPException)):
        await asking
    assert at.received[0] == CLIENT_HELLO
    assert b"POST" not in at.received


def column(home: Path, query: str) -> list[Any]:
    """What stands in the state that the node has left behind."""
    (file,) = home.rglob("transom.db")
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return [row[0] for row in connection.execute(query)]


@pytest.mark.parametrize("dialect", PATHS)
async def test_a_frame_that_was_claimed_is_the_one_that_is_sent(
    dialect: str, tmp_path: Path
) -> None:
    """Killed before the first byte of the request left; the next start frames it with the very
    nonce that was written down, and so does every later turn."""
    async with gate() as stuck, ScriptedUpstream(echo) as cloud:
        body = BODIES[dialect]("nothing special")
        with served(tmp_path, config(stuck.url, stuck.url), ends=-signal.SIGKILL) as node:
            await killed(node, stuck, PATHS[dialect], body)
        (nonce,) = column(tmp_path, "SELECT nonce FROM frames")
        with served(tmp_path, config(cloud.url, stuck.url)) as node:
            for after in (False, True):
                asked = BODIES[dialect]("nothing special", after=after)
                status, headers, _ = await asyncio.to_thread(
                    node.post, PATHS[dialect], asked, SESSION
                )
                assert (status, headers["x-transom-leg"]) == (200, "cloud")
        sent = NONCE.findall(cloud.requests[0].body)
    assert {each.decode() for each in sent} == {nonce.hex()}


async def test_what_was_about_to_go_home_stays_home(tmp_path: Path) -> None:
    """Killed before home was asked anything; that this session stays is known all the same, to the
    next node, whatever of it is shown."""
    async with (
        gate() as stuck,
        ScriptedUpstream(echo) as cloud,
        ScriptedUpstream(ollama(words())) as home,
    ):
        blocked = BODIES["anthropic_messages"](f"key = {nsec()}")
        with served(tmp_path, config(cloud.url, stuck.url), ends=-signal.SIGKILL) as node:
            await killed(node, stuck, "/v1/messages", blocked)
        assert cloud.accepted == 0
        assert column(tmp_path, "SELECT digest FROM home")
        another = {**blocked, "messages": [{"role": "user", "content": "Something else."}]}
        with served(tmp_path, config(cloud.url, home.url)) as node:
            for body, notice in ((another, "home-only"), (blocked, "egress-blocked")):
                status, headers, _ = await asyncio.to_thread(
                    node.post, "/v1/messages", body, SESSION
                )
                assert (status, headers["x-transom-leg"]) == (200, "local")
                assert headers["x-transom-notice"] in (notice, "home-only")
        assert cloud.accepted == 0
