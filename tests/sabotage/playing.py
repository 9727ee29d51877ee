"""Plays a test of this repository as a scene: by name, in process, with its fixtures."""

import asyncio
import importlib
import inspect
import itertools
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
LOST = (AssertionError, pytest.fail.Exception)
"""What a scene raises when it sees that a promise is broken."""


def play(scene: str, given: Mapping[str, Any]) -> None:
    """Play `proxy/test_door.py::test_foreign_hosts` with all its parameters; those in `given` only
    with the value named there."""
    path, _, name = scene.partition("::")
    module = importlib.import_module(f"tests.{path.removesuffix('.py').replace('/', '.')}")
    function = getattr(module, name)
    for parameters in _parameters(module, function, given):
        with asyncio.Runner() as runner:
            runner.run(_play(module, function, parameters))


def lost(error: BaseException) -> bool:
    """Whether `error` is a scene's own verdict: an assertion that stands in a test or in the
    evidence of the demo, not one of the product's and no other mishap."""
    if not isinstance(error, LOST):
        return False
    if isinstance(error, pytest.fail.Exception):
        return True
    frames = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    own = [frame for frame in frames if frame.parent.name != "_pytest"]  # `raises` stands there
    return own[-1].is_relative_to(TESTS)


async def _play(module: ModuleType, function: Callable[..., Any], given: dict[str, Any]) -> None:
    async with AsyncExitStack() as stack:
        arguments = await _arguments(module, function, given, stack)
        if inspect.iscoroutinefunction(function):
            await function(**arguments)
        else:
            await asyncio.to_thread(function, **arguments)


async def _arguments(
    module: ModuleType, function: Callable[..., Any], given: dict[str, Any], stack: AsyncExitStack
) -> dict[str, Any]:
    arguments = {}
    for name in inspect.signature(function).parameters:
        if name not in given:
            given[name] = await _fixture(module, name, given, stack)
        arguments[name] = given[name]
    return arguments


async def _fixture(
    module: ModuleType, name: str, given: dict[str, Any], stack: AsyncExitStack
) -> Any:
    match name:
        case "tmp_path":
            return Path(stack.enter_context(tempfile.TemporaryDirectory())).resolve()
        case "monkeypatch":
            return stack.enter_context(pytest.MonkeyPatch.context())
    made_by = _fixture_of(module, name)
    make: Callable[..., Any] = made_by._get_wrapped_function()
    params = made_by._fixture_function_marker.params
    if params is not None:
        given = {**given, "request": SimpleNamespace(param=given[f"{name}()"])}
    made = partial(make, **await _arguments(module, make, given, stack))
    if inspect.isasyncgenfunction(make):
        return await stack.enter_async_context(asynccontextmanager(made)())
    if inspect.isgeneratorfunction(make):
        return stack.enter_context(contextmanager(made)())
    return made()


def _fixture_of(module: ModuleType, name: str) -> Any:
    """What pytest takes for `name`: the module's own fixture, else that of its folder; or None."""
    if hasattr(module, name):
        return getattr(module, name)
    try:
        folder = importlib.import_module(f"{module.__package__}.conftest")
    except ModuleNotFoundError:
        return None
    return getattr(folder, name, None)


def _parameters(
    module: ModuleType, function: Callable[..., Any], given: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Every combination of the parameters of a test and of its fixtures."""
    choices: list[list[dict[str, Any]]] = []
    for mark in getattr(function, "pytestmark", []):
        if mark.name == "parametrize":
            names, values = mark.args
            names = names.replace(" ", "").split(",") if isinstance(names, str) else list(names)
            rows = [_values(value, len(names)) for value in values]
            choices.append([dict(zip(names, row, strict=True)) for row in rows])
    for name in inspect.signature(function).parameters:
        marker = getattr(_fixture_of(module, name), "_fixture_function_marker", None)
        if marker is not None and marker.params is not None:
            choices.append([{f"{name}()": value} for value in marker.params])
    played = 0
    for chosen in itertools.product(*choices):
        merged = {name: value for each in chosen for name, value in each.items()}
        if all(merged.get(name, value) == value for name, value in given.items()):
            played += 1
            yield {**merged, **given}
    if not played:
        raise LookupError("no parameters of the scene are the given ones")


def _values(value: Any, count: int) -> tuple[Any, ...]:
    if isinstance(value, pytest.ParameterSet):
        return tuple(value.values)
    return tuple(value) if count > 1 else (value,)
