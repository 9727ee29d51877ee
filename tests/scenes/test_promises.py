"""The promises of the README, each played through a real node with evidence from the socket."""

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from policies import decide as deciding
from policies.decision import Leg
from policies.settings import Envelope, Policies, ToolRule
from proxy.config import Config
from proxy.demo.evidence import framed, results
from proxy.demo.upstream import ScriptedUpstream
from proxy.dialects import ALL
from proxy.outgoing import INLINE
from tests.scenes.bodies import BODIES, PATHS, secret
from tests.scenes.staging import settings, staged, whole

DIALECTS = pytest.mark.parametrize("dialect", PATHS)


def with_secrets(folder: Path) -> Callable[[Config], Config]:
    return lambda config: replace(config, secrets_dir=str(folder))


async def test_clean_body_is_allowed_unchanged() -> None:
    """What no policy touches leaves byte for byte: numbers, escapes, white space, order."""
    body = (
        b'{ "model":"m" ,"messages":[ {"role":"user","content":"\\u0068i \\/ caf\\u00e9"} ],'
        b'"max_tokens":1e1, "x":[-0, 1E400, 123456789012345678901234567890 ], "y":null}\n'
    )
    async with staged() as stage:
        answer = await stage.post("/v1/messages", body)
        assert answer.status == 200
        assert stage.upstream.requests[0].body == body
        assert answer.headers["x-transom-leg"] == "cloud"


@DIALECTS
@pytest.mark.parametrize("stream", [False, True])
async def test_secret_does_not_leave_the_node(dialect: str, stream: bool) -> None:
    """A planted key opens no connection; the refusal is typed, the log has kind and place."""
    body = {**BODIES[dialect](f"KEY={secret()}"), "stream": stream}
    async with staged() as stage:
        answer = await stage.post(PATHS[dialect], body)
        assert (answer.status, answer.headers["x-transom-notice"]) == (400, "egress-blocked")
        assert "x-transom-leg" not in answer.headers
        assert answer.headers["x-should-retry"] == "false"
        assert stage.upstream.accepted == 0
        (line,) = stage.events("egress_blocked")
        assert (line["level"], line["kinds"]) == ("error", ["nostr_key"])
        assert len(line["places"]) == 1
        assert secret() not in stage.log.getvalue() + answer.body.decode()


@DIALECTS
@pytest.mark.parametrize("stream", [True, False])
async def test_no_connection_is_opened_while_the_screen_reads(
    monkeypatch: pytest.MonkeyPatch, dialect: str, stream: bool
) -> None:
    """A slow screen and a fast upstream: the accept count stays 0 until the screen has ended."""
    began, may_end = threading.Event(), threading.Event()
    real = deciding.screen_outbound

    def slow(*args: object, **more: object) -> object:
        began.set()
        assert may_end.wait(10)
        return real(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(deciding, "screen_outbound", slow)
    body = {**BODIES[dialect]("word " * INLINE), "stream": stream}
    async with staged() as stage:
        asking = asyncio.create_task(stage.post(PATHS[dialect], body))
        assert await asyncio.to_thread(began.wait, 10)
        await asyncio.sleep(0.2)
        before = stage.upstream.accepted
        may_end.set()
        assert (await asking).status == 200
        assert (before, stage.upstream.accepted) == (0, 1)


@DIALECTS
async def test_screen_never_runs_on_the_local_leg(dialect: str) -> None:
    """What stays home is framed and not read for secrets: the key reaches the local model."""
    body = BODIES[dialect](f"KEY={secret()}")
    async with staged(leg=Leg.LOCAL) as stage:
        answer = await stage.post(PATHS[dialect], body)
        assert (answer.status, answer.headers["x-transom-leg"]) == (200, "local")
        (result,) = results(stage.upstream.requests[-1].body)
        frame = framed(result)
        assert frame is not None
        assert secret() in result


@DIALECTS
async def test_same_history_gives_the_same_bytes_after_a_restart(
    dialect: str, tmp_path: Path
) -> None:
    """The ledger outlives the process: a resent history reads as it did the first time."""
    url = f"sqlite://{tmp_path}/transom.db"
    async with ScriptedUpstream(lambda recorded: _ok()) as upstream:
        bodies = []
        for after in (False, True, True):
            async with staged(
                change=lambda config: replace(
                    whole(config), state_url=url, upstreams=settings(upstream.url).upstreams
                )
            ) as stage:
                body = BODIES[dialect]("The weather is fine.", after=after)
                assert (await stage.post(PATHS[dialect], body)).status == 200
                bodies.append(upstream.requests[-1].body)
        first, second, third = (results(body)[0] for body in bodies)
        assert framed(first) is not None
        assert first == second
        assert bodies[1] == bodies[2]
        assert third == first


def _ok() -> object:
    from proxy.demo.upstream import Reply

    return Reply.of({"ok": True})


@DIALECTS
async def test_result_that_a_model_has_read_elsewhere_is_adopted(dialect: str) -> None:
    """Unknown to the ledger and followed by an answer without thinking: it is framed at once, told
    once, and from then on it reads the same."""
    body = BODIES[dialect]("The weather is fine.", after=True)
    async with staged(change=whole) as stage:
        answer = await stage.post(PATHS[dialect], body)
        assert answer.headers["x-transom-notice"] == "adopted"
        assert [line["times"] for line in stage.events("notice")] == [1]
        again = await stage.post(PATHS[dialect], body)
        assert "x-transom-notice" not in again.headers
        first, second = (one.body for one in stage.upstream.requests[-2:])
        assert framed(results(first)[0]) is not None
        assert first == second


@DIALECTS
async def test_operator_tools_are_not_framed(dialect: str) -> None:
    """`trust = "operator"` leaves a tool's results as they are."""
    rules = Policies(envelope=Envelope(tools=(ToolRule("read_*", "operator"),)))
    body = BODIES[dialect]("The weather is fine.")
    async with staged(change=lambda config: replace(config, policies=rules)) as stage:
        await stage.post(PATHS[dialect], body)
        assert results(stage.upstream.requests[0].body) == ["The weather is fine."]


@DIALECTS
async def test_what_was_added_after_the_screen_does_not_leave(
    dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A body that is not what was screened is refused as our own bug, with nothing sent."""
    kind = type(ALL[dialect])
    real = kind.render

    def render(self: object, *args: object) -> bytes:
        changed = json.loads(real(self, *args))  # type: ignore[arg-type]
        changed["model"] = "smuggled"
        return json.dumps(changed).encode()

    monkeypatch.setattr(kind, "render", render)
    async with staged() as stage:
        answer = await stage.post(PATHS[dialect], BODIES[dialect]("fine"))
        assert (answer.status, answer.headers["x-transom-notice"]) == (400, "proof-failed")
        assert stage.upstream.accepted == 0


async def test_unreadable_secrets_keep_everything_off_the_cloud(tmp_path: Path) -> None:
    """A secrets directory that was named and is not there: no cloud; home goes on."""
    body = BODIES["anthropic_messages"]("fine")
    change = with_secrets(tmp_path / "missing")
    async with staged(change=change) as stage:
        answer = await stage.post("/v1/messages", body)
        assert answer.headers["x-transom-notice"] == "secrets-unreadable"
        assert stage.upstream.accepted == 0
    async with staged(leg=Leg.LOCAL, change=change) as stage:
        assert (await stage.post("/v1/messages", body)).status == 200


async def test_contents_of_the_secrets_folder_do_not_leave(tmp_path: Path) -> None:
    """Any file there is looked for literally, also when it was written after the start."""
    folder = tmp_path / "secrets"
    folder.mkdir()
    word = "-".join(["violet", "harbour", "1997", "quokka"])
    async with staged(change=with_secrets(folder)) as stage:
        body = BODIES["openai_chat"](f"the pass is {word}.")
        assert (await stage.post("/v1/chat/completions", body)).status == 200
        (folder / "router").write_text(word)
        await asyncio.sleep(2)
        accepted = stage.upstream.accepted
        answer = await stage.post("/v1/chat/completions", body)
        assert answer.headers["x-transom-notice"] == "egress-blocked"
        assert stage.upstream.accepted == accepted
        assert word not in stage.log.getvalue()


async def test_without_a_ledger_the_cloud_is_refused_and_home_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A frame that cannot be remembered would change next turn; at home that costs only a cache."""
    from proxy.state.base import StateError
    from proxy.state.memory import MemoryStore

    async def broken(self: object, *args: object, **how: object) -> object:
        raise StateError("reading")

    monkeypatch.setattr(MemoryStore, "read", broken)
    monkeypatch.setattr(MemoryStore, "claim", broken)
    body = BODIES["anthropic_messages"]("fine")
    async with staged() as stage:
        answer = await stage.post("/v1/messages", body)
        assert (answer.status, answer.headers["x-transom-notice"]) == (503, "state-unavailable")
        assert stage.upstream.accepted == 0
    async with staged(leg=Leg.LOCAL) as stage:
        assert (await stage.post("/v1/messages", body)).status == 200
        assert framed(results(stage.upstream.requests[-1].body)[0]) is not None


async def test_findings_that_are_only_observed_leave_and_are_logged() -> None:
    """`on_hit = "observe"` watches; a screen that fails still keeps everything home."""
    from policies.settings import Egress

    watching = Policies(egress=Egress(on_hit="observe"))
    body = BODIES["anthropic_messages"](f"KEY={secret()}")
    async with staged(change=lambda config: replace(config, policies=watching)) as stage:
        assert (await stage.post("/v1/messages", body)).status == 200
        (line,) = stage.events("egress_observed")
        assert line["kinds"] == ["nostr_key"]


async def test_a_bug_ends_in_an_answer_and_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody foresaw is refused in the caller's dialect; its text is nowhere."""
    from proxy.outgoing import Workshop

    async def fails(*args: object) -> object:
        raise RuntimeError(f"about {secret()}")

    monkeypatch.setattr(Workshop, "prepare", fails)
    async with staged() as stage:
        answer = await stage.post("/v1/messages", BODIES["anthropic_messages"]("fine"))
        assert (answer.status, answer.json()["type"]) == (500, "error")
        assert answer.headers["x-transom-notice"] == "internal-error"
        assert secret() not in stage.log.getvalue() + answer.body.decode()
        assert stage.upstream.accepted == 0
