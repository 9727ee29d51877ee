"""Every field that may be logged, and the shape that its value must have.

Owns the allow-list. It must not know who logs. Shapes are narrow on purpose: what does not fit a
field's shape is no value of that field, whoever put it there.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from policies.notices import FACT_LENGTH, NOTICES
from proxy.problems import Problem

Fits = Callable[[Any], object]
"""True for a value that may stand in a field. May raise `TypeError` for one of another type."""

WITHHELD: Final = "[withheld]"
"""Stands for a value that does not fit its field."""

LONGEST_LIST: Final = 64


def _shape(pattern: str) -> Fits:
    return re.compile(pattern).fullmatch


def _list(fits: Fits) -> Fits:
    return lambda value: (
        isinstance(value, list) and len(value) <= LONGEST_LIST and all(map(fits, value))
    )


def number(value: object) -> bool:
    """True for a number; a truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


_name: Final = _shape(r"[A-Za-z0-9_.:/@-]{1,64}|")
_word: Final = _shape(r"[a-z][a-z0-9_-]{0,39}")
_table_path: Final = _shape(r"(?:[A-Z]{3,7} )?/[A-Za-z0-9_.:{}/-]{0,100}")

FIELDS: Final[Mapping[str, Fits]] = {
    # When, how bad, what: `event` is one of our own words.
    "ts": _shape(r"[0-9TZ:.-]{20,30}"),
    "level": _shape(r"debug|info|warning|error|critical"),
    "event": _word,
    # Our id of the request; the configured client; 12 hex digits of the session's keyed digest.
    "request": _shape(r"[A-Za-z0-9_-]{1,64}"),
    "client": _name,
    "session": _shape(r"[0-9a-f]{12}|-?"),
    # From the endpoint table: never the client's own address.
    "dialect": _word,
    "endpoint": _table_path,
    "leg": _shape(r"cloud|local"),
    "upstream": _name,
    "model": _name,
    "status": number,
    "bytes_in": number,
    "bytes_out": number,
    "frames": number,
    "verdict": _word,
    "notice": lambda value: isinstance(value, str) and value in NOTICES,
    # Kinds of findings, and their places as schema words and indices.
    "kinds": _list(_shape(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,59}")),
    "places": _list(_shape(rf"[A-Za-z0-9_.*\[\]-]{{1,{FACT_LENGTH}}}")),
    "times": number,
    "ms": number,
    # Name of a tool, as `field` of its frame has it.
    "tool": _name,
    # A word of ours for what went wrong, and how many things did.
    "problem": _word,
    "count": number,
    # What is wrong with a configuration: place, reason, way out. Whoever makes a `Problem` has put
    # no value into it; a text that says the same is none.
    "problems": lambda value: (
        isinstance(value, list)
        and len(value) <= LONGEST_LIST
        and all(type(each) is Problem for each in value)
    ),
    # Path of an endpoint as the table has it.
    "path": _table_path,
    # Where a listener listens.
    "addr": _shape(
        r"https?://[A-Za-z0-9._-]{1,253}:[0-9]{1,5}|https?://\[[0-9a-f:.]+\]:[0-9]{1,5}"
    ),
    # Dotted paths of settings.
    "settings": _list(_shape(r"[a-z0-9_.\[\]]{1,60}")),
    # Types of an exception and its causes, and the frames of our own code that it passed.
    "error": _list(_shape(r"[A-Za-z_][A-Za-z0-9_]{0,60}")),
    "at": _list(_shape(r"[A-Za-z_][A-Za-z0-9_.]{0,80}:[0-9]{1,6}")),
    # Which library wanted to say something.
    "logger": _shape(r"[A-Za-z_][A-Za-z0-9_.-]{0,60}"),
}
"""Field → whether a value may stand in it. Lines have their fields in this order."""

NAMES: Final = frozenset({"client", "model", "tool", "upstream"})
"""Fields whose values strangers may have chosen; what is no plain name is shown as `-`."""

REPEATED: Final = frozenset(
    {"level", "event", "client", "session", "dialect", "endpoint", "leg", "upstream", "model"}
)
"""Fields that have the same few texts in most lines: what fits once fits again."""
