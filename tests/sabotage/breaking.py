"""Ways to break a line of defence in this process, through monkeypatch, and to have it whole again.

A `Cut` compiles a module with one passage written differently and puts the code of the function
that holds the passage in place of the real one, so that everyone who has the function has the
broken one. A `Swap` puts another value in the place of a name.
"""

import ast
import importlib
import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


class Gone(LookupError):
    """What a row wants to break is not there any more: the row needs another look."""


@dataclass(frozen=True)
class Cut:
    """In `module` (empty: the row's own), `old`, which stands there once, is written as `new`.
    Only code inside of functions can be cut."""

    old: str
    new: str
    module: str = ""

    def line(self, module: str) -> int:
        """The line, from 1, on which `old` begins."""
        source = (ROOT / module).read_text("utf-8")
        if source.count(self.old) != 1:
            raise Gone(f"{module} holds {source.count(self.old)} times: {self.old}")
        return source[: source.index(self.old)].count("\n") + 1


@dataclass(frozen=True)
class Swap:
    """The attribute `name` (`Screen.findings`) of `module` becomes `value`."""

    name: str
    value: Any
    module: str = ""

    def apply(self, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
        *way, last = self.name.split(".")
        owner: Any = _imported(self.module or module)
        for step in way:
            owner = getattr(owner, step)
        if not hasattr(owner, last):
            raise Gone(f"{self.module or module} has no {self.name}")
        monkeypatch.setattr(owner, last, self.value)


Break = Cut | Swap


def apply(breaks: Iterable[Break], module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Break all of it; without a module of their own, what is in `module`."""
    cuts: dict[str, list[Cut]] = {}
    for each in breaks:
        match each:
            case Swap():
                each.apply(module, monkeypatch)
            case Cut():
                cuts.setdefault(each.module or module, []).append(each)
    for where, here in cuts.items():
        functions = {_function_at(where, each.line(where)) for each in here}
        source = (ROOT / where).read_text("utf-8")
        for each in here:
            source = source.replace(each.old, each.new)
        broken = {code.co_qualname: code for code in _codes(compile(source, where, "exec"))}
        for name in functions:
            monkeypatch.setattr(_resolved(where, name), "__code__", broken[name])


def _imported(module: str) -> Any:
    dotted = module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return importlib.import_module(dotted)


def _function_at(module: str, line: int) -> str:
    """The qualified name of the outermost function round a line."""
    nodes: Any = ast.parse((ROOT / module).read_text("utf-8")).body
    way: list[str] = []
    while True:
        node = next((n for n in nodes if n.lineno <= line <= n.end_lineno), None)
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                return ".".join([*way, node.name])
            case ast.ClassDef():
                way.append(node.name)
                nodes = node.body
            case _:
                raise Gone(f"{module}:{line} is in no function")


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _resolved(module: str, name: str) -> FunctionType:
    found: Any = _imported(module)
    for step in name.split("."):
        found = inspect.getattr_static(found, step)
    found = getattr(found, "fget", None) or getattr(found, "__func__", found)
    found = inspect.unwrap(found)
    assert isinstance(found, FunctionType)
    return found
