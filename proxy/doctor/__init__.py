"""`transom doctor`: looks at everything a node leans on, one line for each thing.

Owns what a line is. Each other module here owns some of the looks; `visit` puts them in order. None
is on the serving path, and none makes a call that costs tokens.
"""

import json
from dataclasses import asdict, dataclass
from typing import Literal

State = Literal["fine", "wrong", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """What one look found. `says`: in words, with the way out where it is wrong. `skipped`: there
    was nothing to look at, which is no fault."""

    name: str
    state: State
    says: str


def printed(check: Check, *, as_json: bool) -> str:
    """One line for `check`."""
    if as_json:
        return json.dumps(asdict(check))
    return f"{check.state:<8} {check.name:<21} {check.says}"
