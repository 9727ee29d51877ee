"""A local server of the developer's own answers what must not leave: Ollama, llama.cpp, vLLM.

`TRANSOM_TEST_LOCAL` is its address, `TRANSOM_TEST_LOCAL_MODEL` the model, else its first one. A
scripted cloud stands beside it and must hear nothing.
"""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib import error, request

import pytest

from bench.reminder import NoModel, named
from proxy.config import Config
from proxy.demo.files import nsec
from tests.scenes.hearth import at_home
from tests.scenes.home_clients import CLIENTS, HTTP, MODEL
from tests.scenes.home_model import Case

SECONDS = 600
"""For one answer: a model that is cold may take minutes."""

try:
    URL, WHY = named(os.environ), ""
except NoModel as why:
    URL, WHY = "", f"no real server is asked: {why}"

PATHS = {
    "anthropic": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "ollama": "/api/chat",
}
ASKERS = [(name, way) for name, kind in CLIENTS.items() for way in kind.ways]


@pytest.fixture(autouse=True)
def server() -> None:
    """There is one; without it all of this is one line of the report."""
    if WHY:
        pytest.skip(WHY)


def asked(path: str, body: object = None) -> tuple[int, Any]:
    """Status and JSON of the server's answer; None where it is no JSON."""
    data = None if body is None else json.dumps(body).encode()
    one = request.Request(URL + path, data, {"content-type": "application/json"})
    try:
        with request.build_opener(request.ProxyHandler({})).open(one, timeout=30) as answer:
            status, raw = answer.status, answer.read()
    except error.HTTPError as refused:
        with refused:
            status, raw = refused.code, refused.read()
    try:
        return status, json.loads(raw)
    except ValueError:
        return status, None


def is_ollama() -> bool:
    return asked("/api/version")[0] == 200


def model() -> str:
    """The model that is asked."""
    if chosen := os.environ.get("TRANSOM_TEST_LOCAL_MODEL", ""):
        return chosen
    listed = (asked("/v1/models")[1] or {}).get("data") or []
    assert listed, f"{URL} (TRANSOM_TEST_LOCAL) lists no model at /v1/models"
    return str(listed[0]["id"])


def there() -> Callable[[Config], Config]:
    """Home is the real server."""
    speaks = ("ollama",) if is_ollama() else ("anthropic", "openai")

    def change(config: Config) -> Config:
        away, home = config.upstreams
        home = replace(home, base_url=URL, dialects=speaks, model=model())
        return replace(config, upstreams=(away, home))

    return change


@pytest.mark.parametrize(("name", "way"), ASKERS, ids=lambda value: str(value))
async def test_a_real_model_answers_what_must_not_leave(
    name: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through its SDK, with tools declared; the cloud's socket is never opened."""
    if not is_ollama() and asked(PATHS[name], {})[0] == 404:
        pytest.skip(f"this server has no {PATHS[name]}")
    monkeypatch.setitem(HTTP, "timeout", SECONDS)
    async with at_home(change=there()) as stage:
        client = CLIENTS[name](stage.node.parts.listener.port, way, Case(rounds=(1,), most=512))
        got = await client.say(f"My key is {nsec()}. Use no tool. Say hello in one word.")
        assert got.text or got.calls
        assert got.ended in client.words.values()
        assert got.model == MODEL
        assert got.tokens[1] > 0
        for call in got.calls:
            assert call[1] == "read_file"
            assert isinstance(call[2], dict)
        assert stage.upstream.accepted == 0
