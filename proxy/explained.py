"""What `transom explain` tells, for reading and as JSON.

Owns the shape of what is told. It must not know how it was found out. Names that strangers chose
are told only in a safe shape and if the screen finds nothing in them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from policies.conversation import Conversation, Strand, Unit
from policies.cut import Cut
from policies.decision import Finding, Leg
from policies.envelope import field_name
from policies.provenance import trust_of
from policies.screening import Screen, place
from policies.settings import Policies
from proxy.changes import changes
from proxy.config import UpstreamSettings

HIDDEN = "-"
"""Stands for a name that is not told."""


@dataclass(slots=True)
class Told:
    """`verdict`: `allow`, `block`, `refuse` (the request itself is no good), `local` (it stays on
    this node and is not screened). `words` are the notice's. `noted`: what is told and decides
    nothing. `cut`: what of the conversation would not leave. `home`: which model at home is asked
    first, or answers instead. `body`: what would; `changes`: how it
    differs from what the client sent."""

    leg: Leg | None = None
    verdict: str = "refuse"
    notice: str | None = None
    words: str = ""
    findings: tuple[Finding, ...] = ()
    view: Mapping[str, object] = field(default_factory=dict)
    frames: int = 0
    adopted: int = 0
    noted: tuple[Finding, ...] = ()
    cut: Mapping[str, object] | None = None
    home: Mapping[str, str] | None = None
    body: bytes | None = field(default=None, repr=False)
    changes: Sequence[str] = field(default=(), repr=False)

    @property
    def goes(self) -> bool:
        """Whether anything would be sent."""
        return self.verdict in ("allow", "local")

    def refused(self, code: str, words: str) -> None:
        """The request is refused for another reason than what the screen found."""
        self.verdict, self.notice, self.words = "refuse", code, words

    def blocked(self, code: str, words: str, findings: tuple[Finding, ...]) -> None:
        """The screen keeps it from leaving."""
        self.verdict, self.notice, self.words, self.findings = "block", code, words, findings

    def asks(self, home: UpstreamSettings | None, when: str) -> None:
        """`home`, if there is one, is asked `first`, or answers `instead` of the cloud."""
        if home is not None:
            self.home = {"upstream": home.name, "asked": when}

    def sent(self, body: bytes, came: bytes, observed: tuple[Finding, ...]) -> None:
        """`body` would be sent for the one that `came`, whatever was `observed` in it. It is told
        only where it leaves."""
        self.changes = changes(came, body)
        self.verdict = "local" if self.leg is Leg.LOCAL else "allow"
        self.notice = "adopted" if self.adopted else None
        self.findings, self.body = observed, None if self.leg is Leg.LOCAL else body

    def as_json(self) -> str:
        """One JSON object. `body` stands in it byte for byte as it would be sent."""
        head = {
            "leg": self.leg,
            "verdict": self.verdict,
            "notice": self.notice,
            "findings": [{"kind": each.kind, "place": each.place} for each in self.findings],
            "noted": [{"kind": each.kind, "place": each.place} for each in self.noted],
            "frames": self.frames,
            "adopted": self.adopted,
            "cut": self.cut,
            "home": self.home,
            "view": self.view,
        }
        text = json.dumps(head)
        return text if self.body is None else f'{text[:-1]}, "body": {_text(self.body)}}}'

    def as_text(self) -> str:
        """Lines for reading, what changes, then the body."""
        lines = [
            f"leg      {self.leg or HIDDEN}",
            f"verdict  {self.verdict}",
            *([f"notice   {self.words or self.notice}"] if self.notice else []),
            *([] if self.home is None else [_home_line(self.home)]),
            *(f"found    {each.kind} at {each.place}" for each in self.findings),
            *(f"noted    {each.kind} at {each.place}" for each in self.noted),
            f"frames   {self.frames}, adopted {self.adopted}",
            *([] if self.cut is None else _cut_lines(self.cut)),
            *(f"{name:8} {shown}" for name, value in self.view.items() for shown in _lines(value)),
        ]
        if self.goes:
            lines += ["", "changes  " + ("" if self.changes else "none"), *self.changes]
        return "\n".join(lines if self.body is None else [*lines, "", _text(self.body)])


def cut_of(cut: Cut, screen: Screen) -> Mapping[str, object]:
    """How much of the conversation is shown, and what is not: messages that are gone, those of
    which something is, calls and results without their content, the tools whose results do not
    leave, whether or not the model is told their names."""
    window = cut.window
    return {
        "mode": window.mode,
        "strategy": window.strategy,
        "turn": cut.turn,
        "gone": sorted(cut.gone),
        "shortened": sorted(cut.trimmed),
        "emptied": sorted(cut.emptied),
        "tools": [_name(each, screen) for each in cut.names],
        "told": window.notice,
    }


def _home_line(home: Mapping[str, str]) -> str:
    does = (
        "is asked before the cloud" if home["asked"] == "first" else "answers instead, if it is up"
    )
    return f"home     {home['upstream']} {does}"


def _cut_lines(cut: Mapping[str, object]) -> list[str]:
    parts = (f"{name} {_listed(cut[name])}" for name in ("gone", "shortened", "emptied", "tools"))
    told = [f"told     {cut['told']}"] if cut["told"] else []
    return [f"shows    {cut['mode']}, {cut['strategy']}; {'; '.join(parts)}", *told]


def _name(text: str, screen: Screen) -> str:
    """`text` in the shape of a tool's name, if it has it and holds no secret."""
    safe = field_name(text) == text and not screen.findings([Strand(("tools",), text)])
    return text if safe else HIDDEN


def _listed(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) and value else "none"


def view_of(conversation: Conversation, policies: Policies, screen: Screen) -> Mapping[str, object]:
    """The conversation as the policies see it, without a word of its text."""

    def name(text: str) -> str:
        return _name(text, screen)

    def unit(each: Unit) -> dict[str, object]:
        return {
            "place": place(each.address + each.inner),
            "source": f"{each.source.partition(':')[0]}:{name(each.tool)}",
            "trust": trust_of(each.source, policies.envelope.tools),
            "answered": each.answered,
        }

    return {
        "dialect": conversation.dialect,
        "model": name(conversation.model),
        "messages": len(conversation.messages),
        "runs": [[run.start, run.stop] for run in conversation.runs],
        "turn": conversation.turn,
        "units": [unit(each) for each in conversation.units],
        "tools": [name(each) for each in conversation.tools],
        "opaque": [place(each) for each in conversation.opaque],
        "unknown": [place(each) for each in conversation.unknown],
        "held": list(conversation.held),
    }


def _lines(value: object) -> Sequence[str]:
    if not isinstance(value, list):
        return [str(value)]
    return [_line(each) for each in value] if value else []


def _line(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {each}" for name, each in value.items())
    if isinstance(value, list):
        return "–".join(map(str, value))
    return str(value)


def _text(body: bytes) -> str:
    return body.decode("utf-8")
