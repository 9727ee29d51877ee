"""Parts joined: what a reload exchanges, and what requests in flight keep."""

import asyncio
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from policies.settings import Envelope, Policies
from proxy.app import running
from proxy.config import ClientSettings, Config, Timeouts
from proxy.demo.evidence import framed, results
from proxy.demo.upstream import Recorded, Reply, ScriptedUpstream
from proxy.server import CannotListen
from proxy.state import StateRefused
from tests.scenes.bodies import BODIES
from tests.scenes.staging import echo, settings, staged

BODY = BODIES["anthropic_messages"]("The weather is fine.")


async def test_a_request_in_flight_keeps_the_settings_it_began_with() -> None:
    """A reload that asks for client tokens and another upstream holds from the next request on."""
    gate, came = asyncio.Event(), asyncio.Event()

    def slow(recorded: Recorded) -> Reply:
        came.set()
        return Reply(headers=(("content-type", "application/json"),), chunks=(b"{", gate, b"}"))

    async with staged(slow) as stage, ScriptedUpstream(echo) as other:
        asking = asyncio.create_task(stage.post("/v1/messages", BODY))
        await came.wait()
        client = ClientSettings("laptop", "00" * 32)
        waiting = await stage.node.reload(replace(settings(other.url), clients=(client,)))
        assert waiting == ()
        assert (await stage.post("/v1/messages", BODY)).status == 401
        gate.set()
        assert (await asking).body == b"{}"
        assert other.accepted == 0


async def test_a_reload_exchanges_policies_and_names_what_waits_for_a_restart() -> None:
    """Frames off holds at once; another port and state do not, and that is told until the file says
    again what the node began with."""
    async with staged() as stage:
        config = stage.node.config
        off = replace(
            config,
            policies=Policies(envelope=Envelope(enabled=False)),
            listen=replace(config.listen, port=1, host="localhost"),
            state_url="sqlite:///nowhere",
            timeouts=Timeouts(first_byte=1.0),
        )
        waiting = await stage.node.reload(off)
        assert waiting == ("listen.host", "listen.port", "state.url")
        assert await stage.node.reload(replace(off, state_url=config.state_url)) == waiting[:2]
        await stage.post("/v1/messages", BODY)
        assert results(stage.upstream.requests[0].body) == ["The weather is fine."]
        assert framed("The weather is fine.") is None


async def test_what_is_no_request_is_answered_in_the_callers_dialect() -> None:
    """The door's own protocol errors are dressed and logged; nothing goes upstream."""
    async with staged() as stage:
        answer = await stage.talk(b"POST /v1/messages HTTP/1.1\r\nbad header\r\n\r\n")
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.0 400 "))
        assert b'"type":"error"' in answer
        assert [line["notice"] for line in stage.events("notice")] == ["door-refused"]
        assert stage.upstream.accepted == 0


async def test_a_start_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    """A busy port or an unusable state: a typed error, and the port is free again."""
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        taken = Config(listen=replace(Config().listen, port=port))
        with pytest.raises(CannotListen):
            async with running(taken):
                pass
    unusable = replace(taken, state_url=f"sqlite://{tmp_path}")
    with pytest.raises(StateRefused):
        async with running(unusable):
            pass
    async with running(taken) as node:
        assert node.url == f"http://127.0.0.1:{port}"
