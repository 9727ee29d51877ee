"""Reads settings one by one out of a document and the environment, and keeps all that is wrong.

Owns lookup, origins and unknown names. It must not know what a setting means; `keys` does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from proxy.config.keys import ARRAYS, SINGLE, Key
from proxy.config.lines import Path
from proxy.config.profiles import PROFILES
from proxy.config.show import toml
from proxy.config.sources import Document, Override
from proxy.problems import Invalid, Problem, near, shown

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Effective:
    """A setting as it holds. `value`: as TOML has it, None if it has none; `origin`: `default`,
    `file:line` or the name of a variable."""

    path: str
    value: object
    origin: str


@dataclass(slots=True)
class Reading:
    """What was read so far, and what is wrong with it. `profile`: whose defaults hold."""

    document: Document
    overrides: Mapping[str, Override]
    problems: list[Problem] = field(default_factory=list)
    inert: list[str] = field(default_factory=list)
    effective: list[Effective] = field(default_factory=list)
    profile: str = ""
    _rows: dict[str, list["Row"]] = field(default_factory=dict)

    def get(self, key: Key[T]) -> T:
        """The value of a setting that stands once; its default if what is written is no good."""
        way = tuple(key.path.split("."))
        value, origin = self._default(key)
        if override := self.overrides.get(key.path):
            value, origin = key.kind.parse(override.text), override.variable
        elif (found := _at(self.document.values, way)) is not None:
            value, origin = found, self.origin(way)
        taken = self.take(key, way, value, origin)
        return key.kind.read(self._default(key)[0]) if taken is None else taken

    def _default(self, key: Key[T]) -> tuple[object, str]:
        """What holds where nothing is written, and why: the profile says so, or the key."""
        table = PROFILES.get(self.profile, {})
        if key.path not in table:
            return key.default, "default"
        return table[key.path], f"profile {self.profile}"

    def written(self, key: Key[T]) -> bool:
        """Whether the owner wrote a setting that stands once, wherever."""
        way = tuple(key.path.split("."))
        return key.path in self.overrides or _at(self.document.values, way) is not None

    def rows(self, name: str) -> list["Row"]:
        """The tables of the array `name`, in file order; none if it is not an array of tables."""
        if name not in self._rows:
            way = tuple(name.split("."))
            array = _at(self.document.values, way)
            self._rows[name] = [
                Row(self, (*way, number), table)
                for number, table in enumerate(array if isinstance(array, list) else [])
                if isinstance(table, dict)
            ]
        return self._rows[name]

    def complain(self, way: Path, words: str, hint: str = "") -> None:
        """Keep a problem with the value at `way`, placed as near to it as possible."""
        dotted = _dotted(way)
        if override := self.overrides.get(dotted):
            self.problems.append(Problem(override.variable, words, hint))
            return
        outwards = (way[:length] for length in range(len(way), 0, -1))
        line = next((self.document.lines[w] for w in outwards if w in self.document.lines), 0)
        file = self.document.name if line else ""
        self.problems.append(Problem(dotted, words, hint, file, line))

    def finish(self) -> None:
        """Read what no one asked for, complain of every name that is not a setting, and raise
        `Invalid` if anything is wrong."""
        for key in SINGLE:
            if all(key.path != known.path for known in self.effective):
                self.get(key)
        for name in ARRAYS:
            for row in self.rows(name):
                row.finish()
        self._names(self.document.values, ())
        if self.problems:
            raise Invalid(sorted(self.problems, key=lambda problem: problem.line))

    def take(self, key: Key[T], way: Path, value: object, origin: str) -> T | None:
        """The value of `key`, read; None if it is no good, which is kept as a problem."""
        self.effective.append(Effective(_dotted(way), value, origin))
        try:
            read = key.kind.read(value)
        except ValueError as error:
            self.complain(way, str(error))
            return None
        if key.now is not None and value not in key.now:
            self.complain(way, f"not in this version{_only(key.now)}")
            return None
        if key.inert and origin != "default":
            self.inert.append(_dotted(way))
        return read

    def origin(self, way: Path) -> str:
        """Where the value at `way` was written."""
        return f"{self.document.name}:{self.document.lines.get(way, 0)}"

    def _names(self, table: Mapping[str, object], way: Path) -> None:
        """Complain of names below `way` that mean nothing."""
        here = _dotted(way)
        for name, value in table.items():
            path = f"{here}.{name}" if here else name
            if any(key.path == path for key in SINGLE):
                continue
            if path in ARRAYS:
                self._array(path, (*way, name), value)
            elif not any(key.path.startswith(f"{path}.") for key in SINGLE):
                self._unknown((*way, shown(name)), name, _children(here), (*way, name))
            elif isinstance(value, dict):
                self._names(value, (*way, name))
            else:
                self.complain((*way, name), f"expected a table, write [{path}]")

    def _array(self, path: str, way: Path, value: object) -> None:
        if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
            self.complain(way, f"expected tables that may stand several times, write [[{path}]]")
            return
        for row in self.rows(path):
            known = {key.name for key in ARRAYS[path]}
            for name in row.table:
                if name not in known:
                    self._unknown((*row.way, shown(name)), name, known, (*row.way, name))

    def _unknown(self, way: Path, name: str, known: set[str], exact: Path) -> None:
        guess = near(name, known)
        owners = [key.path for key in SINGLE if key.name == name and "." in key.path]
        hint = ""
        if not guess and owners:
            hint = f"`{name}` stands under [{owners[0].rpartition('.')[0]}]"
        line = self.document.lines.get(exact, 0)
        self.problems.append(
            Problem(_dotted(way), f"no such setting{guess}", hint, self.document.name, line)
        )


@dataclass(slots=True)
class Row:
    """One table of an array. `sound` turns False when something in it is no good."""

    reading: Reading
    way: Path
    table: Mapping[str, object]
    sound: bool = True
    _asked: set[str] = field(default_factory=set)

    def get(self, key: Key[T]) -> T | None:
        """The value of `key` in this table; its default or None if it is not there or no good."""
        self._asked.add(key.name)
        way = (*self.way, key.name)
        if key.name not in self.table:
            if key.required:
                self.complain(key, f"is missing ({key.help.rstrip('.')})")
            if key.default is None:
                return None
            return self.reading.take(key, way, key.default, "default")
        taken = self.reading.take(key, way, self.table[key.name], self.reading.origin(way))
        self.sound = self.sound and taken is not None
        return taken

    def complain(self, key: Key[T], words: str, hint: str = "") -> None:
        """Keep a problem with `key` of this table."""
        self.sound = False
        self.reading.complain((*self.way, key.name), words, hint)

    def finish(self) -> None:
        """Read what no one asked for."""
        name = ".".join(str(step) for step in self.way[:-1])
        for key in ARRAYS[name]:
            if key.name not in self._asked:
                self.get(key)


def _at(table: Mapping[str, object], way: Sequence[str]) -> object:
    """What stands at `way`, None if nothing does."""
    value: object = table
    for name in way:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _dotted(way: Path) -> str:
    """`("upstream", 0, "name")` → `upstream[0].name`."""
    text = ""
    for step in way:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _children(path: str) -> set[str]:
    """Names that may stand right below `path`."""
    prefix = f"{path}." if path else ""
    every = [*(key.path for key in SINGLE), *ARRAYS]
    return {
        name.removeprefix(prefix).partition(".")[0] for name in every if name.startswith(prefix)
    }


def _only(values: tuple[object, ...]) -> str:
    if not values:
        return "; leave it out"
    return "; write " + " or ".join(toml(value) for value in values)
