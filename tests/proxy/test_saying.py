"""Data that cannot be written: one line, an exit code, and never a traceback."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import proxy
from proxy import cli, owner_verbs
from proxy.saying import UNHEARD, UNSAID

VERBS = (
    ["version"],
    ["--version"],
    ["--help"],
    ["explain", "--help"],
    ["check", "--show"],
    ["init", "--force"],
    ["connect"],
    ["connect", "codex"],
    ["completion", "bash"],
    ["explain", "--path", "/v1/messages", "body.json"],
)
FULL = "error: standard output cannot be written: No space left on device\n"


def run(
    verb: list[str], home: Path, stdout: int | None, stderr: int = subprocess.PIPE
) -> tuple[int, str]:
    """The verb as a process, and what it said on standard error; `stdout` None: it has none."""
    (home / "body.json").write_text('{"model":"m","messages":[]}')
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("TRANSOM_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-m", "proxy", *verb],
        cwd=home,
        stdout=stdout,
        stderr=stderr,
        preexec_fn=None if stdout is not None else lambda: os.close(1),
        env=environ | {"HOME": str(home), "PYTHONPATH": str(Path(proxy.__file__).parents[1])},
        text=True,
        timeout=30,
    )
    return done.returncode, done.stderr or ""


@contextmanager
def full() -> Iterator[int]:
    descriptor = os.open("/dev/full", os.O_WRONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def unread() -> Iterator[int]:
    """A pipe whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        yield writer
    finally:
        os.close(writer)


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_full_disk_is_told_in_one_line(tmp_path: Path, verb: list[str]) -> None:
    """Behind the words that the verb has anyway, and with a code of its own."""
    with full() as stdout:
        code, said = run(verb, tmp_path, stdout)
    assert (code, said.endswith(FULL)) == (UNSAID, True), said
    assert "Traceback" not in said
    assert "Exception" not in said


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_a_closed_pipe_ends_quietly(tmp_path: Path, verb: list[str]) -> None:
    """Whoever stopped reading has seen enough: not a word more than the verb has anyway."""
    with unread() as stdout:
        code, said = run(verb, tmp_path, stdout)
    assert code == UNHEARD
    assert [line for line in said.splitlines() if not line.startswith(("config", "address"))] == []


def test_no_standard_output_is_told_like_a_full_disk(tmp_path: Path) -> None:
    """A verb that was started without one has nowhere to put its data."""
    code, said = run(["version"], tmp_path, None)
    assert code == UNSAID
    assert said == "error: standard output cannot be written: Bad file descriptor\n"


@pytest.mark.parametrize("verb", [["check"], ["nonsense"]], ids=" ".join)
def test_words_that_nobody_hears_change_no_verdict(tmp_path: Path, verb: list[str]) -> None:
    """A full standard error takes the words, and the exit code says the rest."""
    with full() as stderr:
        code, _ = run(verb, tmp_path, subprocess.DEVNULL, stderr)
    assert code == (0 if verb == ["check"] else 2)


@pytest.mark.parametrize("verb", [["status"], ["status", "--json"], ["blocked", "--follow"]])
def test_verbs_that_ask_the_node_end_alike(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: list[str]
) -> None:
    """Those that go on for ever, too: with the first row that cannot be written."""
    row = {"id": 1, "last": "l", "times": 1, "event": "blocked", "trail": []}
    row |= {"leg_asked": "", "leg_taken": ""}

    def ask(verb: str, **facts: object) -> dict[str, Any]:
        return {"ok": True, "rows": [row]}

    monkeypatch.setattr(owner_verbs, "ask_node", ask)
    with Path("/dev/full").open("w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        assert cli.run(verb) == UNSAID
        stdout.flush()  # what was left in it goes nowhere, or this would fail
    assert capsys.readouterr().err == FULL


def test_all_that_verbs_say_is_said_here() -> None:
    """What is written past it would end in a traceback again."""
    folder = Path(proxy.__file__).parent
    past = [
        str(file.relative_to(folder))
        for file in folder.rglob("*.py")
        if file.name != "saying.py"
        and any(way in file.read_text() for way in ("click.echo", "stdout.write", "stderr.write"))
    ]
    assert past == []
