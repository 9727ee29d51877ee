"""The Dockerfile, read as far as that goes without an engine: what it says must be true."""

import json
import re
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from proxy.cli import cli
from proxy.config import Listen
from proxy.config.sources import SYSTEM_FILE, state_folder
from tests.packaging.installing import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SDKS = {"anthropic", "openai", "ollama"}
Step = tuple[str, str]


def steps() -> list[Step]:
    """Instructions in order: name and the rest, continued lines joined, comments left out."""
    text = (ROOT / "Dockerfile").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    split = [line.split(None, 1) for line in joined.splitlines() if line.strip()]
    return [(name, rest) for name, rest in split]


STEPS = steps()
STARTS = [number for number, (name, _) in enumerate(STEPS) if name == "FROM"]
FINAL = STEPS[STARTS[-1] :]


def of(name: str, where: list[Step] = STEPS) -> list[str]:
    return [rest for each, rest in where if each == name]


def variables(where: list[Step]) -> dict[str, str]:
    pairs = [pair for rest in of("ENV", where) for pair in shlex.split(rest)]
    return dict(pair.split("=", 1) for pair in pairs)


def test_two_stages_of_one_slim_image_without_a_registry() -> None:
    """What builds is left behind; no host is named, so whoever builds decides where images are
    from."""
    assert [rest.split()[0] for rest in of("FROM")] == ["python:${PYTHON}-slim"] * 2
    (default,) = of("ARG")
    major, minor = re.fullmatch(r"PYTHON=(\d+)\.(\d+)", default).groups()  # type: ignore[union-attr]
    least = PROJECT["project"]["requires-python"].removeprefix(">=").split(".")
    assert (int(major), int(minor)) >= tuple(map(int, least))
    assert not re.search(r"\w+\.(io|com|org|dev)\b", " ".join(rest for _, rest in STEPS))


def test_only_known_instructions_are_used() -> None:
    """`ADD` fetches and unpacks, `MAINTAINER` is gone, `SHELL` changes what a line means."""
    assert {name for name, _ in STEPS} <= {
        "ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "RUN",
        "STOPSIGNAL", "USER", "VOLUME", "WORKDIR",
    }  # fmt: skip


def test_nothing_in_it_is_for_one_kind_of_machine() -> None:
    """Built for another architecture the same lines do the same."""
    assert not re.search(r"amd64|x86|aarch64|arm64|TARGETARCH|uname", repr(STEPS))


def test_packages_come_by_hash_from_the_locks_and_ours_from_the_checkout() -> None:
    """Nothing is fetched that a lock does not name, nothing is compiled, and only pip fetches."""
    installs = re.findall(r"pip install ([^&]+)", " ".join(of("RUN")))
    assert len(installs) == 3
    for options in installs:
        locked = "--require-hashes --only-binary :all: -r deploy/" in options
        ours = options.split() == ["--no-deps", "--no-index", "dist/*.whl"]
        assert locked or ours, options
    assert not re.search(r"\b(apt-get|apk|curl|wget|git|sudo|npm)\b", " ".join(of("RUN")))


def test_the_final_stage_runs_as_nobody_in_particular() -> None:
    """Numeric, so that an engine can see that it is not root; nothing is done after it as root."""
    names = [name for name, _ in FINAL]
    assert of("USER", FINAL) == ["1000:1000"]
    assert not {"RUN", "COPY"} & set(names[names.index("USER") :])
    made = " ".join(of("RUN", FINAL))
    assert "--uid 1000" in made
    assert "--gid 1000" in made


def test_it_starts_serves_and_ends_as_the_command_does() -> None:
    """Exec forms: signals reach the node, and there is no shell to quote for."""
    assert json.loads(of("ENTRYPOINT", FINAL)[0]) == ["transom"]
    assert json.loads(of("CMD", FINAL)[0]) == ["serve"]
    assert of("STOPSIGNAL", FINAL) == ["SIGTERM"]
    (health,) = of("HEALTHCHECK", FINAL)
    assert json.loads(health.partition("CMD ")[2]) == ["transom", "health"]
    assert {"serve", "health"} <= set(cli.commands)
    assert of("EXPOSE", FINAL) == [str(Listen().port)]


def test_state_lies_in_the_volume_and_nowhere_else() -> None:
    """With the root file system read-only a node can still remember and be asked."""
    known = variables(FINAL)
    (volume,) = json.loads(of("VOLUME", FINAL)[0])
    assert str(state_folder(known)) == volume
    assert f"--mode 0700 --owner transom --group transom {volume}" in " ".join(of("RUN", FINAL))
    assert known["PYTHONDONTWRITEBYTECODE"] == "1"
    assert known["PYTHONSAFEPATH"] == "1"


def test_no_secret_and_no_setting_is_baked_in() -> None:
    """Above all not an address that others can reach: that needs client tokens first."""
    assert not [name for name in variables(STEPS) if name.startswith("TRANSOM_")]
    assert not re.search(r"(?i)key|token|password", " ".join(variables(STEPS)))


def test_what_is_copied_is_there_and_let_through() -> None:
    """.dockerignore lets through what is copied and nothing else."""
    ignore = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert "*" in ignore
    let = {line[1:] for line in ignore if line.startswith("!")}
    copied = {
        name
        for rest in of("COPY")
        if not rest.startswith("--from=build ")
        for name in rest.split()[:-1]
    }
    assert copied == let
    assert all((ROOT / name).exists() for name in copied)
    assert not [
        name for name in ("shared", ".env", "secrets") if any(fnmatch(name, x) for x in let)
    ]


def test_what_the_wheel_needs_is_copied() -> None:
    """Sources, and every file that the project's metadata names."""
    copied = " ".join(of("COPY"))
    project = PROJECT["project"]
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    for name in [project["readme"], *project["license-files"], *wheel["packages"]]:
        assert re.search(rf"(^|\s){re.escape(name)}\s", copied), name
    for link in [path for path in ROOT.glob("proxy/**/*") if path.is_symlink()]:
        assert link.resolve().relative_to(ROOT).as_posix() in copied.split()


def pins(name: str) -> dict[str, set[str]]:
    """Requirement as written → its hashes."""
    found: dict[str, set[str]] = {}
    latest = ""
    for line in (ROOT / name).read_text("utf-8").splitlines():
        if "==" in line:
            latest = line.rstrip("\\ ").replace("'", '"')
            found[latest] = set()
        elif "--hash=" in line:
            found[latest].add(line.strip().rstrip("\\ "))
    return found


@pytest.mark.parametrize("lock", ["deploy/serve.lock", "deploy/build.lock"])
def test_the_locks_of_the_image_are_parts_of_the_one_that_is_tested(lock: str) -> None:
    """The same versions and the same files."""
    whole = {line.partition(" ;")[0]: hashes for line, hashes in pins("requirements.lock").items()}
    for line, hashes in pins(lock).items():
        assert hashes
        assert hashes <= whole[line.partition(" ;")[0]], line


def test_the_image_lacks_the_sdks_and_nothing_else() -> None:
    """Every dependency but the SDKs is locked for serving."""
    wanted = {
        re.split(r"[^A-Za-z0-9.-]", line)[0].replace(".", "-").lower()
        for line in PROJECT["project"]["dependencies"]
    }
    locked = {line.partition("==")[0] for line in pins("deploy/serve.lock")}
    assert wanted - SDKS <= locked
    assert not locked & (SDKS | {"httpx", "pydantic", "jiter"})
    left = (ROOT / "deploy" / "without-sdks.txt").read_text("utf-8")
    assert set(re.findall(r"^(\w+) ;", left, re.MULTILINE)) == SDKS


def test_the_readme_runs_the_image_as_it_must_be_run() -> None:
    """One line to copy: reachable from outside only with the address, a configuration with client
    tokens, read-only, without capabilities, state in the volume."""
    text = re.sub(r"\\\n\s*", "", (ROOT / "README.md").read_text("utf-8"))
    (line,) = re.findall(r"^docker run .*$", text, re.MULTILINE)
    (volume,) = json.loads(of("VOLUME", FINAL)[0])
    words = shlex.split(line)
    assert {"--read-only", "--cap-drop", "no-new-privileges", "transom"} <= set(words)
    assert words[words.index("--publish") + 1] == "127.0.0.1:8787:8787"
    assert words[words.index("--env") + 1] == "TRANSOM_LISTEN__HOST=0.0.0.0"
    mounts = [words[place + 1] for place, word in enumerate(words) if word == "--volume"]
    assert any(mount.endswith(f":{SYSTEM_FILE}:ro") for mount in mounts)
    assert any(mount.endswith(f":{volume}") for mount in mounts)


def test_the_entry_is_listed_where_a_builder_looks() -> None:
    """The files that an image needs stand at the top, the rest of deploying in `deploy/`."""
    assert {path.name for path in Path(ROOT / "deploy").iterdir()} == {
        "build.lock", "serve.lock", "transom.service", "without-sdks.txt",
    }  # fmt: skip
