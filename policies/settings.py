"""Settings of the policies: one frozen dataclass each; every field has a default and a sentence.

Owns the defaults and their explanation (`metadata["help"]`, shown in `config.example.toml` and the
reference). It must not know where values come from.
"""

from dataclasses import dataclass, field
from typing import Literal


def _help(sentence: str) -> dict[str, str]:
    return {"help": sentence}


@dataclass(frozen=True, slots=True)
class ToolRule:
    """How results of the tools whose name matches the glob `match` are treated; first match wins."""

    match: str = field(metadata=_help("Glob over tool names, for example mail_*."))
    trust: Literal["untrusted", "operator"] = field(
        default="untrusted", metadata=_help("Results of operator tools are not framed.")
    )


@dataclass(frozen=True, slots=True)
class Envelope:
    """Framing of third-party text."""

    enabled: bool = field(default=True, metadata=_help("Put untrusted tool results into frames."))
    tools: tuple[ToolRule, ...] = ()


@dataclass(frozen=True, slots=True)
class Egress:
    """The screen over what is about to leave for a cloud model."""

    on_hit: Literal["refuse", "observe"] = field(
        default="refuse",
        metadata=_help("What happens on a finding; observe lets it go and logs it."),
    )


@dataclass(frozen=True, slots=True)
class Policies:
    """Everything that `decide` needs to be told."""

    envelope: Envelope = Envelope()
    egress: Egress = Egress()
