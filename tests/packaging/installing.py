"""Transom as users have it: the wheel, in an environment of its own, with what serving needs."""

import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
SERVE_LOCK = ROOT / "deploy" / "serve.lock"


@dataclass(frozen=True)
class Installed:
    """An environment outside the checkout."""

    home: Path

    @property
    def transom(self) -> Path:
        return self.home / "bin" / "transom"

    @property
    def python(self) -> Path:
        return self.home / "bin" / "python"

    @property
    def site(self) -> Path:
        (found,) = (self.home / "lib").glob("python*/site-packages")
        return found

    def run(
        self, *arguments: object, home: Path, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """`transom` with these arguments, in a folder and a home far from the checkout."""
        return subprocess.run(
            [self.transom, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            cwd=home,
            env=environment(home, **environ),
        )


def environment(home: Path, **environ: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), **environ}


def built(folder: Path) -> Path:
    """The wheel, built from this checkout without a network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


def installed(wheel: Path, folder: Path) -> Installed:
    """A fresh environment with the wheel and links to exactly what `serve.lock` pins."""
    venv.create(folder, symlinks=True)
    here = Installed(folder)
    for name in pinned(SERVE_LOCK):
        for path in tops(name):
            (here.site / path.name).symlink_to(path)
    command = [sys.executable, "-m", "pip", "--python", str(here.python), "install"]
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*command, *options, str(wheel)], check=True, capture_output=True)
    return here


def pinned(lock: Path) -> Mapping[str, str]:
    """Name → the whole requirement of every package that a lock pins for this interpreter."""
    found = {}
    for line in lock.read_text("utf-8").splitlines():
        if hit := re.match(r"([A-Za-z0-9._-]+==[^\\]+)", line):
            requirement = Requirement(hit[1].strip())
            if requirement.marker is None or requirement.marker.evaluate():
                found[requirement.name] = str(requirement.specifier)
    return found


def tops(name: str) -> Iterator[Path]:
    """Packages, modules and metadata of an installed distribution, each once."""
    dist = distribution(name)
    parts = {path.parts[0] for path in dist.files or ()} - {"..", "__pycache__"}
    for part in sorted(parts):
        yield Path(str(dist.locate_file(part)))
