"""Each real SDK asks once, at the address that it is given, whatever the environment says."""

import sys

import pytest

from proxy.demo.upstream import Reply, ScriptedUpstream
from proxy.demo.vendors import vendor
from proxy.doctor import Check
from proxy.doctor.sdks import FAMILIES, try_one

PATHS = {
    "anthropic": "/v1/messages",
    "openai chat": "/v1/chat/completions",
    "openai responses": "/v1/responses",
    "ollama": "/api/chat",
}
EACH = pytest.mark.parametrize("name", FAMILIES)


@EACH
async def test_an_sdk_asks_once_where_it_is_told(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Base URLs, keys and proxies of the environment do not count; no credential of the owner is
    shown."""
    for variable in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "OLLAMA_HOST", "HTTP_PROXY"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    for variable in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"):
        monkeypatch.setenv(variable, "key-of-" + "the-owner")
    async with ScriptedUpstream(vendor) as upstream:
        found = await try_one(name, upstream.url, "some-model", "by a side street")
        (asked,) = upstream.requests
    assert found == Check(f"sdk {name}", "fine", "answered by a side street")
    assert (asked.method, asked.path) == ("POST", PATHS[name])
    assert asked.json()["model"] == "some-model"
    assert "key-of-" not in repr(asked.headers)


@EACH
async def test_a_refusal_is_told_on_one_line(name: str) -> None:
    """The SDK's own error, once: nothing is tried again."""
    body = {"type": "error", "error": {"type": "api_error", "message": "no\x1b[2J\nway"}}
    async with ScriptedUpstream(lambda request: Reply.of(body, 500)) as upstream:
        found = await try_one(name, upstream.url, "m", "")
        assert len(upstream.requests) == 1
    assert found.state == "wrong"
    assert "Error: " in found.says
    assert not {"\n", "\x1b"} & set(found.says)


@EACH
async def test_a_closed_port_is_told(name: str) -> None:
    """No traceback where nobody listens."""
    async with ScriptedUpstream(vendor) as upstream:
        url = upstream.url
    assert (await try_one(name, url, "m", "")).state == "wrong"


@EACH
async def test_an_sdk_that_is_not_installed_is_no_fault(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The image leaves them out."""
    monkeypatch.setitem(sys.modules, name.partition(" ")[0], None)
    found = await try_one(name, "http://127.0.0.1:9", "m", "")
    assert found == Check(f"sdk {name}", "skipped", "not installed; serving does not need it")
