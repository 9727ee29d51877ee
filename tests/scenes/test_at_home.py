"""What is called local stays on this node: what a local server would carry further is refused."""

from dataclasses import replace
from typing import Any

import pytest

from policies.decision import Leg
from policies.settings import Envelope, Policies
from proxy.config import Config
from proxy.demo.upstream import Recorded, Reply
from tests.scenes.staging import staged

HI = [{"role": "user", "content": "hi"}]
CHAT = {"model": "m", "max_tokens": 9, "messages": HI}
SEARCH = {"type": "web_search_20250305", "name": "web_search"}
CLOUD = ":".join(["gpt-oss", "120b-cloud"])


def at_home(recorded: Recorded) -> Reply:
    return Reply.of({"details": {"format": "gguf"}})


@pytest.mark.parametrize("framing", [True, False])
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", {**CHAT, "tools": [{"name": "a", "input_schema": {}}, SEARCH]}),
        ("/v1/messages", {**CHAT, "tools": [{**SEARCH, "type": "Web_Search_20260209"}]}),
        ("/v1/messages", {**CHAT, "tools": [{"type": "web_fetch_20250910", "name": "f"}]}),
        ("/v1/messages", {**CHAT, "mcp_servers": [{"type": "url", "url": "https://a.example"}]}),
        ("/v1/responses", {"model": "m", "input": "x", "tools": [{"type": "mcp"}]}),
    ],
)
async def test_tools_of_a_server_never_go_home(
    path: str, body: dict[str, Any], framing: bool
) -> None:
    """Ollama sends a local model's searches to its cloud; the search may hold what was screened for
    no cloud. Whether frames are on makes no difference."""
    policies = Policies(envelope=Envelope(enabled=framing))

    def change(config: Config) -> Config:
        return replace(config, policies=policies)

    async with staged(at_home, leg=Leg.LOCAL, change=change) as stage:
        answer = await stage.post(path, body)
        assert (answer.status, answer.headers.get("x-transom-notice")) == (400, "home-not-local")
        assert stage.upstream.accepted == 0


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages", {**CHAT, "tools": [{"name": "web_search", "input_schema": {}}]}),
        ("/v1/messages", {**CHAT, "mcp_servers": []}),
        ("/v1/responses", {"model": "m", "input": "x", "tools": [{"type": "web_search"}]}),
    ],
)
async def test_tools_of_a_client_go_home(path: str, body: dict[str, Any]) -> None:
    """A search that the client carries out, and one that no local server knows, are no obstacle."""
    async with staged(at_home, leg=Leg.LOCAL) as stage:
        assert (await stage.post(path, body)).status == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/show", {"name": CLOUD, "system": "private"}),
        ("POST", "/api/show", {"model": "", "name": CLOUD}),
        ("POST", "/api/show", {"NAME": CLOUD}),
        ("POST", "/api/show", {"model": CLOUD}),
        ("GET", f"/v1/models/{CLOUD}", b""),
        ("GET", f"/v1/models/{CLOUD.replace(':', '%3A')}", b""),
    ],
)
async def test_no_way_of_naming_a_model_of_the_cloud_passes(
    method: str, path: str, body: dict[str, Any] | bytes
) -> None:
    """Asking Ollama about such a model hands the question, body and all, to its cloud."""
    async with staged(at_home, leg=Leg.LOCAL) as stage:
        answer = await stage.post(path, body, method=method)
        assert answer.status == 400
        assert stage.upstream.accepted == 0


@pytest.mark.parametrize(("version", "status"), [({"version": "0.9.0"}, 400), ({"a": 1}, 200)])
async def test_a_body_that_nobody_read_goes_to_no_ollama(
    version: dict[str, Any], status: int
) -> None:
    """What the owner opened is not read, so nobody can ask where the model in it runs; a server
    that runs all it has at home gets it."""

    def server(recorded: Recorded) -> Reply:
        return Reply.of(version if recorded.path == "/api/version" else {"ok": True})

    def change(config: Config) -> Config:
        (only,) = config.upstreams
        opened = replace(only, dialects=("openai",))
        return replace(config, upstreams=(opened,), endpoints_open=frozenset({"batches"}))

    async with staged(server, leg=Leg.LOCAL, change=change) as stage:
        answer = await stage.post("/v1/batches", {"model": CLOUD})
        assert answer.status == status
        sent = [asked.path for asked in stage.upstream.requests if asked.path != "/api/version"]
        assert sent == (["/v1/batches"] if status == 200 else [])
