"""The real SDKs read what home answers, in every way they ask, by both ways that lead home.

One node and one scripted server for each way; the questions all hold a key, so that nothing of them
may leave. Every client refuses what its own types do not allow.
"""

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from proxy.config import Config
from proxy.demo.files import nsec
from tests.scenes.hearth import Home, at_home
from tests.scenes.home_clients import CLIENTS, MODEL, PICTURE, SCHEMA, Client, Got
from tests.scenes.home_model import ARGUMENTS, CASES, STOP, native, speaking

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECRET = nsec()
ASKED = [
    (home, (name, way))
    for home in ("translated", "straight", "translated bytes", "straight bytes")
    for name, kind in CLIENTS.items()
    for way in kind.ways
    # Nobody but Ollama speaks its dialect; an answer that goes out whole is cut by nobody.
    if not (home.startswith("straight") and name == "ollama")
    if not (home.endswith("bytes") and way == "whole")
]
WHOLE = [(home, client) for home, client in ASKED if not home.endswith("bytes")]
MATRIX = [(home, client, case) for home, client in ASKED for case in CASES]


def ids(value: object) -> str:
    """How a value is told in the name of a test."""
    return " ".join(value) if isinstance(value, tuple) else str(value)


def unhurried(config: Config) -> Config:
    """Without limits, as all the questions of a module come from one client within seconds."""
    limits = replace(config.policies.limits, enabled=False)
    return replace(config, policies=replace(config.policies, limits=limits))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Home]:
    """A node whose home is an Ollama, or speaks the dialects of the others."""
    bytewise = request.param.endswith("bytes")
    if request.param.startswith("straight"):
        script, speaks = speaking(bytewise=bytewise), ("anthropic", "openai")
    else:
        script, speaks = native(bytewise=bytewise), ("ollama",)
    async with at_home(script=script, speaks=speaks, change=unhurried) as stage:
        yield stage


@pytest.fixture
def client(request: pytest.FixtureRequest, stage: Home) -> Client:
    name, way = request.param
    return CLIENTS[name](stage.node.parts.listener.port, way)


def is_ollama(stage: Home) -> bool:
    return "ollama" in stage.node.config.upstreams[1].dialects


def sent(stage: Home) -> dict[str, Any]:
    """The newest request at home."""
    return dict(json.loads(stage.home.requests[-1].body))


@pytest.mark.parametrize(("stage", "client", "name"), MATRIX, indirect=["stage", "client"], ids=ids)
async def test_every_sdk_reads_what_home_says(name: str, client: Client, stage: Home) -> None:
    """Text, calls with their ids and arguments, how it ended, tokens, under the name of the model
    that was asked; the client goes on with the answer in its history until it has its text."""
    case, ids = CASES[name], set[str]()
    got, found = await client.ask(name, SECRET), 0
    for count in case.rounds:
        is_answer(got, case.before, client.words["calls"])
        assert [call[1:] for call in got.calls] == [("read_file", ARGUMENTS)] * count
        fresh = {call[0] for call in got.calls if call[0]} - ids
        assert len(fresh) == (count if client.has_ids else 0)
        ids |= fresh
        got = await client.answer(got, *(f"result {found + at}" for at in range(count)))
        found += count
    found_there = case.stop and not is_ollama(stage)
    text = case.says or case.text if case.stop and not client.can_stop else case.text
    is_answer(got, text, client.words["found" if found_there else case.reason])
    assert not got.calls
    heard = stage.home.requests[-1].body.decode()
    assert SECRET in heard
    assert [f"result {at}" in heard for at in range(found)] == [True] * found
    assert heard.count("[[TRANSOM_DATA nonce=") == found
    assert stage.upstream.accepted == 0
    assert stage.node.parts.hearth.home.busy == 0


def is_answer(got: Got, text: str, ended: str) -> None:
    """As every answer has to be."""
    assert (got.text, got.ended, got.model, got.thought) == (text, ended, MODEL, "")
    assert got.tokens[0] > 0


@pytest.mark.parametrize(("stage", "client"), WHOLE, indirect=True, ids=ids)
async def test_what_was_asked_for_arrives(client: Client, stage: Home) -> None:
    """The picture, the schema, the strings to stop at and the limit, in the server's own words."""
    await client.ask("image", SECRET)
    raw = PICTURE.partition(",")[2]
    base64.b64decode(raw, validate=True)
    assert raw in json.dumps(sent(stage))
    await client.ask("form", SECRET)
    assert json.dumps(SCHEMA["properties"]) in json.dumps(sent(stage))
    await client.ask("limit", SECRET)
    assert 77 in [*sent(stage).values(), *sent(stage).get("options", {}).values()]
    if client.can_stop:
        await client.ask("stop", SECRET)
        assert ["never", STOP] in [*sent(stage).values(), *sent(stage).get("options", {}).values()]
    if is_ollama(stage):
        asked = sent(stage)
        assert (asked["truncate"], asked["stream"]) == (False, True)
        assert asked["options"]["num_ctx"] >= 4096
