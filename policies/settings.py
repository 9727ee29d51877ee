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
    """How results of the tools whose name matches the glob `match` are treated; the first wins."""

    match: str = field(metadata=_help("Glob over tool names, for example mail_*."))
    trust: Literal["untrusted", "operator"] = field(
        default="untrusted", metadata=_help("Results of operator tools are not framed.")
    )
    encode: Literal["raw", "json"] = field(
        default="raw",
        metadata=_help(
            "How results stand in their frame: as they came, or as one JSON string, for prose that "
            "nobody copies from."
        ),
    )
    max_chars: int | None = field(
        default=None, metadata=_help("Most characters of a result; the rest is cut, and said so.")
    )


@dataclass(frozen=True, slots=True)
class Also:
    """Spans of user text that hold what others wrote, such as files or the output of a shell."""

    client: str = field(
        metadata=_help("Glob over client names whose user texts hold marked spans.")
    )
    open: str = field(metadata=_help("Literal that opens a span."))
    close: str = field(metadata=_help("Literal that closes a span."))


@dataclass(frozen=True, slots=True)
class Envelope:
    """Framing of third-party text."""

    enabled: bool = field(default=True, metadata=_help("Put untrusted tool results into frames."))
    tools: tuple[ToolRule, ...] = ()
    reminder: Literal["off", "request"] = field(
        default="off",
        metadata=_help(
            "Repeat the operator's request after the newest results; never for Anthropic's API."
        ),
    )
    also: tuple[Also, ...] = ()


@dataclass(frozen=True, slots=True)
class Egress:
    """The screen over what is about to leave for a cloud model."""

    on_hit: Literal["home", "refuse", "observe"] = field(
        default="home",
        metadata=_help(
            "What happens on a finding: home answers with the local model of [fallback], and "
            "refuses where there is none; observe lets it go and logs it."
        ),
    )
    opaque: Literal["allow", "home"] = field(
        default="allow",
        metadata=_help(
            "PDFs, pictures and the like, in which no screen can read: home keeps them."
        ),
    )


Mode = Literal["strict", "dialogue", "off"]
Strategy = Literal["drop", "elide", "home"]


@dataclass(frozen=True, slots=True)
class Minimality:
    """How much of a conversation leaves for a cloud model."""

    mode: Mode = field(
        default="dialogue",
        metadata=_help(
            "What leaves beside system text and tools: strict, the current turn alone; dialogue, "
            "also what operator and assistant said before; off, everything."
        ),
    )
    strategy: Strategy = field(
        default="drop",
        metadata=_help(
            "What becomes of earlier calls and their results: drop leaves them out, elide keeps "
            "the pairs without their content, home keeps a request home of which anything would "
            "have to be left out."
        ),
    )
    max_outbound_chars: int = field(
        default=0,
        metadata=_help("Most characters that may leave in one request; 0 is no cap."),
    )


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one turn. Pairs are soft and hard; counts are reached, not passed. `tools`: globs
    over tool names, each with whether such a tool writes; the first that matches wins, the defaults
    of `policies.limits` come after them."""

    enabled: bool = field(
        default=True, metadata=_help("Look for loops and runaway turns, on every leg.")
    )
    max_turns: int = field(
        default=100, metadata=_help("Most rounds of one turn; the soft limit is at 80 %.")
    )
    style: Literal["answer", "error"] = field(
        default="answer",
        metadata=_help(
            "How a turn ends that went beyond a hard limit: with an answer that says so, at which "
            "agents stop by themselves, or with an error."
        ),
    )
    same_result: tuple[int, int] = field(
        default=(5, 8),
        metadata=_help("Equal calls with equal results, one after the other; soft and hard."),
    )
    polling: tuple[int, int] = field(
        default=(40, 80),
        metadata=_help("Equal calls with other results, one after the other; soft and hard."),
    )
    cycle: tuple[int, int] = field(
        default=(3, 5),
        metadata=_help("Repeats of two to four rounds, results included; soft and hard."),
    )
    read_only: tuple[int, int] = field(
        default=(70, 90),
        metadata=_help("Rounds that only read, since the turn began or a tool wrote."),
    )
    result_bytes: tuple[int, int] = field(
        default=(4_000_000, 16_000_000),
        metadata=_help("Size of all results of a turn; soft and hard."),
    )
    exempt: tuple[str, ...] = field(
        default=(),
        metadata=_help("Globs over tools that may be called again and again, such as debuggers."),
    )
    tools: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class RefusalRule:
    """How refused calls of tools whose name matches the glob `match` are told; the first wins."""

    match: str
    deny: bool = field(
        default=False,
        metadata=_help("A call of the model to such a tool counts as refused, and is told."),
    )
    refused: str = field(
        default="",
        metadata=_help("Text in a result by which the tool says that it refused the call."),
    )


@dataclass(frozen=True, slots=True)
class Answers:
    """What is done to answers on their way back."""

    drop_undeclared_calls: bool = field(
        default=False,
        metadata=_help(
            "Take calls to tools that the request did not declare out of answers, which are "
            "otherwise relayed byte for byte."
        ),
    )


@dataclass(frozen=True, slots=True)
class Policies:
    """Everything that `decide` needs to be told."""

    envelope: Envelope = Envelope()
    egress: Egress = Egress()
    minimality: Minimality = Minimality()
    limits: Limits = Limits()
    refusals: tuple[RefusalRule, ...] = ()
    answers: Answers = Answers()
