"""Settings as TOML text, for `check --show` and for problems.

Owns how a value is written. It must not know a setting, but for the ones that are never shown.
"""

from collections.abc import Iterable
from typing import Protocol

_MASKED = "token_sha256"


class Shown(Protocol):
    """A setting as it holds: see `reading.Effective`."""

    @property
    def path(self) -> str: ...
    @property
    def value(self) -> object: ...
    @property
    def origin(self) -> str: ...


def table(settings: Iterable[Shown]) -> str:
    """One line for each setting: path, value, and where the value comes from."""
    lines = [(f"{item.path} = {_masked(item)}", item.origin) for item in settings]
    width = min(max((len(text) for text, _ in lines), default=0), 60)
    return "\n".join(f"{text:<{width}}  # {origin}" for text, origin in lines)


def toml(value: object) -> str:
    """`value` as TOML writes it, on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return '"' + "".join(_character(mark) for mark in value) + '"'
        case list():
            return f"[{', '.join(toml(item) for item in value)}]"
        case dict():
            inside = ", ".join(f"{name} = {toml(item)}" for name, item in value.items())
            return f"{{ {inside} }}"
        case _:
            return str(value)


def _character(mark: str) -> str:
    if mark in {'"', "\\"}:
        return f"\\{mark}"
    if mark.isprintable():
        return mark
    # A terminal must see neither controls nor bidi marks.
    return f"\\u{ord(mark):04x}" if ord(mark) < 0x10000 else f"\\U{ord(mark):08x}"


def _masked(item: Shown) -> str:
    return '"…"' if item.path.endswith(_MASKED) else toml(item.value)
