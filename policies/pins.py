"""What changes the bytes of a conversation, pinned as it was at its first request (DESIGN 3.2).

Owns the list of it and its form as text. It must not know where that text is kept. A reload or an
upgrade concerns conversations that begin later: those that have begun are served by their pins.
"""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from policies.authored import POLICY_TEXTS
from policies.envelope import markers, policy_text, tables
from policies.settings import Also, Envelope, Policies, ToolRule


@dataclass(frozen=True, slots=True)
class Pins:
    """`envelope`: the settings, `trust` and the rules of all tools included. `explains`: the policy
    text was due with the first request. `policy`, `markers`, `tables`: versions of the policy text,
    of the marker lines and of the tables of the shadow. `minimality`: the mode; what a turn shows
    is noted with the turn (`policies.cut.Window`), as another mode holds from the next one on."""

    envelope: Envelope
    explains: bool = False
    policy: str = policy_text.VERSION
    markers: str = markers.VERSION
    tables: str = tables.VERSION
    minimality: str = "off"

    @property
    def writable(self) -> bool:
        """Whether this version can still write what the conversation began with."""
        return (
            self.policy in POLICY_TEXTS
            and self.markers == markers.VERSION
            and self.tables == tables.VERSION
        )


def pinned_now(policies: Policies) -> Pins:
    """The pins of a conversation that begins now."""
    return Pins(
        policies.envelope,
        minimality=policies.minimality.mode,
        policy=policy_text.VERSION,
        markers=markers.VERSION,
        tables=tables.VERSION,
    )


@lru_cache(maxsize=512)
def dumped(pins: Pins) -> str:
    """`pins` as text."""
    return json.dumps(asdict(pins), ensure_ascii=False, separators=(",", ":"))


@lru_cache(maxsize=512)
def loaded(text: str) -> Pins:
    """The pins that `dumped` wrote, in this version or an older one: what that did not know has its
    default. Raises `ValueError` for anything else."""
    try:
        value: dict[str, Any] = json.loads(text)
        envelope: dict[str, Any] = value.pop("envelope")
        tools = tuple(ToolRule(**rule) for rule in envelope.pop("tools"))
        also = tuple(Also(**one) for one in envelope.pop("also"))
        return Pins(Envelope(**envelope, tools=tools, also=also), **value)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("these are no pins of a conversation") from error
