"""Frames: third-party text between marker lines that it cannot write.

Owns how a frame is made. It must not know where in a request text stands, nor where randomness
comes from: the nonce is drawn by whoever calls.
"""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Literal

from policies.envelope.markers import (
    CLOSE,
    CUT_MARK,
    DEFAULT_FIELD,
    INTRO,
    OPEN,
    REPLACEMENT,
    STEM,
    is_field,
    is_nonce,
)
from policies.envelope.neutralise import neutralise
from policies.envelope.policy_text import POLICY_TEXT

__all__ = [
    "CLOSE",
    "DEFAULT_FIELD",
    "INTRO",
    "OPEN",
    "POLICY_TEXT",
    "REPLACEMENT",
    "STEM",
    "field_name",
    "is_nonce",
    "neutralise",
    "wrap_untrusted",
]


@lru_cache(maxsize=1024)
def field_name(tool: str) -> str:
    """What a frame calls the tool: its name if that is safe in a marker line, else `tool_result`.

    Safe is `[A-Za-z0-9_.:-]{1,48}` as a whole (DESIGN 3.3) without the stem: a tool name is data of
    the caller, and the stem stands in markers only.
    """
    return tool if is_field(tool) and neutralise(tool) == tool else DEFAULT_FIELD


def wrap_untrusted(
    label: str,
    text: str,
    *,
    draw: Callable[[], str],
    intro: bool = False,
    kept: int | None = None,
    encode: Literal["raw", "json"] = "raw",
) -> str:
    """Frame `text`, neutralised, under the field name of `label`.

    `draw` gives the nonce, 32 lower-case hex digits; it is called exactly once on every call. With
    `intro` the line that names the nonce of the message comes first. With `kept` only so many
    characters go into the frame, and behind it stands how many. With `encode="json"` the content is
    one JSON string. `ValueError`: the nonce is malformed, or stands in the text or the label, which
    a random one never does.
    """
    nonce = draw()
    field = field_name(label)
    opening, closing = _marks(nonce, field, intro)
    # SECURITY: text that holds the nonce was written by someone who knew it.
    if nonce in text or nonce in field:
        raise ValueError("the nonce of a frame stands in the text that it would frame")
    # Cut before neutralising: a mark that the cut takes apart is none.
    content = neutralise(text if kept is None else text[:kept])
    if encode == "json":
        # Only quotes, backslashes and line ends change, so that no stem can come into being.
        content = json.dumps(content, ensure_ascii=False)
    cut = "" if kept is None else "\n" + CUT_MARK.format(kept=kept, length=len(text))
    return f"{opening}\n{content}\n{closing}{cut}"


@lru_cache(maxsize=4096)
def _marks(nonce: str, field: str, intro: bool) -> tuple[str, str]:
    """What stands before and behind the content. `ValueError`: the nonce is malformed."""
    if not is_nonce(nonce):
        raise ValueError("the nonce of a frame must be 32 lower-case hex digits")
    opening = OPEN.format(nonce=nonce, field=field)
    told = f"{INTRO.format(nonce=nonce)}\n" if intro else ""
    return told + opening, CLOSE.format(nonce=nonce)
