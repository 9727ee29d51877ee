"""Every recipe works: a client that is set as it says arrives upstream, through a real node."""

import asyncio
import json
import re
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from proxy.clients import Call, Recipe, recipes
from proxy.config import ClientSettings, Config
from proxy.demo.upstream import ScriptedUpstream
from proxy.demo.vendors import vendor
from tests.scenes import nodes
from tests.scenes.bodies import BODIES, MODEL
from tests.scenes.staging import Stage, staged

TOKEN = "laptop-" + "token"
KEY = "key-of-" + "the-caller"
CALLS = [(recipe, call) for recipe in recipes() for call in recipe.calls]
NAMES = [f"{recipe.id} {call.parts[0]} {call.parts[2]}" for recipe, call in CALLS]
BY_PATH = {
    "/v1/messages": "anthropic_messages",
    "/v1/messages/count_tokens": "anthropic_messages",
    "/v1/chat/completions": "openai_chat",
    "/v1/responses": "openai_responses",
    "/api/chat": "ollama_chat",
}


def with_token(config: Config) -> Config:
    client = ClientSettings("laptop", sha256(TOKEN.encode()).hexdigest())
    return replace(config, clients=(client,))


def body(path: str) -> bytes:
    if path == "/api/show":
        return json.dumps({"name": MODEL}).encode()
    return json.dumps(BODIES[BY_PATH[path]]("contents")).encode() if path in BY_PATH else b""


def credential(call: Call) -> dict[str, str]:
    match call.auth:
        case "bearer":
            return {"authorization": f"Bearer {KEY}"}
        case "x-api-key":
            return {"x-api-key": KEY}
        case _:
            return {}


async def called(stage: Stage, address: str, recipe: Recipe, call: Call) -> None:
    """Make the call as the recipe has it, and look at what arrived."""
    filled = recipe.at(address)
    method, base, adds = filled.calls[recipe.calls.index(call)].parts
    url = base + adds
    assert url.startswith(stage.node.url), "the recipe leads to this node"
    target = url.removeprefix(stage.node.url)
    path = re.sub(r"^/t/[^/]+", "", target)
    heard = await stage.post(
        target, body(path.partition("?")[0]), {**call.headers, **credential(call)}, method
    )
    assert (heard.status, heard.headers["x-transom-leg"]) == (200, "cloud")
    (arrived,) = stage.upstream.requests
    assert (arrived.method, arrived.target) == (method, path)
    for name, value in {**call.headers, **credential(call)}.items():
        assert arrived.header(name) == value
    assert TOKEN not in repr((arrived.target, arrived.headers))


@pytest.mark.parametrize(("recipe", "call"), CALLS, ids=NAMES)
async def test_a_call_arrives_as_the_client_makes_it(recipe: Recipe, call: Call) -> None:
    """Path, query, headers and credential reach the upstream as the client wrote them."""
    async with staged() as stage:
        await called(stage, stage.node.url, recipe, call)


@pytest.mark.parametrize(("recipe", "call"), CALLS, ids=NAMES)
async def test_a_call_arrives_with_a_client_token_in_its_address(
    recipe: Recipe, call: Call
) -> None:
    """Where the node asks for a token, the same address with its prefix works for every client,
    and the token stays here."""
    async with staged(change=with_token) as stage:
        await called(stage, f"{stage.node.url}/t/{TOKEN}", recipe, call)


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.id)
def test_calls_and_settings_have_the_same_bases(recipe: Recipe) -> None:
    """A client calls from a base that a setting gives it, and every base is called from: a `/v1`
    that is missing or doubled is the commonest mistake."""
    texts = "\n".join(setting.text for setting in recipe.settings)
    assert set(re.findall(r"<address>[\w/]*", texts)) == {call.parts[1] for call in recipe.calls}


SDKS = {
    "anthropic": (
        "from anthropic import Anthropic\n"
        "print(Anthropic().messages.create(model='m', max_tokens=9,"
        " messages=[{'role': 'user', 'content': 'hello'}]).content[0].text)"
    ),
    "openai": (
        "from openai import OpenAI\n"
        "print(OpenAI().chat.completions.create(model='m',"
        " messages=[{'role': 'user', 'content': 'hello'}]).choices[0].message.content)"
    ),
    "ollama": (
        "from ollama import chat\n"
        "print(chat('m', [{'role': 'user', 'content': 'hello'}]).message.content)"
    ),
}


@pytest.mark.parametrize("sdk", SDKS)
async def test_a_real_sdk_follows_what_connect_prints(tmp_path: Path, sdk: str) -> None:
    """From the running node's own words to an answer: what is printed is pasted into a shell, and
    the SDK finds the node with nothing else said, token and all."""
    async with ScriptedUpstream(vendor) as upstream:
        done = await asyncio.to_thread(pasted, tmp_path, upstream.url, sdk)
    assert (done.returncode, done.stdout) == (0, "There is nothing to read.\n"), done.stderr


def pasted(home: Path, upstream: str, sdk: str) -> subprocess.CompletedProcess[str]:
    """Serve, ask `transom connect`, and run the SDK with what it printed."""
    hashed = sha256(TOKEN.encode()).hexdigest()
    client = f'[[client]]\nname = "laptop"\ntoken_sha256 = "{hashed}"\n'
    environment = nodes.environment(home)
    with nodes.served(home, nodes.upstream(upstream) + client) as node:
        asked = ran(environment, "-m", "proxy", "connect", sdk, "--json")
        assert f"address: {node.url}, of the running node" in asked.stderr
        (shell,) = [
            each["text"]
            for each in json.loads(asked.stdout)["settings"]
            if each["where"] == "shell"
        ]
        keys = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
        exported = re.findall(
            r"^export (\w+)=(\S+)$", shell.replace("YOUR-TOKEN", TOKEN), re.MULTILINE
        )
        return ran({**environment, **keys, **dict(exported)}, "-c", SDKS[sdk])


def ran(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=Path(__file__).parents[2],
    )
