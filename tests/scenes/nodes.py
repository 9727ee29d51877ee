"""A node as the user runs it: `transom serve` in a process and a home of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib import error, request


@dataclass
class Served:
    """`home` holds configuration, state and what the process wrote."""

    url: str
    home: Path
    process: subprocess.Popen[bytes]

    def post(
        self, path: str, body: bytes | Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers (lower-case) and body of the answer."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        asked = request.Request(
            self.url + path,
            data=raw,
            headers={"content-type": "application/json", **(headers or {})},
            method="POST",
        )
        opener = request.build_opener(request.ProxyHandler({}))
        try:
            with opener.open(asked, timeout=10) as answer:
                return answer.status, _lower(answer.headers), answer.read()
        except error.HTTPError as refused:
            with refused:
                return refused.code, _lower(refused.headers), refused.read()

    def written(self) -> dict[str, bytes]:
        """Every file of this node: log, state with its journal, sockets aside."""
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in self.home.rglob("*")
            if path.is_file() and path.name != "config.toml"
        }


def _lower(headers: Any) -> Mapping[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def environment(home: Path) -> dict[str, str]:
    """That of a home of its own, in which the recorder of sockets still listens."""
    kept = ("PYTHONPATH", "CONNECTS")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CONFIG_HOME": str(home / "config"),
    }


@contextmanager
def served(
    home: Path, config: str, *, ends: int = 0, environ: Mapping[str, str] | None = None
) -> Iterator[Served]:
    """Serve by `config` until the block ends; then SIGTERM must end it with 0. `ends`: the code of
    a node that the block has ended already; `environ`: what its environment has besides."""
    home.mkdir(parents=True, exist_ok=True)
    file = home / "config.toml"
    file.write_text(f"version = 1\n{config}\n[listen]\nport = 0\n")
    with (home / "stdout").open("ab") as out, (home / "stderr").open("ab") as err:
        began = err.tell()
        process = subprocess.Popen(
            [sys.executable, "-m", "proxy", "serve", "-c", str(file)],
            stdout=out,
            stderr=err,
            env={**environment(home), **(environ or {})},
            cwd=Path(__file__).parents[2],
        )
        try:
            yield Served(_address(home / "stderr", began, process), home, process)
        finally:
            process.send_signal(signal.SIGTERM)
            code = process.wait(20)
    assert code == ends


def _address(log: Path, began: int, process: subprocess.Popen[bytes]) -> str:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        for line in log.read_bytes()[began:].decode().splitlines():
            if line.startswith("listening "):
                return line.removeprefix("listening ")
        assert process.poll() is None, log.read_text()
        time.sleep(0.02)
    raise AssertionError("it does not listen")


def upstream(url: str, leg: str = "cloud") -> str:
    """The configuration of one upstream for every dialect."""
    auth = "caller" if leg == "cloud" else "none"
    return (
        f'[[upstream]]\nname = "only"\nleg = "{leg}"\nbase_url = "{url}"\n'
        f'dialects = ["anthropic", "openai", "ollama"]\nauth = "{auth}"\n'
    )
