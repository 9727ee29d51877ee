"""JSON of others as plain values that can be written again.

Owns what of it is refused: constants and numbers that JSON has no word for, and what nests deeper
than any body here may. It must not know what the values mean.
"""

import json
import math
from typing import Final, NoReturn

from proxy.json_bounds import scan_depth
from proxy.json_faults import MAX_DEPTH


def plain(text: str) -> object:
    """The value that `text` is: dict, list, str, int, float, bool or None, for `lazyjson.dump`.
    Of equal keys the last one counts. Raises `ValueError`."""
    if text.count("[") + text.count("{") > MAX_DEPTH:
        raw = text.encode("utf-8", "replace")
        scan_depth(raw, 0, len(raw))
    return _decode(text)


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number that nothing here can hold")
    return number


_decode: Final = json.JSONDecoder(parse_constant=_constant, parse_float=_number).decode
