"""What was decided about a request: one frozen value that `proxy` carries out.

Owns the words between the policies and the gateway. It must not know how anything is carried out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from policies.conversation import Unit


class Leg(StrEnum):
    """Where a request goes: to a cloud, or to a model at home."""

    CLOUD = "cloud"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something was seen: its kind and the place, never the value, its length or surroundings."""

    kind: str
    place: str
    family: str = ""


@dataclass(frozen=True, slots=True)
class FrameRow:
    """What must read the same on every later turn about one framed unit."""

    nonce: str = field(repr=False)
    field: str
    intro: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """Frame the unit number `unit` of the conversation. `row` is the remembered one if `known`,
    else a candidate that the ledger may overrule with the row of whoever came first."""

    unit: int
    row: FrameRow
    known: bool


@dataclass(frozen=True, slots=True)
class Allow:
    """Nothing was found."""


@dataclass(frozen=True, slots=True)
class BlockFallBackLocal:
    """This must not leave. `code`: `egress-blocked` for findings, `egress-ambiguous` where the
    content could not be read for certain; `findings` name kinds and places in both cases.
    `failed`: the screen itself failed, so what is set for findings does not apply."""

    code: str
    findings: tuple[Finding, ...]
    failed: bool = False


EgressVerdict = Allow | BlockFallBackLocal


@dataclass(frozen=True, slots=True)
class Screened:
    """What the screen has read: digests of pieces that may leave as they came, and every string of
    the pieces that were opened. The proof admits nothing else but authored text and frames."""

    digests: frozenset[bytes]
    strings: frozenset[str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Refusal:
    """The request gets no model answer. `code` is a notice code, `facts` fill its words."""

    code: str
    findings: tuple[Finding, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with a request.

    `frames`: in the order of the units. `policy_text`: the paragraph goes after the leading system
    text. `adopted`: units left as they came because a model elsewhere has read them so.
    `observed`: findings that the owner chose only to watch. `clean`: digests of pieces newly found
    clean, to be remembered. `screened` is None on a local leg. `noted`: hidden characters and
    forged openings in what is new; they are told, and nothing is decided by them.
    """

    leg: Leg
    frames: tuple[Frame, ...] = ()
    policy_text: bool = False
    adopted: int = 0
    refusal: Refusal | None = None
    observed: tuple[Finding, ...] = ()
    clean: tuple[bytes, ...] = ()
    screened: Screened | None = None
    noted: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the ledger knows: unit number → its row. Units that it has never seen are absent."""

    rows: Mapping[int, FrameRow]


@dataclass(frozen=True, slots=True)
class Claimed:
    """The rows that hold after claiming, unit number → row: for each frame of the decision, the
    row of whoever wrote first."""

    rows: Mapping[int, FrameRow]

    def texts(self, units: tuple[Unit, ...]) -> Mapping[int, str]:
        """Unit number → its text, for the units that are framed."""
        return {number: units[number].text for number in self.rows}
