"""Kinds of values: what a setting takes, how it is written, and how it is read.

Owns units and shapes. It must not know a setting. A reader raises `ValueError` with words that
begin with "expected"; the words never hold the value, which may be a secret in the wrong place.
"""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from proxy.problems import near

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?) ?(ms|s|m|h|d)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST: Final = 366 * 86400.0
_SIZE: Final = re.compile(r"([0-9]{1,9}) ?(B|kB|KB|KiB|MB|MiB|GB|GiB)")
_BYTES: Final = {
    "B": 1,
    "kB": 1000,
    "KB": 1000,
    "KiB": 1024,
    "MB": 1000**2,
    "MiB": 1024**2,
    "GB": 1000**3,
    "GiB": 1024**3,
}
_RATE: Final = re.compile(r"([0-9]{1,9}) ?/ ?(.+)")


@dataclass(frozen=True, slots=True)
class Kind(Generic[T_co]):
    """`expects`: in words, for problems and the reference. `read`: TOML value → setting.
    `parse`: text of an environment variable → the TOML value that it stands for."""

    expects: str
    read: Callable[[object], T_co]
    parse: Callable[[str], object] = str


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` in each `seconds`."""

    count: int
    seconds: float


def string(expects: str, check: Callable[[str], bool]) -> Kind[str]:
    """A string for which `check` holds."""

    def read(value: object) -> str:
        if isinstance(value, str) and check(value):
            return value
        raise ValueError(_expected(expects, value))

    return Kind(expects, read)


def pattern(expects: str, shape: str) -> Kind[str]:
    """A string that has the regular shape `shape`, whole."""
    compiled = re.compile(shape)
    return string(expects, lambda value: compiled.fullmatch(value) is not None)


def choice(*words: str) -> Kind[str]:
    """One of `words`."""
    expects = ", ".join(words[:-1]) + f" or {words[-1]}"

    def read(value: object) -> str:
        if isinstance(value, str) and value in words:
            return value
        guess = near(value, words) if isinstance(value, str) else ""
        raise ValueError(_expected(expects, value) + guess)

    return Kind(expects, read)


def flag() -> Kind[bool]:
    """true or false."""

    def read(value: object) -> bool:
        if isinstance(value, bool):
            return value
        raise ValueError(_expected("true or false, without quotes", value))

    def parse(text: str) -> object:
        return {"true": True, "false": False}.get(text.strip().lower(), text)

    return Kind("true or false", read, parse)


def whole(least: int, most: int) -> Kind[int]:
    """A whole number from `least` to `most`."""
    expects = f"a whole number from {least} to {most}" if least < most else f"the number {least}"

    def read(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        raise ValueError(_expected(expects, value))

    def parse(text: str) -> object:
        return int(text) if re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", text) else text

    return Kind(expects, read, parse)


def duration(least: float = 0.0) -> Kind[float]:
    """A time with its unit, in seconds: more than nothing and `least` or more, at most a year."""
    expects = 'a time such as "250ms", "10s", "5m", "2h" or "45d", at most "366d"'
    if least:
        expects += f", at least {least:g} seconds"

    def read(value: object) -> float:
        found = _DURATION.fullmatch(value) if isinstance(value, str) else None
        seconds = float(found[1]) * _SECONDS[found[2]] if found else 0.0
        if 0.0 < seconds <= _LONGEST and seconds >= least:
            return seconds
        raise ValueError(_expected(expects, value))

    return Kind(expects, read)


def size(least: int, most: int) -> Kind[int]:
    """A size with its unit, in bytes, from `least` to `most`. MB is 1000², MiB is 1024²."""
    expects = f'a size such as "512 kB", "4 MB" or "64 MiB", from {least} to {most} bytes'

    def read(value: object) -> int:
        found = _SIZE.fullmatch(value) if isinstance(value, str) else None
        count = int(found[1]) * _BYTES[found[2]] if found else -1
        if least <= count <= most:
            return count
        raise ValueError(_expected(expects, value))

    return Kind(expects, read)


def rate() -> Kind[Rate]:
    """A count in a time."""
    expects = 'a rate such as "300/10m"'
    window = duration()

    def read(value: object) -> Rate:
        found = _RATE.fullmatch(value) if isinstance(value, str) else None
        if found and int(found[1]) > 0:
            try:
                return Rate(int(found[1]), window.read(found[2]))
            except ValueError:
                pass
        raise ValueError(_expected(expects, value))

    return Kind(expects, read)


def many(kind: Kind[T], *, least: int = 0) -> Kind[tuple[T, ...]]:
    """An array of different values of one kind, at least `least` of them."""
    expects = f"an array, each {kind.expects}" + (f", at least {least}" if least else "")

    def read(value: object) -> tuple[T, ...]:
        if not isinstance(value, list) or len(value) < least:
            raise ValueError(_expected(expects, value))
        items = tuple(kind.read(item) for item in value)
        if len(set(items)) < len(items):
            raise ValueError("expected different values, but one stands there twice")
        return items

    return Kind(expects, read, _parse_array)


def pair(kind: Kind[T], order: Callable[[T], float]) -> Kind[tuple[T, T]]:
    """A soft and a hard limit; `order` must not fall from the first to the second."""
    expects = f"two values, soft and hard, each {kind.expects}"

    def read(value: object) -> tuple[T, T]:
        if not isinstance(value, list) or len(value) != 2:
            raise ValueError(_expected(expects, value))
        soft, hard = kind.read(value[0]), kind.read(value[1])
        if order(soft) > order(hard):
            raise ValueError("expected the soft limit first, not above the hard one")
        return soft, hard

    return Kind(expects, read, _parse_array)


def _parse_array(text: str) -> object:
    """`["a", "b"]` as TOML has it, or `a, b`."""
    if not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        document = tomllib.loads(f"k = {text.strip()}")
    except (ValueError, RecursionError):
        return text
    return document["k"] if len(document) == 1 else text


def _expected(expects: str, value: object) -> str:
    return f"expected {expects}, got {_sort(value)}"


def _sort(value: object) -> str:
    # SECURITY: only small numbers and flags are shown; a string may be a secret.
    match value:
        case bool():
            return "true" if value else "false"
        case int() if abs(value) < 10**6:
            return str(value)
        case int() | float():
            return "another number"
        case "":
            return "an empty string"
        case str():
            return "another string"
        case list():
            return f"an array of {len(value)}"
        case dict():
            return "a table"
        case _:
            return "a date or time"
