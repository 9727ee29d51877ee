"""The doctor at a running node: real SDKs reach a model at home, and never a cloud."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

from proxy.demo.upstream import ScriptedUpstream
from proxy.demo.vendors import vendor
from tests.scenes.nodes import environment, served, upstream

Lines = dict[str, dict[str, str]]


def visited(home: Path, url: str, leg: str) -> tuple[int, Lines]:
    """Exit code and lines by name of a visit beside a node with one upstream for everything."""
    with served(home, upstream(url, leg)) as node:
        config = str(node.home / "config.toml")
        done = subprocess.run(
            [sys.executable, "-m", "proxy", "doctor", "--json", "-c", config],
            capture_output=True,
            text=True,
            check=False,
            env=environment(home),
            cwd=Path(__file__).parents[2],
        )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines, done.stderr
    return done.returncode, {line["name"]: line for line in lines}


async def test_every_sdk_asks_the_model_at_home_through_the_running_node(tmp_path: Path) -> None:
    """The node says that the way leads home; four SDKs go it, once each, and all is fine."""
    async with ScriptedUpstream(vendor) as home:
        code, lines = await asyncio.to_thread(visited, tmp_path, home.url, "local")
        asked = [request.path for request in home.requests if request.path != "/api/show"]
    tries = [line for name, line in lines.items() if name.startswith("sdk ")]
    assert {line["says"] for line in tries} == {
        "answered through the running node, from demo:1b at home"
    }
    assert sorted(asked) == [
        "/api/chat", "/api/tags", "/v1/chat/completions", "/v1/messages", "/v1/responses",
    ]  # fmt: skip
    assert lines["home only"]["says"] == "demo:1b is there and runs here"
    assert lines["node"]["state"] == "fine"
    assert (code, {line["state"] for line in lines.values()}) == (0, {"fine", "skipped"})


async def test_a_cloud_is_never_asked_anything_that_costs(tmp_path: Path) -> None:
    """Beside a node whose upstream is a cloud: it is asked for the time, without a key, and the
    SDKs stay with a scripted upstream."""
    async with ScriptedUpstream(vendor) as cloud:
        _, lines = await asyncio.to_thread(visited, tmp_path, cloud.url, "cloud")
        asked = [(request.method, request.target, request.body) for request in cloud.requests]
    assert asked == [("HEAD", "/", b"")]
    tries = [line for name, line in lines.items() if name.startswith("sdk ")]
    assert {line["says"] for line in tries} == {
        "answered through a node of its own, from a scripted upstream"
    }
