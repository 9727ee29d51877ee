"""`transom explain`: what would leave, told without sending anything."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from policies.decision import Leg
from policies.settings import Envelope, Limits, Policies
from proxy.config import Fallback, UpstreamSettings
from proxy.demo.evidence import results
from proxy.demo.upstream import ScriptedUpstream
from proxy.explain import explain
from tests.scenes.bodies import BODIES, PATHS, secret
from tests.scenes.staging import echo, settings, staged

Tell = Callable[..., dict[str, Any]]
ZEROES = "0" * 32
DIALECTS = pytest.mark.parametrize("dialect", PATHS)


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Tell:
    def tell(path: str, body: object, code: int = 0, **changes: Any) -> dict[str, Any]:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        config = changes.pop("config", settings("http://127.0.0.1:1"))
        assert explain(config, path=path, upstream=None, body=raw, as_json=True) == code
        told: dict[str, Any] = json.loads(capsys.readouterr().out)
        return told

    return tell


@DIALECTS
def test_the_body_is_what_would_leave_with_zeroes_for_nonces(tell: Tell, dialect: str) -> None:
    """Allowed: leg, verdict, the framed body; nothing was drawn for good."""
    told = tell(PATHS[dialect], BODIES[dialect]("The weather is fine."))
    assert (told["leg"], told["verdict"], told["notice"]) == ("cloud", "allow", None)
    (result,) = results(json.dumps(told["body"]).encode())
    assert result.count(f"nonce={ZEROES}") == 2
    assert "The weather is fine." in result
    assert told["frames"] == 1


def test_a_body_that_nothing_touches_stands_there_byte_for_byte(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Numbers and escapes of the client survive in the JSON that is printed."""
    body = b'{"model":"m","messages":[{"role":"user","content":"\\u0068i"}],"x":[1E400,-0]}'
    config = settings("http://127.0.0.1:1")
    assert explain(config, path="/v1/messages", upstream=None, body=body, as_json=True) == 0
    assert body.decode() in capsys.readouterr().out


@DIALECTS
def test_hidden_characters_are_told_and_change_nothing(
    tell: Tell, dialect: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kind and place of what nobody sees; the text would leave as it came."""
    text = "fine\U000e0041 \u200bweather"
    told = tell(PATHS[dialect], BODIES[dialect](text))
    assert [each["kind"] for each in told["noted"]] == ["tag", "invisible"]
    assert (told["verdict"], told["notice"], told["findings"]) == ("allow", None, [])
    assert text in results(json.dumps(told["body"]).encode())[0]
    raw = json.dumps(BODIES[dialect](text)).encode()
    config = settings("http://127.0.0.1:1")
    explain(config, path=PATHS[dialect], upstream=None, body=raw, as_json=False)
    assert f"noted    tag at {told['noted'][0]['place']}\n" in capsys.readouterr().out


@DIALECTS
def test_a_blocked_body_is_not_told(tell: Tell, dialect: str) -> None:
    """Blocked: exit 1, kinds and places, no body."""
    told = tell(PATHS[dialect], BODIES[dialect](secret()), code=1)
    assert (told["verdict"], told["notice"]) == ("block", "egress-blocked")
    assert told["findings"][0]["kind"] == "nostr_key"
    assert "body" not in told


@DIALECTS
def test_what_home_would_answer_is_said(
    tell: Tell, dialect: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Instead of a cloud where something must not leave, or before it where it is asked first."""
    cloud = settings("http://127.0.0.1:1")
    home = UpstreamSettings("den", Leg.LOCAL, "http://127.0.0.1:1", ("ollama",), "none", None, "m")
    config = replace(cloud, upstreams=(*cloud.upstreams, home), fallback=Fallback("den"))
    path, blocked, fine = PATHS[dialect], BODIES[dialect](secret()), BODIES[dialect]("fine")
    told = tell(path, blocked, code=1, config=config)
    assert told["home"] == {"upstream": "den", "asked": "instead"}
    assert tell(path, blocked, code=1)["home"] is None
    assert tell(path, fine, config=config)["home"] is None
    config = replace(config, fallback=Fallback("den", "local"))
    assert tell(path, fine, config=config)["home"] == {"upstream": "den", "asked": "first"}
    raw = json.dumps(blocked).encode()
    explain(config, path=path, upstream="only", body=raw, as_json=False)
    assert "\nhome     den answers instead" in capsys.readouterr().out
    explain(config, path=path, upstream=None, body=raw, as_json=False)
    assert "\nhome     den is asked before the cloud\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "body", "notice"),
    [
        ("/v1/nothing", {}, "unknown-endpoint"),
        ("/v1/messages/batches", {}, "endpoint-refused"),
        ("/v1/messages", b'{"a":1,"a":2}', "body-invalid"),
        ("/v1/messages", b"[]", "body-invalid"),
    ],
)
def test_what_is_refused_for_other_reasons(
    tell: Tell, path: str, body: object, notice: str
) -> None:
    """A request that is no good has its notice, and no leg where none was chosen."""
    told = tell(path, body, code=1)
    assert (told["verdict"], told["notice"]) == ("refuse", notice)


def test_what_stays_home_is_said_so(tell: Tell) -> None:
    """A local leg: nothing leaves, so no body."""
    config = settings("http://127.0.0.1:1", Leg.LOCAL)
    told = tell("/api/chat", BODIES["ollama_chat"](secret()), config=config)
    assert (told["leg"], told["verdict"], "body" in told) == ("local", "local", False)


def test_the_view_is_told_where_nothing_would_be_looked_at(tell: Tell) -> None:
    """A plain relay to a local model: the view is there to be read, and no reason to refuse."""
    off = Policies(Envelope(enabled=False), limits=Limits(enabled=False))
    relay = settings("http://127.0.0.1:1", Leg.LOCAL, policies=off)
    told = tell("/api/chat", BODIES["ollama_chat"]("fine"), config=relay)
    assert (told["verdict"], told["frames"]) == ("local", 0)
    assert [unit["source"] for unit in told["view"]["units"]] == ["tool:read_file"]
    unread = tell("/api/chat", b'{"model":"m","messages":[{"a":{"b":1,"b":2}}]}', config=relay)
    assert (unread["verdict"], unread["view"]) == ("local", {})


async def test_remembered_nonces_are_told_as_they_would_leave(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a node's state at hand, a known result has the frame that the upstream has seen."""
    import asyncio
    from dataclasses import replace

    url = f"sqlite://{tmp_path}/transom.db"
    body = BODIES["anthropic_messages"]("The weather is fine.")
    async with ScriptedUpstream(echo) as vendor:
        config = replace(settings(vendor.url), state_url=url)
        async with staged(change=lambda _: config) as stage:
            await stage.post("/v1/messages", body)
        sent = vendor.requests[0].body
        before = sorted(tmp_path.iterdir())

        def ask() -> int:
            raw = json.dumps(body).encode()
            return explain(config, path="/v1/messages", upstream="only", body=raw, as_json=True)

        assert await asyncio.to_thread(ask) == 0
        assert json.loads(capsys.readouterr().out)["body"] == json.loads(sent)
        assert sorted(tmp_path.iterdir()) == before


def test_it_reads_well_without_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines for reading: leg, verdict, what was found, the view without a word of the text."""
    config = settings("http://127.0.0.1:1")
    raw = json.dumps(BODIES["openai_chat"](secret())).encode()
    code = explain(config, path="/v1/chat/completions", upstream=None, body=raw, as_json=False)
    told = capsys.readouterr().out
    assert code == 1
    assert "verdict  block" in told
    assert "found    nostr_key at messages[2].content" in told
    assert "source tool:read_file" in told
    assert secret() not in told


def test_what_changes_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Frames and the placed text as a difference; nothing where a body leaves as it came."""
    config = settings("http://127.0.0.1:1")

    def told(body: dict[str, Any]) -> str:
        raw = json.dumps(body).encode()
        assert explain(config, path="/v1/messages", upstream=None, body=raw, as_json=False) == 0
        return capsys.readouterr().out

    lines = told(BODIES["anthropic_messages"]("one\ntwo")).partition("changes")[2].splitlines()
    added = [line[1:].strip() for line in lines if line.startswith("+")]
    assert f"| [[TRANSOM_DATA nonce={'0' * 32} field=read_file]]" in added
    assert f"| [[END_TRANSOM_DATA nonce={'0' * 32}]]" in added
    assert "  | one" in {line[-7:] for line in lines if line.startswith(" ")}
    assert "changes  none" in told({"model": "m", "messages": [{"role": "user", "content": "hi"}]})


def test_an_upstream_that_is_not_there_is_a_usage_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit 2, with the names that there are."""
    config = settings("http://127.0.0.1:1")
    assert explain(config, path="/v1/messages", upstream="x", body=b"{}", as_json=True) == 2
    assert "one of only" in capsys.readouterr().err
