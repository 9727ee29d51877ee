"""What a body looks like before and after, as a difference that reads well.

Owns how JSON is laid out for that: one line per value and one per line of a text, so that a mark
put round a text is one line more. It must not know what was changed, nor why.
"""

import json
from collections.abc import Iterator
from difflib import unified_diff
from typing import Final

_LONGEST: Final = 160
_AROUND: Final = 2
_AS_WRITTEN: Final = json.JSONDecoder(parse_float=str, parse_int=str).decode
_MOST: Final = 20_000
"""Lines of either side; comparing takes time with the square of them."""


def changes(before: bytes, after: bytes) -> list[str]:
    """Lines of a unified difference without its head; empty where nothing changes. Long lines are
    cut, after they were compared."""
    old, new = (list(_laid_out(_AS_WRITTEN(side.decode()))) for side in (before, after))
    if old == new:
        return []
    if max(len(old), len(new)) > _MOST:
        return [f"{len(before)} bytes become {len(after)}: too much to compare line by line"]
    found = list(unified_diff(old, new, lineterm="", n=_AROUND))[2:]
    return [line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…" for line in found]


def _laid_out(value: object, lead: str = "") -> Iterator[str]:
    match value:
        case dict():
            for key, member in value.items():
                yield from _member(f"{lead}{key}:", lead, member)
        case list():
            for item in value:
                yield from _member(f"{lead}-", lead, item)
        case _:
            yield f"{lead}{value}"


def _member(head: str, lead: str, value: object) -> Iterator[str]:
    if isinstance(value, str) and "\n" in value:
        yield head
        yield from (f"{lead}  | {line}" for line in value.split("\n"))
    elif isinstance(value, dict | list) and value:
        yield head
        yield from _laid_out(value, f"{lead}  ")
    else:
        yield f"{head} {value if isinstance(value, str) else json.dumps(value)}"
