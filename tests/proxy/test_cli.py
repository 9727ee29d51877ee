"""Every verb: what it does, where it writes, with which code it ends, and what it does not load."""

import io
import json
import os
import runpy
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from policies.screening import Screen
from proxy import __version__, cli, rivals
from proxy.config import Config, sources
from proxy.first_steps import example
from proxy.problems import Invalid
from proxy.secrets_dir import Build

SECRET = "sk-" + "q7Zk29xWv41"
HEAVY = {"aiohttp", "structlog", "jinja2", "anthropic", "openai", "ollama", "httpx", "pydantic"}


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder of one's own; no configuration, no node."""
    for name in list(os.environ):
        if name.startswith(("TRANSOM_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sources, "SYSTEM_FILE", tmp_path / "none")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_version_is_data(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The version stands on standard output, by verb and by option."""
    assert cli.run(["version"]) == 0
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr() == (f"transom {__version__}\n" * 2, "")


def test_no_verb_is_a_question(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a verb the verbs are listed on standard error, and nothing was done."""
    assert cli.run([]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert all(verb in said.err for verb in cli.cli.commands)


def test_a_usage_error_has_a_hint_and_no_echo(
    house: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A secret typed in the wrong place does not appear anywhere."""
    for arguments in (
        [SECRET],
        ["check", SECRET],
        ["check", "-c", SECRET],
        ["demo", "--sabotage", SECRET],
    ):
        assert cli.run(arguments) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert "\n\nhint: " in said.err
        assert SECRET not in said.err


def test_check_says_where_it_looked_and_what_it_found(
    house: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No file is fine; a file is named; words go to standard error."""
    assert cli.run(["check"]) == 0
    assert capsys.readouterr() == (
        "",
        "configuration: none, the defaults hold\nconfiguration is valid\n",
    )
    path = put(house / ".config" / "transom" / "config.toml", "[owner]\nhost = '127.0.0.1'\n")
    assert cli.run(["check"]) == 0
    assert capsys.readouterr().err == (
        f"configuration: {path}\n"
        "warning: not acted on in this version: owner.host\n"
        "configuration is valid\n"
    )


def test_check_reports_every_problem(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All problems, their lines, then the hints; exit code 2."""
    path = put(house / "c.toml", "[listen]\nprot = 1\nport = -1\nhost = '0.0.0.0'\n")
    assert cli.run(["check", "-c", str(path)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"{path}:2: listen.prot: no such setting; did you mean `port`?",
        f"{path}:3: listen.port: expected a whole number from 0 to 65535, got -1",
        f"{path}:4: listen.host: others can reach this address, and there is no [[client]] to tell "
        "them apart",
        "",
        "hint: give each client a token: [[client]] with name and token_sha256",
    ]


def test_check_shows_what_holds(
    house: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Effective values with their origin are data; secrets are not among them."""
    monkeypatch.setenv("VENDOR_KEY", SECRET)
    monkeypatch.setenv("TRANSOM_LISTEN__PORT", "9")
    text = """[[upstream]]
name = "gw"
leg = "cloud"
base_url = "https://gw.example"
dialects = ["openai"]
auth = "key"
key = { env = "VENDOR_KEY" }
"""
    path = put(house / "c.toml", text)
    assert cli.run(["check", "-c", str(path), "--show"]) == 0
    said = capsys.readouterr()
    shown = {line.split(" = ")[0]: line.split(" = ", 1)[1] for line in said.out.splitlines()}
    assert shown["listen.port"].split() == ["9", "#", "TRANSOM_LISTEN__PORT"]
    assert shown["upstream[0].key"].startswith('{ env = "VENDOR_KEY" }')
    assert shown["upstream[0].key"].endswith(f"# {path}:7")
    assert SECRET not in said.out + said.err


def test_check_refuses_a_secrets_folder_that_cannot_be_read(
    house: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A node would keep everything off the cloud; the owner should know before."""
    path = put(house / "c.toml", f"[screen]\nsecrets_dir = '{house}/secrets'\n")
    assert cli.run(["check", "-c", str(path)]) == 2
    assert "screen.secrets_dir: cannot be read" in capsys.readouterr().err
    put(house / "secrets" / "one", SECRET)
    put(house / "secrets" / "huge", "x" * ((1 << 20) + 1))
    assert cli.run(["check", "-c", str(path)]) == 0
    said = capsys.readouterr().err
    assert "warning: 1 files below screen.secrets_dir are not looked for" in said
    assert SECRET not in said
    (house / "secrets" / "huge").unlink()
    assert cli.run(["check", "-c", str(path)]) == 0
    assert "warning" not in capsys.readouterr().err


def test_check_online_connects(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An upstream that listens is reachable, one that does not makes exit code 1."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        path = put(
            house / "c.toml",
            f'[[upstream]]\nname="home"\nleg="local"\nbase_url="http://127.0.0.1:{port}"\n'
            'dialects=["ollama"]\n',
        )
        assert cli.run(["check", "-c", str(path), "--online"]) == 0
        assert "home: reachable\nconfiguration is valid" in capsys.readouterr().err
    assert cli.run(["check", "-c", str(path), "--online"]) == 1
    said = capsys.readouterr().err
    assert "home: cannot be reached: Connection refused" in said
    assert "configuration is valid" not in said


@pytest.mark.parametrize("verb", ["serve", "check"])
def test_a_rival_is_refused(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    """Another distribution that installs our package names makes us stop with the way out."""
    owners = {"proxy": ["transom", "proxy.py"], "policies": ["transom"], "click": ["click"]}
    monkeypatch.setattr(rivals, "owners", lambda: owners)
    assert cli.run([verb]) == 2
    assert capsys.readouterr().err == (
        "proxy.py also installs a package named proxy or policies\n\n"
        "hint: install Transom on its own, for example with: uv tool install transom\n"
    )


def test_init_writes_a_configuration_that_is_valid(
    house: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For the owner alone, with its folders, and never over a file that is there."""
    path = house / ".config" / "transom" / "config.toml"
    assert cli.run(["init"]) == 0
    assert capsys.readouterr().out == f"{path}\n"
    assert path.read_text() == example()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((house / ".local/state/transom").stat().st_mode) == 0o700
    assert cli.run(["check"]) == 0
    path.write_text("[listen]\n")
    capsys.readouterr()
    assert cli.run(["init"]) == 1
    assert capsys.readouterr().err == (
        f"error: {path} is there already\n\nhint: transom init --force\n"
    )
    assert path.read_text() == "[listen]\n"
    assert cli.run(["init", "--force"]) == 0
    assert path.read_text() == example()
    assert [each.name for each in path.parent.iterdir()] == ["config.toml"]
    assert cli.run(["init", "-c", str(house / "other.toml")]) == 0
    assert (house / "other.toml").read_text() == example()


def test_init_says_why_it_cannot_write(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file in the place of a folder is no traceback."""
    put(house / ".config", "")
    assert cli.run(["init"]) == 2
    assert "cannot be written: " in capsys.readouterr().err


Called = list[dict[str, Any]]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Called:
    """Calls of what serves, which is in another module's hands."""
    import proxy.serve

    calls: Called = []

    def serve(config: Config, *, reload: Callable[[], Config], screen: Build) -> int:
        calls.append({"config": config, "reload": reload, "screen": screen})
        return 0

    monkeypatch.setattr(proxy.serve, "serve", serve)
    return calls


def test_serve_hands_over_the_configuration(
    house: Path, served: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was found is served, and a reload searches and reads again."""
    assert cli.run(["serve"]) == 0
    assert served[0]["config"] == served[0]["reload"]()
    assert served[0]["screen"]({}).version == Screen.build().version
    path = put(house / "c.toml", "[listen]\nport = 9\n[owner]\nhost = '127.0.0.1'\n")
    assert cli.run(["serve", "-c", str(path)]) == 0
    assert served[1]["reload"]().listen.port == 9
    assert "warning: not acted on in this version: owner.host" in capsys.readouterr().err


@pytest.mark.parametrize("named", [True, False])
def test_a_reload_does_not_take_defaults_for_a_file_that_is_gone(
    house: Path, served: Called, named: bool
) -> None:
    """Whether it was named or found; where there was none, one that was written since counts."""
    file = put(house / ".config/transom/config.toml", "[listen]\nport = 9\n")
    assert cli.run(["serve", *(["-c", str(file)] if named else [])]) == 0
    file.unlink()
    with pytest.raises(Invalid, match="cannot be read: No such file"):
        served[0]["reload"]()
    assert cli.run(["serve"]) == 0
    put(file, "[listen]\nport = 9\n")
    assert served[1]["reload"]().listen.port == 9


def test_serve_does_not_start_on_a_broken_configuration(
    house: Path, served: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing listens before everything is valid."""
    path = put(house / "c.toml", "[listen]\nport = 'x'\n")
    assert cli.run(["serve", "-c", str(path)]) == 2
    assert served == []


@pytest.fixture
def explained(monkeypatch: pytest.MonkeyPatch) -> Called:
    """Calls of what explains."""
    import proxy.explain

    calls: Called = []

    def explain(config: Config, **rest: Any) -> int:
        calls.append(rest)
        return 1

    monkeypatch.setattr(proxy.explain, "explain", explain)
    return calls


def test_explain_reads_a_file_or_standard_input(
    house: Path, explained: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The body goes over as it is; the verdict's exit code comes back."""
    path = put(house / "body.json", "{}")
    assert cli.run(["explain", "--path", "/v1/messages", str(path)]) == 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"a":1}')))
    options = ["--path", "/v1/messages", "--upstream", "claude", "--json"]
    assert cli.run(["explain", *options, "-"]) == 1
    assert explained == [
        {"path": "/v1/messages", "upstream": None, "body": b"{}", "as_json": False},
        {"path": "/v1/messages", "upstream": "claude", "body": b'{"a":1}', "as_json": True},
    ]


def test_explain_of_a_file_that_is_not_there(
    house: Path, explained: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be read is said without its name, which may be the body itself."""
    assert cli.run(["explain", "--path", "/v1/messages", SECRET]) == 2
    said = capsys.readouterr().err
    assert "error: the file to explain cannot be read" in said
    assert SECRET not in said
    assert explained == []


class Node:
    """Answers on the control socket of a house as a node would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[str] = []
        self.answer: dict[str, object] = {"ok": True}
        monkeypatch.setattr("proxy.control.ask", self.ask)

    def ask(self, folder: Path, do: str, seconds: float) -> dict[str, object]:
        assert folder.name == "transom"
        assert seconds == (60 if do == "reload" else 5)
        self.asked.append(do)
        return self.answer


@pytest.fixture
def node(house: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(monkeypatch)


def test_health_of_a_running_node(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    """0 healthy, 1 not; --json prints the answer as data."""
    assert cli.run(["health"]) == 0
    assert capsys.readouterr() == ("", "healthy\n")
    node.answer = {"ok": False, "why": "x"}
    assert cli.run(["health", "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out) == node.answer
    assert said.err == "not healthy\n"
    assert node.asked == ["health", "health"]


def test_reload_waits_for_the_verdict(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    """0 and what waits for a restart, or 2 and every problem."""
    assert cli.run(["reload"]) == 0
    assert capsys.readouterr().err == "reloaded\n"
    node.answer = {"ok": True, "restart": ["listen.port"]}
    assert cli.run(["reload"]) == 0
    assert "these wait for a restart: listen.port" in capsys.readouterr().err
    node.answer = {"ok": False, "problems": "c.toml:1: x: no such setting"}
    assert cli.run(["reload"]) == 2
    assert capsys.readouterr().err == "c.toml:1: x: no such setting\n"
    node.answer = {"error": "another user runs this node"}
    assert cli.run(["reload"]) == 2
    assert node.asked == ["reload"] * 4


@pytest.mark.parametrize("verb", ["health", "reload"])
def test_without_a_node_the_code_is_three(
    house: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    """Scripts can tell a node that is ill from none at all."""
    assert cli.run([verb]) == 3
    assert "error: no node answers at" in capsys.readouterr().err


def test_demo_hands_over_its_sabotage(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The demo's exit code is the verb's."""
    calls: list[str | None] = []
    monkeypatch.setattr("proxy.demo.main", lambda sabotage: calls.append(sabotage) or 1)
    assert cli.run(["demo"]) == 1
    assert cli.run(["demo", "--sabotage", "frame"]) == 1
    assert calls == [None, "frame"]


def test_an_interrupt_is_no_traceback(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends a verb with the code that shells expect."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "say", interrupted)
    assert cli.run(["version"]) == 130


@pytest.mark.parametrize("module", ["proxy", "proxy.cli:main"])
def test_both_ways_in_are_the_same(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], module: str
) -> None:
    """`python -m proxy` and the console script end with the code of the verb."""
    monkeypatch.setattr(sys, "argv", ["transom", "version"])
    with pytest.raises(SystemExit) as ended:
        cli.main() if ":" in module else runpy.run_module(module, run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"transom {__version__}\n"


def loaded(*arguments: str, home: Path) -> set[str]:
    """Top-level modules that a run of `transom` loads in a process of its own."""
    script = (
        "import sys\nfrom proxy import cli\n"
        "cli.run(sys.argv[1:])\nprint(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    "arguments", [["--help"], ["version"], ["check"], ["health"], ["completion", "zsh"]]
)
def test_quick_verbs_load_nothing_heavy(tmp_path: Path, arguments: list[str]) -> None:
    """Help, version, check and health stay quick, and work where a library is broken."""
    modules = loaded(*arguments, home=tmp_path)
    assert "click" in modules
    assert not modules & HEAVY


def test_the_example_travels_with_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed it lies beside the modules, in a checkout above them; without it, a clear end."""
    from proxy import first_steps
    from proxy.problems import Invalid

    monkeypatch.setattr(first_steps, "__file__", str(tmp_path / "proxy" / "first_steps.py"))
    with pytest.raises(Invalid, match=r"lacks config\.example\.toml"):
        example()
    put(tmp_path / "config.example.toml", "checkout")
    assert example() == "checkout"
    put(tmp_path / "proxy" / "config.example.toml", "installed")
    assert example() == "installed"


SHELLS = ("bash", "zsh", "fish")


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_is_code_that_the_shell_can_read(
    house: Path, capsys: pytest.CaptureFixture[str], shell: str
) -> None:
    """For each shell a script on standard output that asks `transom` itself; where the shell is
    installed it finds no fault in it."""
    assert cli.run(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert f"_TRANSOM_COMPLETE={shell}_complete" in script
    if (found := shutil.which(shell)) is None:
        pytest.skip(f"{shell} is not installed; its completion was made and not read by it")
    path = put(house / "completion", script)
    done = subprocess.run([found, "-n", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_bash_completes_verbs_and_flags(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sourced in a real bash, the script offers what the command line has."""
    if (bash := shutil.which("bash")) is None:
        pytest.skip("bash is not installed")
    cli.run(["completion", "bash"])
    script = put(house / "completion", capsys.readouterr().out)
    put(house / "bin" / "transom", f'#!/bin/sh\nexec {sys.executable} -m proxy "$@"\n').chmod(0o755)
    ask = (
        'source "$1"; shift; COMP_WORDS=(transom "$@"); COMP_CWORD=$#; '
        '_transom_completion transom; printf "%s\\n" "${COMPREPLY[@]}"'
    )

    def offered(*words: str) -> set[str]:
        done = subprocess.run(
            [bash, "--norc", "-c", ask, "bash", str(script), *words],
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parents[2],
            env={"PATH": f"{house / 'bin'}:{os.environ['PATH']}", "HOME": str(house)},
        )
        return set(done.stdout.split())

    assert offered("") == set(cli.cli.commands)
    assert offered("completion", "z") == {"zsh"}
    assert "--online" in offered("check", "--")


def test_the_demo_needs_its_sdks(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where they were left out, as in the image, it says so; nothing is played."""
    monkeypatch.setitem(sys.modules, "ollama", None)
    monkeypatch.setattr("proxy.demo.main", lambda sabotage: pytest.fail("it played"))
    assert cli.run(["demo"]) == 1
    assert capsys.readouterr().err == (
        "error: the demo plays with SDKs that are not installed: ollama\n\n"
        "hint: pip install ollama\n"
    )


@pytest.fixture(autouse=True)
def no_leak(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Nothing that a test left unread on either stream holds the secret."""
    yield
    assert SECRET not in "".join(capsys.readouterr())
