"""The whole visit: its order, its exit code, and that a try never costs anything."""

import json
from pathlib import Path
from typing import Any

import pytest

from proxy import __version__, cli, rivals
from proxy.config import Config, sources
from proxy.control import NoNode
from proxy.doctor import Check
from proxy.doctor import visit as visiting
from proxy.doctor.home import Home
from proxy.doctor.visit import visit

Answers = dict[str, dict[str, object]]


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of one's own; every look but the SDKs finds what a test says it finds."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(sources, "SYSTEM_FILE", tmp_path / "none")
    found(monkeypatch, "")
    asked(monkeypatch, {})
    monkeypatch.setattr(visiting, "ping", lambda upstream, config: "")

    async def clock(config: Config) -> Check:
        return Check("clock", "fine", "agrees")

    monkeypatch.setattr(visiting.clock, "examine", clock)
    return tmp_path


def found(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """The home upstream has this model."""

    async def examine(config: Config) -> list[Home]:
        return [Home(Check("home home", "fine" if model else "wrong", ""), "home", model)]

    monkeypatch.setattr(visiting.home, "examine", examine)


def asked(monkeypatch: pytest.MonkeyPatch, answers: Answers) -> None:
    """A running node that answers so on its control socket; none without answers."""

    def ask(folder: Path, verb: str, **facts: object) -> dict[str, object]:
        if verb not in answers:
            raise NoNode("no")
        return answers[verb]

    monkeypatch.setattr(visiting, "ask", ask)


def tried(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """Every try of an SDK, which is not made: SDK, address, model."""
    tries: list[tuple[str, str, str]] = []

    async def try_one(name: str, url: str, model: str, through: str) -> Check:
        tries.append((name, url, model))
        return Check(f"sdk {name}", "fine", through)

    monkeypatch.setattr(visiting, "try_one", try_one)
    return tries


def test_every_sdk_is_tried_on_a_node_of_its_own(house: Path) -> None:
    """Without a running node and a local model: in this process, from a scripted upstream."""
    checks = list(visit(Config(), None, {"HOME": str(house)}))
    assert [check.name for check in checks] == [
        "configuration", "state", "secrets", "clock",
        "upstream claude", "upstream openai", "upstream home", "home home", "node",
        "database", "sdk anthropic", "sdk openai chat", "sdk openai responses", "sdk ollama",
    ]  # fmt: skip
    assert {check.says for check in checks[-4:]} == {
        "answered through a node of its own, from a scripted upstream"
    }


HEALTH: dict[str, object] = {"ok": True, "version": __version__, "url": "http://127.0.0.1:1"}
LOCAL: dict[str, object] = {"ok": True, "leg": "local", "upstream": "home"}


def test_a_running_node_with_a_local_model_is_used(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real way, as the node itself says that it leads home."""
    found(monkeypatch, "qwen3:8b")
    asked(monkeypatch, {"health": HEALTH, "route": LOCAL})
    tries = tried(monkeypatch)
    checks = list(visit(Config(), None, {"HOME": str(house)}))
    assert {(url, model) for _, url, model in tries} == {("http://127.0.0.1:1", "qwen3:8b")}
    assert "through the running node, from qwen3:8b at home" in checks[-1].says


@pytest.mark.parametrize(
    ("model", "answers"),
    [
        ("m", {"health": HEALTH, "route": {"ok": True, "leg": "cloud"}}),
        ("m", {"health": HEALTH, "route": {"ok": False, "notice": "no-route"}}),
        ("m", {"health": HEALTH, "route": {"error": "one JSON object per line"}}),
        ("m", {"health": HEALTH}),
        ("m", {"health": {**HEALTH, "token": True}, "route": LOCAL}),
        ("m", {"health": {"error": "another user runs this node"}, "route": LOCAL}),
        ("", {"health": HEALTH, "route": LOCAL}),
        ("m", {"route": LOCAL}),
    ],
    ids=["cloud", "no route", "older node", "gone", "token", "not ours", "no model", "no node"],
)
def test_no_try_can_reach_a_cloud(
    house: Path, monkeypatch: pytest.MonkeyPatch, model: str, answers: Answers
) -> None:
    """Unless the running node says "local" about this very model, it is not used."""
    found(monkeypatch, model)
    asked(monkeypatch, answers)
    tries = tried(monkeypatch)
    list(visit(Config(), None, {"HOME": str(house)}))
    assert len(tries) == 4
    assert not [url for _, url, _ in tries if url == HEALTH["url"]]


@pytest.mark.parametrize(
    ("health", "state", "says"),
    [
        (HEALTH, "fine", "runs at http://127.0.0.1:1"),
        ({**HEALTH, "version": "0.0.1"}, "wrong", "is another version than"),
        ({"error": "another user runs this node"}, "wrong", "another user runs this node"),
        ({"ok": False}, "wrong", "is not well"),
    ],
)
def test_the_running_node_has_a_line(
    house: Path,
    monkeypatch: pytest.MonkeyPatch,
    health: dict[str, object],
    state: str,
    says: str,
) -> None:
    """Version and well-being."""
    asked(monkeypatch, {"health": health})
    tried(monkeypatch)
    checks = {check.name: check for check in visit(Config(), None, {"HOME": str(house)})}
    assert checks["node"].state == state
    assert says in checks["node"].says


def test_the_exit_code_is_one_if_one_is_not_fine(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """0 where the rest is fine or had nothing to look at; lines on standard output."""
    tried(monkeypatch)
    assert cli.run(["doctor"]) == 1
    said = capsys.readouterr()
    assert said.out.count("\n") == 15
    assert said.out.startswith("fine     rivals ")
    assert "\nwrong    home home " in said.out
    assert said.err == "configuration: none, the defaults hold\n"
    found(monkeypatch, "m")
    assert cli.run(["doctor"]) == 0


def test_as_json_it_is_one_object_a_line(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For scripts."""
    tried(monkeypatch)
    assert cli.run(["doctor", "--json"]) == 1
    lines: list[dict[str, Any]] = [
        json.loads(line) for line in capsys.readouterr().out.splitlines()
    ]
    assert all(set(line) == {"name", "state", "says"} for line in lines)
    assert {line["state"] for line in lines} <= {"fine", "wrong", "skipped"}


def test_a_rival_ends_the_visit(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where another distribution's files lie over ours nothing else can be trusted."""
    owners = {"proxy": ["transom", "proxy.py"]}
    monkeypatch.setattr(rivals, "owners", lambda: owners)
    assert cli.run(["doctor"]) == 1
    assert capsys.readouterr() == (
        "wrong    rivals                "
        "proxy.py also installs proxy or policies; install Transom on its own\n",
        "",
    )
