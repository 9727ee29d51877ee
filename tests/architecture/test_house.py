"""The house rules, as tests: one arrow, small modules, few broad handlers, nothing hidden."""

import ast
import functools
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted([*ROOT.glob("policies/**/*.py"), *ROOT.glob("proxy/**/*.py")])
BROAD_HANDLERS = 3  # request handler, background task, the guard round the screen
LINES = 400
PURE_BANS = {
    "proxy", "aiohttp", "structlog", "pydantic", "click", "asyncio", "socket", "ssl", "os",
    "time", "datetime", "logging", "random", "secrets", "subprocess", "io", "pathlib", "sqlite3",
    "anthropic", "openai", "ollama",
}  # fmt: skip
TOP = {
    "CHANGELOG.md", "Dockerfile", "LICENSE", "Makefile", "README.md", "bench",
    "config.example.toml", "deploy", "docs", "policies", "proxy", "pyproject.toml",
    "requirements.lock", "tests", "tools",
}  # fmt: skip
TAKEN = {"common", "core", "http", "plugin", "testing"}, {"policy", "rules", "parser"}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_small_and_says_what_it_owns(path: Path) -> None:
    """Every module opens with a docstring and ends before line 400."""
    source = path.read_text("utf-8")
    assert ast.get_docstring(ast.parse(source)), "no module docstring"
    assert source.count("\n") <= LINES


@pytest.mark.parametrize("path", sorted(ROOT.glob("policies/**/*.py")), ids=name_of)
def test_policies_touch_nothing_of_the_world(path: Path) -> None:
    """A policy imports no clock, socket, environment, logger or `proxy`, and awaits nothing."""
    tree = ast.parse(path.read_text("utf-8"))
    assert not {name.partition(".")[0] for name in imports(tree)} & PURE_BANS
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)]


def test_importing_policies_loads_nothing_of_the_world() -> None:
    """The ban holds along the whole import chain, whatever the linters are told."""
    script = (
        "import sys; before = set(sys.modules)\n"
        "import policies, policies.decide, policies.prove\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"proxy", "aiohttp", "structlog", "pydantic", "click", "asyncio", "sqlite3"}


def everything_imported(tree: ast.AST) -> Iterator[str]:
    """Modules, and what is taken from them, which may be a module as well."""
    yield from imports(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)


EXPORTERS = {
    "prometheus_client", "opentelemetry", "statsd", "datadog", "ddtrace", "sentry_sdk", "posthog",
    "newrelic", "elasticapm", "influxdb", "influxdb_client", "graphyte", "honeycomb", "beeline",
    "analytics", "segment", "mixpanel", "amplitude", "rollbar", "bugsnag", "airbrake", "scout_apm",
    "appsignal", "telemetry", "metrics", "syslog", "smtplib", "ftplib", "telnetlib",
}  # fmt: skip


def test_nothing_is_exported() -> None:
    """No module of ours, and none that a serving node loads, sends figures anywhere."""
    found = {
        f"{name_of(path)}: {name}"
        for path in MODULES
        for name in everything_imported(ast.parse(path.read_text("utf-8")))
        if EXPORTERS & set(name.split(".")) or name == "logging.handlers"
    }
    assert not found
    done = subprocess.run(
        [sys.executable, "-c", "import sys, proxy.serve; print(*sys.modules)"],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    assert not {name.partition(".")[0] for name in done.stdout.split()} & EXPORTERS


def test_broad_handlers_stand_in_three_places() -> None:
    """`except Exception` hides bugs; three places may need it and each says why."""
    found = [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (
            node.type is None
            or any(
                isinstance(part, ast.Name) and part.id in ("Exception", "BaseException")
                for part in ast.walk(node.type)
            )
        )
    ]
    assert len(found) <= BROAD_HANDLERS, found


def test_no_name_belongs_to_another_distribution_or_to_python() -> None:
    """`proxy.py` and `policies` on the index install packages of our names."""
    for package, taken in zip(("proxy", "policies"), TAKEN, strict=True):
        names = {path.stem for path in (ROOT / package).iterdir()} - {"__init__", "__main__"}
        assert not names & taken
        assert not {n for n in names if n in sys.stdlib_module_names and package == "proxy"}


@functools.cache
def _imported_in(folder: Path) -> frozenset[str]:
    """What the tests of a folder import."""
    parsed = (ast.parse(test.read_text("utf-8")) for test in folder.glob("test_*.py"))
    return frozenset(name for tree in parsed for name in imports(tree))


def test_a_module_has_its_test_at_the_same_place() -> None:
    """A file's proof is at a guessable place: a test of its name, or one beside that imports it.
    The parts of a sub-package are proved together, in its folder."""
    missing = []
    for path in MODULES:
        place = path.relative_to(ROOT).with_suffix("")
        folder = ROOT / "tests" / place.parent
        code = [n for n in ast.parse(path.read_text("utf-8")).body if not isinstance(n, ast.Expr)]
        if path.stem in ("__init__", "__main__") or not code:
            continue
        beside = _imported_in(folder)
        dotted = place.as_posix().replace("/", ".")
        together = len(place.parts) > 2 and beside
        if not (folder / f"test_{path.stem}.py").exists() and not together and dotted not in beside:
            missing.append(place.as_posix())
    assert not missing


def test_tests_are_no_packages() -> None:
    """A `tests/proxy/__init__.py` would make `import proxy` find the tests."""
    assert not list(ROOT.glob("tests/**/__init__.py"))


def test_each_dependency_is_argued() -> None:
    """Every runtime dependency stands below a comment that says what it replaces."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    block = re.search(r"^dependencies = \[\n(.*?)^\]", text, re.DOTALL | re.MULTILINE)
    assert block
    argued = False
    for line in block[1].splitlines():
        argued = argued or line.strip().startswith("#")
        assert argued, line
    locked = (ROOT / "requirements.lock").read_text("utf-8")
    assert "://" not in locked
    assert locked.count("--hash=sha256:") > locked.count("==")


def tracked() -> list[Path]:
    """Every file of the checkout, from its root."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [Path(name) for name in filter(None, listed.stdout.split("\0"))]


def test_the_top_level_holds_what_is_looked_for() -> None:
    """A new entry stands there because a user or a contributor would look for it."""
    assert {path.parts[0] for path in tracked() if path.parts[0][0] != "."} <= TOP


def test_the_checkout_names_no_machine_and_no_registry() -> None:
    """Nothing in the repository leans on the machine that it was written on."""
    words = ["/" + "work/", "/" + "root/", "npm" + "js.", "python" + "hosted", "pypi" + ".org"]
    for name in tracked():
        path = ROOT / name
        if path.is_file():
            text = path.read_bytes()
            assert not [word for word in words if word.encode() in text], name


def test_importing_a_module_does_nothing() -> None:
    """Importing every module opens no socket, starts no thread and prints nothing."""
    names = [
        name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for path in MODULES
        if path.stem != "__main__"
    ]
    script = (
        "import importlib, threading\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        "assert threading.active_count() == 1, threading.enumerate()"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", script],
        capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_package_is_found_where_it_should_be() -> None:
    """No other distribution's `proxy` or `policies` shadows ours in this environment."""
    site = Path(sysconfig.get_paths()["purelib"])
    assert not (site / "proxy").exists()
    assert not (site / "policies").exists()
