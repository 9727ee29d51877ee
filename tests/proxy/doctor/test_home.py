"""A local model counts only if it is there and runs there."""

from dataclasses import replace
from typing import Any

import pytest

from policies.decision import Leg
from proxy.config import Config, UpstreamSettings
from proxy.demo.upstream import Fault, Recorded, Reply, Script, ScriptedUpstream
from proxy.doctor.home import Home, examine


def ollama(*names: str, remote: tuple[str, ...] = ()) -> Script:
    """A server with these models; those in `remote` run on another host."""

    def script(request: Recorded) -> Reply:
        if request.path == "/api/tags":
            return Reply.of({"models": [{"name": name} for name in (*names, *remote)]})
        assert request.path == "/api/show", "no model is run"
        name = str(request.json()["model"])
        if name not in (*names, *remote):
            return Reply.of({"error": "model not found"}, 404)
        far = {"remote_host": "https://ollama.com"} if name in remote else {}
        return Reply.of({"details": {}, **far})

    return script


async def found(script: Script, **changes: Any) -> Home:
    async with ScriptedUpstream(script) as server:
        upstream = replace(
            UpstreamSettings("home", Leg.LOCAL, server.url, ("ollama",), "none"), **changes
        )
        (home,) = await examine(Config(upstreams=(upstream,)))
    return home


async def test_a_model_that_runs_here() -> None:
    """It is named, and can be used for a try."""
    home = await found(ollama("qwen3:8b"))
    assert (home.check.name, home.check.state) == ("home home", "fine")
    assert home.check.says == "qwen3:8b is there and runs here"
    assert (home.upstream, home.model) == ("home", "qwen3:8b")


async def test_a_model_of_the_cloud_does_not_count() -> None:
    """Neither by its name nor by the host that it names; the next one does."""
    home = await found(ollama("big:cloud", "other:120b-cloud", "small:1b", remote=("far:1b",)))
    assert home.model == "small:1b"
    home = await found(ollama("big:cloud", remote=("far:1b",)))
    assert (home.check.state, home.model) == ("wrong", "")
    assert home.check.says == "has no model that runs here; run: ollama pull NAME"


async def test_the_model_of_the_configuration_must_be_there() -> None:
    """Not just any; Ollama's own tag may be left out."""
    home = await found(ollama("other:1b"), model="qwen3:8b")
    assert home.check.says == "qwen3:8b is not there; run: ollama pull qwen3:8b"
    home = await found(ollama("qwen3:8b", "other:1b"), model="qwen3:8b")
    assert (home.check.state, home.model) == ("fine", "qwen3:8b")


async def test_the_model_of_the_configuration_must_run_here() -> None:
    """What is called local and is not is the worst of all."""
    home = await found(ollama(remote=("far:1b",)), model="far:1b")
    assert (home.check.state, home.model) == ("wrong", "")
    assert home.check.says == "far:1b: this model runs on a remote host"


def listed_and_unknown(request: Recorded) -> Reply:
    if request.path == "/api/tags":
        return Reply.of({"models": [{"name": "m:latest"}]})
    return Reply.of({"error": "model not found"}, 404)


async def test_a_model_that_is_listed_and_not_known() -> None:
    """The two answers of a server may differ; the stricter counts."""
    home = await found(listed_and_unknown, model="m")
    assert home.check.says == "m: its server does not know it"


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"[]", b'{"models": 1}', b"\xff", b'{"models": [1, {"name": 2}]}'],
)
async def test_something_else_that_listens_there(body: bytes) -> None:
    """A web server is no Ollama, and an empty list holds no model."""
    home = await found(lambda request: Reply(200, (), (body,)))
    assert home.check.state == "wrong"
    assert home.model == ""


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.CLOSE])
async def test_a_server_that_does_not_answer(fault: Fault) -> None:
    """The notice says how the door failed."""
    home = await found(lambda request: fault)
    assert home.check.says == "its models cannot be listed: home-unavailable; is it running?"


async def test_an_address_elsewhere_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The local door looks at the peer before the first byte."""
    monkeypatch.setattr("proxy.upstream.is_local", lambda address, tailnet: False)
    async with ScriptedUpstream(ollama("m")) as server:
        upstream = UpstreamSettings("home", Leg.LOCAL, server.url, ("ollama",), "none")
        (home,) = await examine(Config(upstreams=(upstream,)))
        assert home.check.state == "wrong"
        assert "home-not-local" in home.check.says
        assert b"".join(server.received) == b""


async def test_another_kind_of_local_server_is_passed_over() -> None:
    """Its models cannot be asked for in this way."""
    home = await found(ollama(), dialects=("openai",))
    assert home.check.state == "skipped"


async def test_cloud_upstreams_are_no_home() -> None:
    """Nothing is asked of them."""
    async with ScriptedUpstream(ollama("m")) as server:
        cloud = UpstreamSettings("c", Leg.CLOUD, server.url, ("ollama",), "none")
        assert await examine(Config(upstreams=(cloud,))) == []
        assert server.accepted == 0


async def test_a_name_cannot_steer_a_terminal() -> None:
    """Names are chosen by strangers."""
    home = await found(ollama("m\x1b[2J\u202e:1b"))
    assert "\x1b" not in home.check.says
    assert "\u202e" not in home.check.says
