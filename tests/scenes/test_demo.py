"""`transom demo` as the user runs it: a process of its own."""

import os
import subprocess
import sys

from proxy.demo.files import nsec


def demo() -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "proxy", "demo"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def spent() -> float:
    """Seconds of processor time of ended child processes: unlike the clock on the wall, it does not
    depend on what else the machine is doing."""
    times = os.times()
    return times.children_user + times.children_system


def test_the_demo_passes_fast_and_prints_no_key() -> None:
    """Exit 0 with every check, nothing on standard error, and no more work than three times the
    import of the SDKs that it plays with: a measure that is slow where the machine is."""
    before = spent()
    subprocess.run([sys.executable, "-c", "import anthropic, ollama, openai"], check=True)
    imports = spent() - before
    done = demo()
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "All 14 checks hold" in done.stdout
    assert done.stdout.count("\n") <= 64
    assert nsec() not in done.stdout
    assert "\x1b" not in done.stdout
    assert spent() - before - imports < 3 * imports
