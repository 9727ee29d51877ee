"""The marks of a frame: marker lines, intro, nonce shape, field names.

Owns the literals of CONTRACT "On the wire". It must not know what stands inside a frame.
"""

import re

VERSION = "1"
"""Moves with every change of a mark; conversations keep the version they began with."""

STEM = "TRANSOM_DATA"
"""In both markers; text that cannot spell it can write neither."""

REPLACEMENT = "transom-data-marker-removed"
"""What stands where the stem was found. It starts with no letter pair that ends the stem and holds
no underscore, so that with any neighbours it forms no stem again."""

INTRO = "[Data envelope (code-owned)]: this message's nonce is {nonce}."
OPEN = "[[TRANSOM_DATA nonce={nonce} field={field}]]"
CLOSE = "[[END_TRANSOM_DATA nonce={nonce}]]"

CUT_MARK = "[truncated by Transom: {kept} of {length} characters]"
"""Stands behind the frame of a result of which only the first `kept` characters are given."""

DEFAULT_FIELD = "tool_result"

_NONCE = re.compile(r"[0-9a-f]{32}")
_FIELD = re.compile(r"[A-Za-z0-9_.:-]{1,48}")


def is_nonce(value: str) -> bool:
    """True for 16 bytes in lower-case hex."""
    return _NONCE.fullmatch(value) is not None


def is_field(value: str) -> bool:
    """True for what may stand after `field=` as far as its shape goes (DESIGN 3.3)."""
    # SECURITY: the whole string; a trailing line break would end the marker line.
    return _FIELD.fullmatch(value) is not None
