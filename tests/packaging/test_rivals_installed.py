"""Another distribution with a package `proxy` in the same environment is noticed, whichever of the
two was installed last; an installer only copies files, so here they are copied."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.packaging.installing import ROOT, SERVE_LOCK, environment, pinned, tops

META = "proxy.py-2.4.10.dist-info"
RIVAL = {
    # As in proxy.py 2.4.10: no version, and a module that only the rival has.
    "proxy/__init__.py": "from .proxy import main\n__all__ = ['main']\n",
    "proxy/__main__.py": "from proxy import main\nmain()\n",
    "proxy/proxy.py": "def main():\n    print('the rival')\n",
    f"{META}/METADATA": "Metadata-Version: 2.1\nName: proxy.py\nVersion: 2.4.10\n",
    f"{META}/top_level.txt": "proxy\n",
    f"{META}/RECORD": "proxy/__init__.py,,\nproxy/__main__.py,,\nproxy/proxy.py,,\n",
}


def put_ours(site: Path, wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)


def put_theirs(site: Path, wheel: Path) -> None:
    for name, text in RIVAL.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(params=["ours last", "theirs last", "ours alone"])
def site(request: pytest.FixtureRequest, wheel: Path, tmp_path: Path) -> tuple[str, Path]:
    """A folder of packages, in one of the orders."""
    folder = tmp_path / "site"
    folder.mkdir()
    for name in pinned(SERVE_LOCK):
        for path in tops(name):
            (folder / path.name).symlink_to(path)
    steps = {
        "ours last": (put_theirs, put_ours),
        "theirs last": (put_ours, put_theirs),
        "ours alone": (put_ours,),
    }
    for step in steps[request.param]:
        step(folder, wheel)
    return request.param, folder


def ran(site: Path, home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The console script `proxy.cli:main`, with nothing but `site` to import from."""
    start = "import sys; sys.path.insert(0, sys.argv.pop(1)); from proxy.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", start, str(site), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=home,
        env=environment(home),
    )


def test_a_rival_is_noticed_in_either_order(site: tuple[str, Path], tmp_path: Path) -> None:
    """`serve`, `check` and `doctor` end with its name and the way out, and do nothing before."""
    order, folder = site
    checked = ran(folder, tmp_path, "check")
    if order == "ours alone":
        assert (checked.returncode, checked.stdout) == (0, ""), checked.stderr
        return
    for done in (checked, ran(folder, tmp_path, "serve")):
        assert done.returncode == 2
        assert done.stderr == (
            "proxy.py also installs a package named proxy or policies\n\n"
            "hint: install Transom on its own, for example with: uv tool install transom\n"
        )
    looked = ran(folder, tmp_path, "doctor")
    assert looked.returncode == 1
    assert looked.stdout.startswith("wrong    rivals ")
    assert looked.stdout.count("\n") == 1


def test_a_rival_is_no_dependency_of_anything() -> None:
    """Neither stands in any lock."""
    for lock in (ROOT / "requirements.lock", SERVE_LOCK, ROOT / "deploy" / "build.lock"):
        names = {line.partition("=")[0].lower() for line in lock.read_text().splitlines()}
        assert not names & {"proxy.py", "proxy-py", "policies", "proxy"}
