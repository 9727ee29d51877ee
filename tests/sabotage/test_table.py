"""Every line of defence is broken once; the scene that watches over it must notice.

A new `SECURITY:` comment needs a row in one of the `rows_*.py`: `line(module, a few words of the
comment, scene, Cut(old, new))`.
"""

import functools
import gc
import sys
import warnings
from collections.abc import Iterator

import pytest

from proxy.dialects import ALL
from proxy.dialects.facts import FactStore
from proxy.journal import Line
from tests.sabotage import (
    rows_asked,
    rows_doors,
    rows_inside,
    rows_local,
    rows_owner,
    rows_policies,
)
from tests.sabotage.breaking import ROOT, Cut, apply
from tests.sabotage.playing import lost, play
from tests.sabotage.row import Row
from tests.sockets.recording import is_here, overheard

TABLE = (
    *rows_policies.ROWS,
    *rows_doors.ROWS,
    *rows_inside.ROWS,
    *rows_local.ROWS,
    *rows_owner.ROWS,
    *rows_asked.ROWS,
)
MARK = "SECURITY:"
REACH = 16  # lines between a comment and what it guards


def marked() -> Iterator[tuple[str, int, str]]:
    """(module, line, text) of every `SECURITY:` comment, its first line."""
    for path in sorted([*ROOT.glob("policies/**/*.py"), *ROOT.glob("proxy/**/*.py")]):
        lines = path.read_text("utf-8").splitlines()
        for number, text in enumerate(lines, 1):
            if MARK in text:
                yield path.relative_to(ROOT).as_posix(), number, text.partition(MARK)[2].strip()


def found(row: Row) -> list[int]:
    return [at for module, at, text in marked() if module == row.module and row.says in text]


def test_every_marked_line_has_a_row() -> None:
    """A defence that nobody has ever seen fail is not known to hold."""
    lonely = [
        f"{module}:{number}: {text}"
        for module, number, text in marked()
        if not any(row.says and row.module == module and row.says in text for row in TABLE)
    ]
    assert not lonely, "add a row to tests/sabotage for each"


@pytest.mark.parametrize("row", [row for row in TABLE if row.says], ids=str)
def test_a_row_names_one_line_and_breaks_what_stands_there(row: Row) -> None:
    """Its words find one comment of its module, and what is cut there is what the comment is on."""
    (at,) = found(row)
    for each in row.breaks:
        if isinstance(each, Cut) and not each.module:
            assert abs(each.line(row.module) - at) <= REACH


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read while all was well is not remembered once something is broken."""
    for dialect in ALL.values():
        if hasattr(dialect, "store"):
            monkeypatch.setattr(dialect, "store", FactStore())
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("proxy", "policies"):
            for value in vars(module).values():
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


@pytest.fixture
def breaker() -> Iterator[pytest.MonkeyPatch]:
    """Undone at the end, and then nothing is left of what was read with something broken."""
    with pytest.MonkeyPatch.context() as breaking:
        forget(breaking)
        yield breaking
        forget(breaking)


@functools.cache
def _passes(scene: str, given: tuple[tuple[str, object], ...]) -> None:
    play(scene, dict(given))


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_the_scene_fails_when_the_defence_is_broken(row: Row, breaker: pytest.MonkeyPatch) -> None:
    """It passes while all is well; broken, it fails by its own assertion and by nothing else."""
    _passes(row.scene, tuple(row.given.items()))
    mishaps: list[BaseException] = []
    breaker.setattr(Line, "failed", lambda line, error: mishaps.append(error))
    forget(breaker)
    apply(row.breaks, row.module, breaker)
    # What is broken may go astray, on this machine.
    with overheard() as heard:
        noticed = _noticed(row)
    assert all(is_here(connect.address) for connect in heard)
    assert noticed is not None, "nobody noticed"
    if not lost(noticed):
        raise noticed
    assert not mishaps, "the break made an error, which is no proof"


def _noticed(row: Row) -> BaseException | None:
    """How the scene ended. What it leaves behind, broken off, is cleared away here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            play(row.scene, row.given)
        except (Exception, pytest.fail.Exception) as error:
            return error.with_traceback(error.__traceback__)
        finally:
            gc.collect()
    return None
