"""Small scenes for lines of defence that no other test holds on its own.

Where something must not leave, the evidence is what arrived at the upstream's socket.
"""

import asyncio
import gzip
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from policies.conversation import Conversation, Unit
from policies.decision import Leg
from policies.screening import Screen
from policies.settings import Minimality
from proxy import outgoing
from proxy.config import ClientSettings, Config, UpstreamSettings, shapes
from proxy.demo.evidence import framed, results
from proxy.demo.upstream import Recorded, Reply, ScriptedUpstream
from proxy.dialects import ALL, framing
from proxy.errors import Refused
from proxy.identity import unit_ids
from proxy.lazyjson import Malformed, read
from proxy.secrets_dir import SecretsDir
from tests.scenes.bodies import BODIES, PATHS, secret
from tests.scenes.staging import Stage, echo, staged

TOKEN = "-".join(["a", "token", "of", "a", "client"])


async def a_screen_that_fails_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong while reading: no connection."""

    def fails(self: Screen, *strands: object) -> object:
        raise MemoryError

    monkeypatch.setattr(Screen, "findings", fails)
    monkeypatch.setattr(Screen, "suspects", fails)
    async with staged() as stage:
        answer = await stage.post("/v1/messages", BODIES["anthropic_messages"]("fine"))
        assert stage.upstream.accepted == 0
        assert answer.headers["x-transom-notice"] == "egress-ambiguous"


def nonces_are_drawn_anew() -> None:
    """The source of nonces gives no value twice, in the shape that a marker needs."""
    drawn = {outgoing.draw() for _ in range(20)}
    assert len(drawn) == 20
    assert all(len(nonce) == 32 and nonce == nonce.lower() for nonce in drawn)


async def every_message_arrives_under_a_nonce_of_its_own() -> None:
    """Two results in two messages, two requests: all marks that arrive differ."""
    async with staged(leg=Leg.LOCAL) as stage:
        seen = []
        for text in ("one", "two", "three"):
            await stage.post("/v1/messages", BODIES["anthropic_messages"](text))
            frame = framed(results(stage.upstream.requests[-1].body)[0])
            assert frame is not None
            seen.append(frame.nonce)
        assert len(set(seen)) == 3


def _bare(stage: pytest.MonkeyPatch) -> None:
    stage.setattr(framing, "wrap_untrusted", lambda label, text, **how: text)


def _render(change: Callable[[Any], object]) -> Callable[[pytest.MonkeyPatch], None]:
    def tamper(monkeypatch: pytest.MonkeyPatch) -> None:
        kind = type(ALL["anthropic_messages"])
        real = kind.render

        def render(self: object, *rest: object) -> bytes:
            body = json.loads(real(self, *rest))  # type: ignore[arg-type]
            change(body)
            return json.dumps(body).encode()

        monkeypatch.setattr(kind, "render", render)

    return tamper


TAMPERING = {
    "frame not drawn": _bare,
    "string added after the screen": _render(
        lambda body: body["messages"].append({"role": "user", "content": secret()})
    ),
    "edit outside the plan": _render(lambda body: body.update(max_tokens=10)),
    "message dropped": _render(lambda body: body["messages"].pop(0)),
}


@pytest.mark.parametrize("tampering", TAMPERING)
async def what_was_not_decided_does_not_leave(
    tampering: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body that is not what was screened and planned opens no connection."""
    TAMPERING[tampering](monkeypatch)
    async with staged() as stage:
        answer = await stage.post("/v1/messages", BODIES["anthropic_messages"]("fine"))
        assert stage.upstream.accepted == 0
        assert answer.headers["x-transom-notice"] == "proof-failed"


async def what_a_cut_takes_out_does_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    """A body from which nothing was taken, though it was planned, opens no connection."""
    monkeypatch.setattr(framing, "taken_out", lambda *rest: ())

    def strict(config: Config) -> Config:
        return replace(config, policies=replace(config.policies, minimality=Minimality("strict")))

    async with staged(change=strict) as stage:
        body = BODIES["anthropic_messages"]("an old finding", after=True)
        answer = await stage.post("/v1/messages", body)
        assert b"an old finding" not in b"".join(stage.upstream.received)
        assert answer.headers["x-transom-notice"] == "proof-failed"


@pytest.mark.parametrize("dialect", PATHS)
async def a_secret_arrives_nowhere(dialect: str) -> None:
    """A key in a tool result: no connection, and not a byte of it at the socket."""
    async with staged() as stage:
        await stage.post(PATHS[dialect], BODIES[dialect](f"KEY={secret()}"))
        assert secret().encode() not in b"".join(stage.upstream.received)
        assert stage.upstream.accepted == 0


@pytest.mark.parametrize("leg", list(Leg))
async def a_redirect_leads_nowhere(leg: Leg) -> None:
    """Wherever an upstream points, nobody there is contacted."""
    async with ScriptedUpstream(echo) as other:
        away = Reply(307, (("Location", f"{other.url}/v1/messages"),))
        async with staged(lambda request: away, leg) as stage:
            await stage.post("/v1/messages", BODIES["anthropic_messages"]("fine"))
            assert stage.upstream.accepted
        assert other.accepted == 0


async def a_coded_body_arrives_decoded() -> None:
    """What is sent is what was read: no coding, the same bytes."""
    body = json.dumps(BODIES["openai_chat"]("fine")).encode()
    async with staged() as stage:
        await stage.post("/v1/chat/completions", gzip.compress(body), {"content-encoding": "gzip"})
        assert [request.json()["model"] for request in _readable(stage)] == ["some-model"]
        assert not stage.upstream.requests[0].header("content-encoding")


def _readable(stage: Stage) -> list[Recorded]:
    return [request for request in stage.upstream.requests if request.body[:1] == b"{"]


def _guarded(config: Config) -> Config:
    client = ClientSettings("laptop", hashlib.sha256(TOKEN.encode()).hexdigest())
    keyed = UpstreamSettings("keyed", Leg.CLOUD, "http://127.0.0.1:1", (), "key", "x-" * 9)
    return replace(config, clients=(client,), upstreams=(*config.upstreams, keyed))


@pytest.mark.parametrize("shown", ["x-transom-token", "authorization", "x-api-key", "path"])
async def a_client_token_stays_here(shown: str) -> None:
    """However a client shows its token, no byte of it arrives upstream."""
    headers = {} if shown == "path" else {shown: TOKEN}
    if shown == "authorization":
        headers = {shown: f"Bearer {TOKEN}"}
    path = f"/t/{TOKEN}/v1/messages" if shown == "path" else "/v1/messages"
    async with staged(change=_guarded) as stage:
        answer = await stage.post(path, BODIES["anthropic_messages"]("fine"), headers)
        assert answer.status == 200
        assert stage.upstream.accepted == 1
        assert TOKEN.encode() not in b"".join(stage.upstream.received)


@pytest.mark.parametrize("leg", list(Leg))
async def our_own_headers_stay_here(leg: Leg) -> None:
    """Names that are the node's alone arrive at no upstream."""
    async with staged(leg=leg) as stage:
        head = {"x-transom-leg": "cloud", "X-Transom-Anything": "1", "x-kept": "1"}
        await stage.post("/v1/messages", BODIES["anthropic_messages"]("fine"), head)
        arrived = b"".join(stage.upstream.received).lower()
        assert b"x-kept" in arrived
        assert b"x-transom" not in arrived


@pytest.mark.parametrize("name", ["authorization", "x-api-key"])
async def a_local_model_gets_no_credential(name: str) -> None:
    """The caller's key is for a vendor: not a byte of it arrives at home."""
    async with staged(leg=Leg.LOCAL) as stage:
        value = "the-key-of-the-caller"
        answer = await stage.post(
            "/v1/messages", BODIES["anthropic_messages"]("fine"), {name: value}
        )
        assert answer.status == 200
        assert value.encode() not in b"".join(stage.upstream.received)


async def a_foreign_host_reaches_nothing() -> None:
    """A page that has made its own name resolve to this address gets no further."""
    async with staged() as stage:
        for head in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
            answer = await stage.post("/v1/messages", BODIES["anthropic_messages"]("fine"), head)
            assert stage.upstream.accepted == 0, head
            assert answer.headers["x-transom-notice"] == "door-refused"


def identities_do_not_run_together() -> None:
    """Characters that move from one field to the next make another unit."""

    def name(*, call: str, tool: str) -> bytes:
        unit = Unit(("messages", 0), "text", f"tool:{tool}", tool, call)
        view = Conversation("d", "m", False, (), (), 0, (unit,), (), ())
        return unit_ids(bytes(32), "", view, [0])[0]

    # Between call and tool stands the number of the part, "0".
    assert name(call="x", tool="0a") != name(call="x0", tool="a")


def no_other_letters_pass_at_a_glance() -> None:
    """Of a body that is hardly opened, too, no known member may come in other letters."""
    with pytest.raises(Malformed):
        ALL["openai_chat"].glance(read(b'{"model": "m", "Messages": []}'))


def a_secret_in_the_configuration_is_not_repeated() -> None:
    """Where a place is expected and the secret itself stands, it is neither taken nor shown."""
    with pytest.raises(ValueError, match="must not stand here") as refused:
        shapes.secret().read(TOKEN)
    assert TOKEN not in str(refused.value)


async def a_dead_follower_leaves_no_screen(tmp_path: Path) -> None:
    """Whatever ended it, an old corpus is not taken for the present one."""
    built = []

    def build(files: object) -> Screen:
        built.append(files)
        if len(built) > 1:
            raise RuntimeError
        return Screen.build()

    followed = SecretsDir(str(tmp_path), interval=0.01, build=build)
    await followed.start()
    assert followed.current() is not None
    (tmp_path / "new").write_text("a value of some length")
    await _until(lambda: len(built) > 1)
    await asyncio.sleep(0.05)
    with pytest.raises(Refused, match="secrets-unreadable"):
        followed.current()
    await followed.close()


async def a_folder_that_vanished_leaves_no_screen(tmp_path: Path) -> None:
    """What was read before counts no more once it cannot be read again."""
    folder = tmp_path / "secrets"
    folder.mkdir()
    followed = SecretsDir(str(folder), interval=0.01)
    await followed.start()
    assert followed.current() is not None
    folder.rmdir()
    await asyncio.sleep(0.1)
    with pytest.raises(Refused, match="secrets-unreadable"):
        followed.current()
    await followed.close()


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not true():
            await asyncio.sleep(0.01)
