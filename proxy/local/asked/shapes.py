"""Values of a caller's body as shapes that can be relied on: what is something else is empty.

Owns the reading of wrong shapes and of pictures. It must not know a dialect.
"""

import base64
import binascii
import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from proxy.local.plain import plain as read_text

Members = Mapping[str, object]

_PICTURES: Final = frozenset({"image/jpeg", "image/jpg", "image/png", "image/webp"})
"""What every local server with an eye can decode."""

_DATA_URI: Final = re.compile(r"data:([\w.+/-]+)(?:;[\w.+=-]+)*;base64,", re.ASCII)


def members(value: object) -> Members:
    """An object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[object]:
    """A list, else an empty one."""
    return value if isinstance(value, list) else []


def word(value: object) -> str:
    """A string, else an empty one."""
    return value if isinstance(value, str) else ""


def number(value: object) -> int | float | None:
    """A finite number that fits a double, else None; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return None
    try:
        near = float(value)
    except OverflowError:
        return None
    if not math.isfinite(near):
        return None
    return value if isinstance(value, int) else near


def count(value: object) -> int | None:
    """A number that counts something, else None."""
    found = number(value)
    return int(found) if found is not None and found > 0 else None


def plain(value: object) -> object:
    """A parsed value as any writer of JSON takes it; a number beyond every range becomes a text."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    if isinstance(value, (bool, str)) or value is None:
        return value
    found = number(value)
    return str(value)[:_LONGEST] if found is None else found


_LONGEST: Final = 4000


def arguments(text: str) -> Mapping[str, object] | None:
    """What a call's JSON text says; None where that is no object. Empty text is no argument."""
    if not text.strip():
        return {}
    try:
        found = read_text(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def picture(kind: str, data: str) -> str | None:
    """The base64 of a picture of media type `kind`, None where a local server could not read it."""
    if kind.lower() not in _PICTURES or not data:
        return None
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data


def picture_of(address: str) -> str | None:
    """The same of a `data:` address; None for every other one."""
    begins = _DATA_URI.match(address)
    return picture(begins[1], address[begins.end() :]) if begins else None


def joined(*texts: str) -> str:
    """Texts that are not empty, with a blank line between them."""
    return "\n\n".join(filter(None, texts))
