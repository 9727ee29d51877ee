"""What is installed: our two packages and nothing else, complete, and enough to serve."""

import json
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from urllib import request

import pytest

from proxy import __version__
from proxy.demo.files import nsec
from tests.packaging.installing import ROOT, Installed, environment

DATA = {
    "proxy/clients.toml",
    "proxy/config.example.toml",
    "proxy/py.typed",
    "policies/py.typed",
    "policies/screening/rules.toml",
}
SHARED = {"__init__.py", "__main__.py", "py.typed"}


@pytest.fixture
def files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_has_our_names_and_no_others(files: set[str]) -> None:
    """Top level: `proxy`, `policies` and the metadata; no test, tool or bench slips in."""
    tops = {name.partition("/")[0] for name in files}
    assert tops == {"proxy", "policies", f"transom-{__version__}.dist-info"}
    assert not [name for name in files if "__pycache__" in name or name.endswith(".pyc")]


def test_the_wheel_is_for_every_platform(wheel: Path) -> None:
    """Pure Python: one file for every machine."""
    assert wheel.name == f"transom-{__version__}-py3-none-any.whl"


def test_everything_that_is_read_at_run_time_is_inside(files: set[str], wheel: Path) -> None:
    """Data files, whole: the reference of the settings is a link in the checkout."""
    assert files >= DATA
    ours = [*ROOT.glob("proxy/**/*"), *ROOT.glob("policies/**/*")]
    expected = {
        path.relative_to(ROOT).as_posix()
        for path in ours
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in files if not name.startswith("transom-")} == expected
    with zipfile.ZipFile(wheel) as archive:
        example = archive.read("proxy/config.example.toml")
    assert example == (ROOT / "config.example.toml").read_bytes()


def test_no_file_lies_where_a_rival_has_one(files: set[str]) -> None:
    """Whoever is installed second overwrites; beyond what every package has, nothing of ours may
    be lost. The list is of proxy.py 2.4.10 and policies 0.4.2, with blanks for slashes."""
    text = (ROOT / "tests" / "data" / "rival-files.txt").read_text("utf-8")
    listed = text.replace(" ", "/").splitlines()
    assert "proxy/http/parser/parser.py" in listed
    assert len(listed) > 150
    assert {name.partition("/")[2] for name in files & set(listed)} <= SHARED


def test_no_module_of_ours_is_called_like_one_of_python(files: set[str]) -> None:
    """Run from inside the package folder, `import token` must not find ours."""
    names = {Path(name).stem for name in files if name.endswith(".py") and name.count("/") == 1}
    assert "cli" in names
    assert not names & sys.stdlib_module_names


def test_it_is_installed_apart_from_the_checkout(own: Installed, tmp_path: Path) -> None:
    """Both packages come from the environment, and the command says its version."""
    script = "import proxy, policies; print(proxy.__file__, policies.__file__)"
    done = subprocess.run(
        [own.python, "-P", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=environment(tmp_path),
    )
    assert all(Path(name).is_relative_to(own.site) for name in done.stdout.split())
    assert own.run("version", home=tmp_path).stdout == f"transom {__version__}\n"


def test_every_verb_has_its_help(own: Installed, tmp_path: Path) -> None:
    """No verb leans on something that only a checkout has."""
    from proxy.cli import cli

    for verb in cli.commands:
        done = own.run(verb, "--help", home=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), verb


def test_the_data_files_are_found(own: Installed, tmp_path: Path) -> None:
    """Recipes, the commented configuration and the rules of the screen."""
    assert own.run("connect", "codex", home=tmp_path).returncode == 0
    target = tmp_path / "c.toml"
    assert own.run("init", "-c", target, home=tmp_path).returncode == 0
    assert target.read_bytes() == (ROOT / "config.example.toml").read_bytes()
    body = tmp_path / "body.json"
    body.write_text(
        json.dumps({"model": "m", "messages": [{"role": "user", "content": f"KEY={nsec()}"}]})
    )
    done = own.run("explain", "--path", "/v1/chat/completions", "--json", body, home=tmp_path)
    assert json.loads(done.stdout)["notice"] == "egress-blocked"
    assert nsec() not in done.stdout


def test_it_serves_with_what_the_image_has(own: Installed, tmp_path: Path) -> None:
    """Without the SDKs and all that only they bring: a node starts, answers and ends with 0."""
    config = tmp_path / "c.toml"
    config.write_text("version = 1\n[listen]\nport = 0\n")
    log = tmp_path / "log"
    with log.open("wb") as out:
        node = subprocess.Popen(
            [own.transom, "serve", "-c", config],
            stderr=out,
            cwd=tmp_path,
            env=environment(tmp_path),
        )
    try:
        url = address(log, node)
        opener = request.build_opener(request.ProxyHandler({}))
        with opener.open(f"{url}/healthz", timeout=10) as answer:
            assert (answer.status, answer.read()) == (200, b"ok\n")
        assert own.run("health", home=tmp_path).stderr == "healthy\n"
    finally:
        node.send_signal(signal.SIGTERM)
        assert node.wait(20) == 0


def address(log: Path, node: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + 30
    while time.monotonic() < until and node.poll() is None:
        for line in log.read_text().splitlines():
            if line.startswith("listening "):
                return line.removeprefix("listening ")
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def test_verbs_that_need_the_sdks_say_so(own: Installed, tmp_path: Path) -> None:
    """The demo ends with the way out; the doctor passes them over."""
    done = own.run("demo", home=tmp_path)
    assert done.returncode == 1
    assert "SDKs that are not installed: anthropic, openai, ollama" in done.stderr
    closed = tmp_path / "c.toml"
    closed.write_text(
        "version = 1\n[[upstream]]\nname = 'home'\nleg = 'local'\n"
        "base_url = 'http://127.0.0.1:9'\ndialects = ['openai']\n"
    )
    lines = own.run("doctor", "-c", closed, home=tmp_path).stdout.splitlines()
    skipped = [line for line in lines if "not installed; serving does not need it" in line]
    assert len(skipped) == 4
