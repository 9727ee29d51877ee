"""The settings that the bench tries: every patch meets something in the product."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.variant import VARIANTS, _replace, available

ALL = """
import sys
from bench.variant import available, main
*first, last = available()
from bench import variant
for name in first:
    variant.VARIANTS[name].patch()
sys.argv = ["transom", last, "version"]
main()
"""


def test_every_patch_meets_its_mark() -> None:
    """All of them in one process, which then still is `transom`: a patch of something that the
    product no longer has raises."""
    done = subprocess.run(
        [sys.executable, "-c", ALL],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(Path.cwd())},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_a_patch_of_nothing_is_an_error() -> None:
    """Otherwise it would be measured as a setting that does not matter."""
    with pytest.raises(AttributeError):
        _replace(sys, "no_such_thing", None)


def test_what_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """And all others stay."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert set(VARIANTS) - set(available()) == {"uvloop"}
