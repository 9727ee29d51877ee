"""The life of a node's process: start, reload, health, end."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

import pytest

from policies.conversation import Strand
from policies.screening import Screen
from proxy.control import ask
from proxy.demo.upstream import ScriptedUpstream
from proxy.errors import Refused
from proxy.serve import clean_names
from tests.scenes.bodies import BODIES, secret
from tests.scenes.nodes import Served, environment, served, upstream
from tests.scenes.staging import echo

BODY = BODIES["anthropic_messages"](f"KEY={secret()}")
ROOT = Path(__file__).parents[2]
WRITTEN = "q7Zk" + "29xWv41"


def until(true: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + 10
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def rewrite(node: Served, text: str) -> None:
    (node.home / "config.toml").write_text(f"version = 1\n{text}\n[listen]\nport = 0\n")


def told_profile(folder: Path) -> object:
    return cast(dict[str, object], ask(folder, "health")["leaving"])["profile"]


def reloads(node: Served) -> int:
    return (node.home / "stderr").read_text().count('"event":"reload"')


async def test_hang_up_reads_the_configuration_again_and_keeps_the_old_on_error(
    tmp_path: Path,
) -> None:
    """SIGHUP: a broken file changes nothing and is logged, with place and reason and without what
    was written; a good one holds from the next on."""

    def play(url: str) -> list[int]:
        with served(tmp_path, upstream(url)) as node:
            statuses = [node.post("/v1/messages", BODY)[0]]
            for number, text in enumerate(
                (
                    f'[screen]\non_hit = "{WRITTEN}"\n',
                    upstream(url) + '[screen]\non_hit = "observe"\n',
                ),
                1,
            ):
                rewrite(node, text)
                os.kill(node.process.pid, signal.SIGHUP)
                until(lambda n=number: reloads(node) == n)
                statuses.append(node.post("/v1/messages", BODY)[0])
            said = (node.home / "stderr").read_text()
            (line,) = (json.loads(each) for each in said.splitlines() if "config-invalid" in each)
            (problem,) = line["problems"]
            assert (line["level"], line["event"], line["count"]) == ("error", "reload", 1)
            assert (problem["path"], problem["line"]) == ("screen.on_hit", 3)
            assert problem["file"].endswith("config.toml")
            assert problem["words"].startswith("expected home, refuse")
            assert WRITTEN not in said
            return statuses

    async with ScriptedUpstream(echo) as vendor:
        assert await asyncio.to_thread(play, vendor.url) == [400, 400, 200]


async def test_the_control_socket_tells_health_and_the_verdict_of_a_reload(tmp_path: Path) -> None:
    """`reload` answers with every problem; settings that need a restart are named."""

    def play(url: str) -> None:
        with served(tmp_path, upstream(url)) as node:
            folder = node.home / "state" / "transom"
            told = ask(folder, "health")
            assert (told["ok"], told["url"]) == (True, node.url)
            assert told["leaving"] == {
                "mode": "dialogue",
                "profile": "balanced",
                "routes": [],
                "strategy": "drop",
            }
            rewrite(node, f'profile = "private"\n{upstream(url)}')
            assert ask(folder, "reload")["ok"] is True
            assert told_profile(folder) == "private"
            rewrite(node, upstream(url))
            assert ask(folder, "reload") == {"ok": True, "restart": []}
            rewrite(node, upstream(url) + '[state]\nurl = "memory:"\n')
            assert ask(folder, "reload") == {"ok": True, "restart": ["state.url"]}
            rewrite(node, "[nonsense]\n")
            verdict = ask(folder, "reload")
            assert verdict["ok"] is False
            assert "nonsense" in str(verdict["problems"])
            assert node.post("/v1/messages", BODY)[0] == 400

    async with ScriptedUpstream(echo) as vendor:
        await asyncio.to_thread(play, vendor.url)


async def test_secrets_folder_of_a_reloaded_configuration_is_followed(tmp_path: Path) -> None:
    """A new `secrets_dir` is in force at once; an unreadable one keeps everything home."""
    folder = tmp_path / "secrets"
    folder.mkdir()
    word = "-".join(["amber", "lantern", "1642", "otter"])
    (folder / "one").write_text(word)
    body = BODIES["openai_chat"](f"say {word}")

    def play(url: str) -> list[int]:
        with served(tmp_path / "home", upstream(url)) as node:
            control = node.home / "state" / "transom"
            statuses = [node.post("/v1/chat/completions", body)[0]]
            for path in (folder, tmp_path / "missing"):
                rewrite(node, upstream(url) + f'[screen]\nsecrets_dir = "{path}"\n')
                ask(control, "reload")
                statuses.append(node.post("/v1/chat/completions", body)[0])
                plain = BODIES["openai_chat"]("fine")
                statuses.append(node.post("/v1/chat/completions", plain)[0])
            return statuses

    async with ScriptedUpstream(echo) as vendor:
        assert await asyncio.to_thread(play, vendor.url) == [200, 400, 200, 400, 400]


def test_state_of_another_key_refuses_the_start(tmp_path: Path) -> None:
    """A database without its key: exit 2, one clear error, nothing listens."""
    with served(tmp_path, ""):
        pass
    (key,) = (tmp_path / "state" / "transom").glob("*.key")
    key.unlink()
    done = subprocess.run(
        [sys.executable, "-m", "proxy", "serve", "-c", str(tmp_path / "config.toml")],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
        env=environment(tmp_path),
        cwd=ROOT,
    )
    assert done.returncode == 2
    assert "error:" in done.stderr
    assert "listening" not in done.stderr


def test_a_busy_port_refuses_the_start(tmp_path: Path) -> None:
    """Exit 2 with the setting to change."""
    with served(tmp_path / "first", "") as node:
        port = node.url.rpartition(":")[2]
        done = subprocess.run(
            [sys.executable, "-m", "proxy", "serve"],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
            env={**environment(tmp_path / "second"), "TRANSOM_LISTEN__PORT": port},
            cwd=ROOT,
        )
    assert done.returncode == 2
    assert "listen.port" in done.stderr


def test_what_is_written_is_for_the_owner_alone(tmp_path: Path) -> None:
    """State folder, database, journal, key and socket: nothing for group or others."""
    with served(tmp_path, ""):
        folder = tmp_path / "state" / "transom"
        found = [folder, *folder.iterdir()]
        assert {"transom.sock", "transom.db", "transom.db.key"} <= {path.name for path in found}
        assert [path.name for path in found if path.stat().st_mode & 0o077] == []


def looked(home: Path, what: str) -> str:
    """What a node that was started prints of itself, at the moment when it would serve."""
    script = (
        "import sys\n"
        "from proxy import serve, server\n"
        f"async def look(*_, **__): print({what})\n"
        "serve.run = look\n"
        "from proxy.cli import run\n"
        "sys.exit(run(['serve']))\n"
    )
    return subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
        env={**environment(home), "TRANSOM_LISTEN__PORT": "0"},
        cwd=ROOT,
    ).stdout


def test_the_loop_has_its_turn_after_a_millisecond(tmp_path: Path) -> None:
    """A node that serves does not wait five for a thread that reads, as Python has it."""
    assert float(looked(tmp_path, "sys.getswitchinterval()")) == pytest.approx(0.001)


def test_serving_loads_no_sdk(tmp_path: Path) -> None:
    """Neither an SDK nor httpx is imported by a node that has answered a request."""
    loaded = {name.partition(".")[0] for name in looked(tmp_path, "*sys.modules").split()}
    assert "aiohttp" in loaded
    assert not loaded & {"anthropic", "openai", "ollama", "httpx", "httpx2", "pydantic", "jinja2"}


def test_a_name_is_screened_once_for_each_set_of_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are logged with every request; new rules make new verdicts, and without rules no name
    is clean."""
    asked: list[str] = []
    real = Screen.findings

    def counted(self: Screen, strands: Iterable[Strand]) -> object:
        strands = tuple(strands)
        asked.extend(strand.text for strand in strands)
        return real(self, strands)

    monkeypatch.setattr(Screen, "findings", counted)
    screens = [Screen.build()]
    clean = clean_names(lambda: screens[-1])
    assert [clean("gpt-7"), clean(secret()), clean("gpt-7"), clean(secret())] == [True, False] * 2
    assert asked == ["gpt-7", secret()]
    screens.append(Screen.build({"file": b"name-in-the-folder"}))
    assert [clean("gpt-7"), clean("name-in-the-folder"), clean(secret())] == [True, False, False]
    assert len(asked) == 5

    def none() -> Screen:
        raise Refused("secrets-unreadable")

    assert not clean_names(none)("gpt-7")


def test_verdicts_about_names_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that names ever new models costs no memory; the newest verdicts are kept."""
    monkeypatch.setattr("proxy.serve._NAMES", 2)
    asked: list[object] = []
    monkeypatch.setattr(Screen, "findings", lambda self, strands: asked.append(strands) or ())
    clean = clean_names(lambda: Screen.build())
    for name in ("a", "b", "c", "c", "b", "a"):
        assert clean(name)
    assert len(asked) == 4
