"""What was decided about a request: one frozen value that `proxy` carries out.

Owns the words between the policies and the gateway. It must not know how anything is carried out.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec import field as struct_field

from policies.conversation import Address
from policies.cut import Cut, Window
from policies.events import Event
from policies.pins import Pins


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
    """What must read the same on every later turn about one framed unit. `kept`: how many of its
    characters are given, None for all. `followed`: a note of ours stands behind its run."""

    nonce: str = field(repr=False)
    field: str
    intro: bool
    kept: int | None = None
    encode: Literal["raw", "json"] = "raw"
    followed: bool = dataclasses.field(default=False, compare=False)


class Frame(NamedTuple):
    """Frame the unit number `unit` of the conversation. `row` is the remembered one if `known`,
    else a candidate that the ledger may overrule with the row of whoever came first. `late`: a
    model has read the unit as it came; this frame holds in views that begin anew behind it."""

    unit: int
    row: FrameRow
    known: bool
    late: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """Put `text` behind the message with the index `after`. It stands beside the unit number
    `unit`, and repeats words of the string at `quotes`, or their beginning. `known`: remembered."""

    after: int
    text: str = field(repr=False)
    unit: int
    quotes: Address
    known: bool


@dataclass(frozen=True, slots=True)
class Note:
    """A text of ours about a loop: `name` of the registry (`policies.authored`), to stand as system
    text behind the message with the index `after`. It is remembered beside the unit number `unit`
    of that run. `known`: it already is."""

    unit: int
    after: int
    name: str
    known: bool


@dataclass(frozen=True, slots=True)
class Final:
    """The answer that ends a turn beyond a hard limit: notice `code`, and `facts` for its words."""

    code: str
    facts: Mapping[str, str] = field(default_factory=dict)


class Turn(StrEnum):
    """How the upstream reads a turn of the operator. `WITH`: with frames and the policy text.
    `RAW`: as it came, because a model elsewhere has read what stands before it. `ANEW`: with frames
    and the policy text, and without the thinking of all that stands before it."""

    WITH = "with"
    RAW = "raw"
    ANEW = "anew"


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


class Screened(Struct, frozen=True):
    """What the screen has read: digests of pieces that may leave as they came. The proof admits
    nothing else but authored text and frames."""

    digests: frozenset[bytes]

    def __repr__(self) -> str:
        return f"<Screened of {len(self.digests)} pieces>"  # what was read is in no repr


@dataclass(frozen=True, slots=True)
class Refusal:
    """The request gets no model answer. `code` is a notice code, `facts` fill its words."""

    code: str
    findings: tuple[Finding, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)


class Decision(Struct, frozen=True):
    """What to do with a request.

    `frames`: in the order of the units. `policy_text`: the paragraph that goes after the leading
    system text, empty for none. `adopted`: units that a model elsewhere has read as they came.
    `pins`, `turn`, `anew`: what is to be remembered of the conversation, of its current turn, and
    that the view begins anew at the newest run; None, None and False where nothing new is.
    `removed`: the ways to thinking that is left out, `hollow` to messages of which nothing else
    would be left. `placed`: texts of ours behind results.
    `observed`: findings that the owner chose only to watch. `clean`: digests of pieces newly found
    clean, to be remembered. `screened` is None on a local leg. `noted`: hidden characters and
    forged openings in what is new; they are told, and nothing is decided by them. `events`: what
    the owner counts. `cut`: what of the conversation does not leave; `window` is to be remembered
    of the current turn, None where nothing new is. `tool_use`: the model may call tools; where
    not, `stops` is the notice that says why. `notes`: texts of ours about a loop. `final`: what is
    answered in place of a model; nothing goes upstream.
    """

    leg: Leg
    frames: tuple[Frame, ...] = ()
    policy_text: str = ""
    adopted: int = 0
    pins: Pins | None = None
    turn: Turn | None = None
    anew: bool = False
    removed: tuple[Address, ...] = ()
    hollow: tuple[Address, ...] = ()
    placed: tuple[Placed, ...] = ()
    refusal: Refusal | None = None
    observed: tuple[Finding, ...] = ()
    clean: tuple[bytes, ...] = ()
    screened: Screened | None = None
    noted: tuple[Finding, ...] = ()
    events: tuple[Event, ...] = ()
    cut: Cut | None = None
    window: Window | None = None
    tool_use: bool = True
    stops: str = ""
    notes: tuple[Note, ...] = ()
    final: Final | None = None


class Remembered(Struct, frozen=True):
    """What the ledger knows; what it has never seen is absent.

    `rows`: unit number → its row, `late` the same in views that begin anew behind the unit.
    `turns`: first message of a turn → how it is read. `anew`: messages at which a view began anew
    within a turn. `placed`: unit number → text that stands beside it. `pins`: None before the first
    request. `windows`: first message of a turn → how much of the conversation its requests show.
    `followed`: unit number → name of the note behind its run. `sure`: frames of the first units,
    without a gap, as `rows` has them, which come first there too.
    """

    rows: Mapping[int, FrameRow]
    late: Mapping[int, FrameRow] = struct_field(default_factory=dict)
    turns: Mapping[int, Turn] = struct_field(default_factory=dict)
    anew: tuple[int, ...] = ()
    placed: Mapping[int, str] = struct_field(default_factory=dict)
    pins: Pins | None = None
    windows: Mapping[int, Window] = struct_field(default_factory=dict)
    followed: Mapping[int, str] = struct_field(default_factory=dict)
    sure: tuple[Frame, ...] = ()


class Claimed(Struct, frozen=True):
    """What holds after claiming. `rows`: unit number → row: for each frame of the decision, the
    row of whoever wrote first. `agreed`: nobody else was first with other pins, another turn or
    other placed texts; if not, there are no rows, and the decision is made again."""

    rows: Mapping[int, FrameRow]
    agreed: bool = True
