"""What a start does beside the rest of it."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from policies.screening.screen import shipped
from proxy import early
from proxy.early import Early


def test_nobody_gets_a_screen_before_its_rules_are_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who asks early waits; the screen is the one that is built without any thread."""
    go_on = Event()

    def slowly() -> Any:
        assert go_on.wait(10)
        return shipped()

    monkeypatch.setattr(early, "shipped", slowly)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(Early().screen, {"file": b"hunter2-of-the-house"})
        with pytest.raises(TimeoutError):
            asked.result(0.2)
        go_on.set()
        built = asked.result(10)
    assert built.version == early.Screen.build({"file": b"hunter2-of-the-house"}).version


def test_a_rule_that_cannot_be_compiled_leaves_no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What went wrong in the thread is raised where the screen is asked for, every time."""

    def broken() -> None:
        raise ValueError("rule x: broken")

    monkeypatch.setattr(early, "shipped", broken)
    begun = Early()
    for _ in range(2):
        with pytest.raises(ValueError, match="rule x: broken"):
            begun.screen({})


def test_it_begins_before_the_rest_is_read() -> None:
    """What takes longest to read in is not there yet when the thread begins."""
    script = (
        "import sys, proxy.early\nprint(*({'aiohttp', 'structlog', 'asyncio'} & {*sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.strip() == ""
