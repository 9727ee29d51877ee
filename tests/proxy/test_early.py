"""What a start does beside the rest of it."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from policies.conversation import Strand
from policies.screening import Screen
from policies.screening import screen as screening
from proxy import early
from proxy.early import Early

DENY = {"file": b"hunter2-of-the-house"}
KEY = Strand(("model",), "sk-" + "proj-" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9" * 2)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start has one thread; tests may run beside others."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, bytes]]]:
    """What was taken over from the other process, each time that rules were compiled here."""
    taken: list[dict[str, bytes]] = []

    def compiled(packed: dict[str, bytes]) -> screening.Shipped:
        taken.append(packed)
        return screening.compiled(packed)

    monkeypatch.setattr(early, "compiled", compiled)
    return taken


def test_the_screen_of_another_process_is_the_same(here: list[dict[str, bytes]]) -> None:
    """It has the same version and finds the same; it is taken over once, for all who ask."""
    begun = Early()
    with_file, bare = begun.screen(DENY), begun.screen({})
    (taken,) = here
    assert sorted(taken) == sorted(screening.pack(first=True) | screening.pack(first=False))
    assert all(taken.values()), "nothing was left to be compiled"
    assert with_file.version == Screen.build(DENY).version
    assert bare.version == Screen.build().version
    text = Strand(("content",), "it says hunter2-of-the-house")
    for screen in (with_file, bare):
        plain = Screen.build(DENY if screen is with_file else {})
        assert screen.findings([KEY, text]) == plain.findings([KEY, text]) != ()


def test_a_process_that_dies_leaves_the_work_to_who_asks(
    monkeypatch: pytest.MonkeyPatch, here: list[dict[str, bytes]]
) -> None:
    """Nothing was handed over: the rules are compiled all the same, and no child stays behind."""
    monkeypatch.setattr(early, "pack", lambda **_: os.kill(os.getpid(), signal.SIGKILL))
    begun = Early()
    children = [other.child for other in begun._others]
    assert begun.screen({}).findings([KEY])
    assert (here, len(children)) == ([{}], 2)
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


def test_half_is_taken_over_where_one_process_dies(
    monkeypatch: pytest.MonkeyPatch, here: list[dict[str, bytes]]
) -> None:
    """The other half is compiled by who asks."""
    pack = screening.pack

    def dies(*, first: bool) -> dict[str, bytes]:
        if first:
            os.kill(os.getpid(), signal.SIGKILL)
        return pack(first=first)

    monkeypatch.setattr(early, "pack", dies)
    assert Early().screen({}).findings([KEY])
    assert [sorted(taken) for taken in here] == [sorted(pack(first=False))]


@pytest.mark.parametrize("handed", [b"", b"\x81", b"\x01", b"\x81\xa1a\x01"])
def test_half_of_it_is_nothing(
    monkeypatch: pytest.MonkeyPatch, here: list[dict[str, bytes]], handed: bytes
) -> None:
    """What is no table of engines is not used."""
    monkeypatch.setattr(early.msgspec.msgpack, "encode", lambda value: handed)
    assert Early().screen({}).findings([KEY])
    assert here == [{}]


def test_without_other_processes_it_works_as_well(
    monkeypatch: pytest.MonkeyPatch, here: list[dict[str, bytes]]
) -> None:
    """No room for one, none on this platform, or threads that a copy would lack."""

    def full() -> int:
        raise BlockingIOError

    files = len([*Path("/dev/fd").iterdir()])
    monkeypatch.setattr(os, "fork", full)
    assert Early().screen({}).findings([KEY])
    monkeypatch.delattr(os, "fork")
    assert Early().screen({}).findings([KEY])
    monkeypatch.undo()
    assert len([*Path("/dev/fd").iterdir()]) == files
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    begun = Early()
    assert begun._others == []
    assert here == [{}, {}]


def test_a_rule_that_cannot_be_compiled_leaves_no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process is silent about it; who asks for the screen is told, every time."""

    def broken() -> None:
        raise ValueError("rule x: broken")

    monkeypatch.setattr(screening, "load", broken)
    begun = Early()
    for _ in range(2):
        with pytest.raises(ValueError, match="rule x: broken"):
            begun.screen({})


def test_it_begins_before_the_rest_is_read() -> None:
    """What takes longest to read in is not there yet when the process begins."""
    script = "import sys, proxy.early; print(*{'aiohttp', 'structlog', 'asyncio'} & {*sys.modules})"
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.strip() == ""
